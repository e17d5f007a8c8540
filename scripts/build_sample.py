"""Build the bundled sample from the official EntailmentBank release.

    python scripts/build_sample.py --data DIR [--out entail/data/sample]

DIR holds `dataset/task_2/train*.jsonl` and `supporting_data/worldtree_corpus_sentences_extended.json`,
gzipped or not. Written are `trees.jsonl.gz` and `premises.jsonl.gz`, the same bytes for the same input. Left
out are the rows whose id begins with `Mercury` (their questions may not be passed on) and, from the others,
the exam's question and answer. Keep `ATTRIBUTION.md` true to what this prints.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from entail.data.entailment_bank.trees import read_trees
from entail.data.reading import read_text
from entail.data.records import ExplanationTree
from entail.data.text import fold

TREES = 120
MAX_BYTES = 1_000_000
EXAM_FIELDS = frozenset({"question", "answer", "question_text", "answer_text"})


def main() -> None:
    """Build the sample and print what it holds."""
    build(*parse_folders(__doc__))


def parse_folders(about: str | None) -> tuple[Path, Path]:
    """Return the folder of the release and the one to write to, of the command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=formatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the official release")
    parser.add_argument("--out", type=Path, default=Path("entail/data/sample"), help="folder to write to")
    args = parser.parse_args()
    return args.data, args.out


def build(data: Path, out: Path, *, count: int = TREES) -> None:
    """Write both files: `count` trees of all sizes, and the facts of all rows."""
    train = read_trees(find_file(data, "dataset/task_2/train*.jsonl*"))
    trees = [tree for tree in train if not tree.id.startswith("Mercury")]
    sample = choose(trees, count)
    facts: dict[str, str] = {}
    for tree in trees:
        for text in tree.sentences.values():
            facts.setdefault(fold(text), text)
    rows = premise_rows(facts.values(), find_uids(data))
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / "trees.jsonl.gz", (without_exam(tree.extra) for tree in sample))
    write_rows(out / "premises.jsonl.gz", rows)
    uid_count = sum("id" in row for row in rows)
    print(f"{len(sample)} trees, {len(rows):,} facts, {uid_count:,} of them with a uid, in {out}")


def choose(trees: Iterable[ExplanationTree], count: int) -> list[ExplanationTree]:
    """Return `count` trees in the order of the file: one of each number of steps in turn, by hash.

    Of trees with the same id or hypothesis only the first can be chosen.
    """
    by_size: dict[int, list[tuple[str, int, ExplanationTree]]] = defaultdict(list)
    ids: set[str] = set()
    hypotheses: set[str] = set()
    for row, tree in enumerate(trees):
        if tree.steps and tree.id not in ids and fold(tree.hypothesis) not in hypotheses:
            order = hashlib.sha256(tree.hypothesis.encode()).hexdigest()
            by_size[len(tree.steps)].append((order, row, tree))
        ids.add(tree.id)
        hypotheses.add(fold(tree.hypothesis))
    queues = [sorted(by_size[size], key=lambda item: item[:2]) for size in sorted(by_size)]
    turns = [item for turn in range(max(map(len, queues), default=0)) for item in _nth(queues, turn)]
    return [tree for _, _, tree in sorted(turns[:count], key=lambda item: item[1])]


def without_exam(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the row without the exam's question and answer."""
    rest = {key: copy.deepcopy(value) for key, value in row.items() if key not in EXAM_FIELDS}
    rest["meta"] = {key: value for key, value in rest.get("meta", {}).items() if key not in EXAM_FIELDS}
    return rest


def premise_rows(texts: Iterable[str], uids: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the rows of premises, with the uid of those that have one."""
    return [
        {"id": uids[loose(text)], "text": text} if loose(text) in uids else {"text": text} for text in texts
    ]


def _nth(queues: Iterable[list[Any]], turn: int) -> list[Any]:
    return [queue[turn] for queue in queues if turn < len(queue)]


def find_uids(data: Path) -> dict[str, str]:
    """Return loose text -> uid; one of WorldTree's own wins over one that EntailmentBank added."""
    file = find_file(data, "supporting_data/worldtree_corpus_sentences_extended.json*")
    uids: dict[str, str] = {}
    for uid, text in json.loads(read_text(file)).items():
        key = loose(text)
        if key not in uids or (uids[key].startswith("ET_addon") and not uid.startswith("ET_addon")):
            uids[key] = uid
    return uids


def loose(text: str) -> str:
    """Return a text as the uids are looked up by."""
    # The corpus file separates alternatives by ";" where the contexts of the trees have "/".
    return re.sub(r"\s*[;/]\s*", " / ", fold(text))


def find_file(data: Path, pattern: str) -> Path:
    """Return the first file of a pattern; exit without one."""
    files = sorted(data.glob(pattern))
    if not files:
        raise SystemExit(f"expected a file {pattern} in {data}, found none")
    return files[0]


def write_rows(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write gzipped JSON lines, the same bytes for the same rows."""
    packed = gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode(), mtime=0)
    if len(packed) > MAX_BYTES:
        raise SystemExit(f"{file}: expected at most {MAX_BYTES:,} bytes, found {len(packed):,}")
    file.write_bytes(packed)


if __name__ == "__main__":
    main()
