"""Named data sets as files below one folder, read by the readers of `entail` and identified by content."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree
from entail.evaluation.nli.sources import load_nli
from lab.errors import LabError

SETS: Mapping[str, str] = {
    "entailment_bank/premises": "entailment_bank/premises.txt.gz",
    "entailment_bank/train": "entailment_bank/dataset/task_2/train.reconstructed.jsonl.gz",
    "entailment_bank/dev": "entailment_bank/dataset/task_2/dev.jsonl.gz",
    "entailment_bank/test": "entailment_bank/dataset/task_2/test.jsonl.gz",
    "worldtree": "worldtree_v2.1_tg2020",
    "sick": "sick/SICK.train_trial.txt.gz",
    "snli/train": "snli/snli_1.0_train.subset.converted.jsonl.gz",
    "snli/dev": "snli/snli_1.0_dev.converted.jsonl.gz",
    "snli/test": "snli/snli_1.0_test.converted.jsonl.gz",
    "snli_counterfactual/train": "snli_counterfactual/revised_combined/train.tsv.gz",
    "mnli/train": "mnli/multinli_1.0_train.subset.converted.jsonl.gz",
    "mnli/dev": "mnli/multinli_1.0_dev_matched.converted.jsonl.gz",
    "squad/train": "squad_v1.1/train-v1.1.reconstructed.json.gz",
    "squad/dev": "squad_v1.1/dev-v1.1.reconstructed.json.gz",
    "nq": "nq/nq-open-oracle.jsonl.gz",
}
"""Name of a data set -> its file or folder below the data folder."""

PARTS = ("fit", "held")
"""Endings such as `entailment_bank/train#fit`: without every tenth tree, to choose settings on the others.

Of labelled pairs, such as `snli/dev#held`, either has the half of the premises by a hash.
"""


def source_of(name: str) -> str:
    """Return the name by which model cards know the source of a data set.

    >>> source_of("mnli/train"), source_of("squad/dev")
    ('multinli', 'squad')
    """
    folder = name.partition("/")[0]
    return "multinli" if folder == "mnli" else folder


class DataFolder:
    """Data sets below one folder, some at paths of their own.

    Args:
        root: Folder with the layout of `SETS`.
        paths: Name of a data set -> path that replaces the usual one.
    """

    def __init__(self, root: Path, paths: Mapping[str, Path] | None = None) -> None:
        self.root, self.paths = root, dict(paths or {})
        self.corpus, self.trees, self.digest = cache(self._corpus), cache(self._trees), cache(self._digest)
        self.pairs = cache(self._pairs)

    def path(self, name: str) -> Path:
        """Return the file or folder of a data set.

        Raises:
            LabError: If no data set has this name, or there is nothing at its path.
        """
        name = name.partition("#")[0]
        if name not in SETS and name not in self.paths:
            raise LabError(f"no data set is called {name!r}; the data sets are: {', '.join(SETS)}")
        path = self.paths.get(name) or self.root / SETS[name]
        if not path.exists():
            raise LabError(
                f"expected the data set {name} at {path}, found nothing; give its path by "
                f"--set-data {name}=PATH, or another folder by --data"
            )
        return path

    def _corpus(self, name: str) -> Corpus:
        return read_corpus(self.path(name)).corpus

    def _trees(self, name: str) -> tuple[ExplanationTree, ...]:
        trees, part = tuple(read_trees(self.path(name))), _part(name)
        return tuple(tree for i, tree in enumerate(trees) if in_part(i, part))

    def _pairs(self, name: str) -> tuple[NliPair, ...]:
        pairs, part = load_nli(self.path(name)).pairs, _part(name)
        return tuple(
            pair
            for pair in pairs
            if not part or (zlib.crc32(pair.premise.encode()) % 2 == 1) == (part == "held")
        )

    def _digest(self, name: str) -> str:
        """Return a digest of the content of a data set, whatever its files are called and packed."""
        path, hasher = self.path(name), hashlib.sha256(name.partition("#")[2].encode())
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        hasher.update(block)
        return hasher.hexdigest()[:16]


def in_part(at: int, part: str) -> bool:
    """Return whether a tree or question is in a part: every tenth is `held`, the others `fit`."""
    return not part or (at % 10 == 9) == (part == "held")


def _part(name: str) -> str:
    """Return the ending of a name, without the #."""
    part = name.partition("#")[2]
    if part and part not in PARTS:
        raise LabError(f"expected {name!r} to end in one of {', '.join(PARTS)}, found #{part}")
    return part
