"""NLI pairs by path, or by the name of a data set on the Hub, which is then fetched.

==========================  =====================================================================
`dev.jsonl.gz`, `./x`       a file, see `entail.data.nli.pairs`
`stanfordnlp/snli`          a data set of the Hub; `@revision` pins it, `:config` chooses one of its
                            configurations, and a split has to be named where it has several
`snli`, `multi_nli`, `sick` the same by the names that papers use
==========================  =====================================================================

Parquet and JSONL are taken, and nothing that is code; of the files only those of the split are fetched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from entail.data.nli.pairs import NliReading, is_split, read_nli
from entail.encoders.hub import ask, hub_api
from entail.errors import HubError, SettingsError
from entail.settings import refuse_in_demo

if TYPE_CHECKING:
    from huggingface_hub import HfApi

ALIASES = {"snli": "stanfordnlp/snli", "multi_nli": "nyu-mll/multi_nli", "sick": "RobZamp/sick"}
"""Short names of data sets."""

CONVERTED = "refs/convert/parquet"
"""Branch of the Hub with the Parquet conversion of a data set."""

_NAME = re.compile(
    r"(?P<repo>[\w-][\w.-]*/[\w-][\w.-]*|[\w-]+)(?:@(?P<revision>[\w./-]+))?(?::(?P<config>[\w.-]+))?",
    re.ASCII,
)
_FILES = (".jsonl", ".ndjson", ".json", ".txt", ".tsv", ".csv", ".tab", ".parquet", ".gz", ".zip")
_TAKEN = (".parquet", ".jsonl", ".jsonl.gz")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_PLAIN = frozenset({"data", "default"})


def load_nli(source: str | Path, *, split: str | None = None) -> NliReading:
    """Return the pairs of a file or of a data set on the Hub; a file of that name comes first.

    Args:
        source: Path, Hub id, or one of `ALIASES`.
        split: Which part, where there are several: `train`, `validation_matched`, TRIAL ...

    Raises:
        FormatError: If a file cannot be read, lacks a column, or has no pair with one of the three labels.
        SettingsError: If there is no such split or configuration, or several and none is named.
        HubError: If the Hub has no such data set or cannot be reached.
    """
    if not isinstance(source, str) or not is_on_hub(source):
        return read_nli(source, split=split)  # which says where there is no such file
    named = _NAME.fullmatch(source)
    assert named is not None
    repo = ALIASES.get(named["repo"], named["repo"])
    return _load_from_hub(repo, revision=named["revision"], config=named["config"], split=split)


def is_on_hub(source: str) -> bool:
    """Return whether a name is that of a data set on the Hub: it is no file and has no suffix of one.

    >>> is_on_hub("stanfordnlp/snli@main:plain_text"), is_on_hub("snli"), is_on_hub("snli/dev.jsonl")
    (True, True, False)
    """
    named = _NAME.fullmatch(source)
    if named is None or Path(source).exists() or source.lower().endswith(_FILES):
        return False
    return "/" in ALIASES.get(named["repo"], named["repo"])


def _load_from_hub(repo: str, *, revision: str | None, config: str | None, split: str | None) -> NliReading:
    refuse_in_demo(f"the data set {repo} cannot be fetched")
    api = hub_api()
    for tried in (revision, *([CONVERTED] if revision is None else ())):
        if files := _files_of(api, repo, tried):
            break
    else:
        raise HubError(
            f"{repo}: expected a data set with Parquet or JSONL files, found none; name a file of it",
            reason="not_found",
        )
    wanted_files = _choose(files, repo, config=config, split=split)
    patterns = [re.sub(r"([*?[])", r"[\1]", file) for file in wanted_files]
    folder = ask(
        lambda: api.snapshot_download(repo, repo_type="dataset", revision=tried, allow_patterns=patterns),
        repo=repo,
        revision=tried,
    )
    parts = [read_nli(Path(folder, file), name=f"{repo}/{file}", numbered=True) for file in wanted_files]
    if len(parts) == 1:
        return parts[0]
    return NliReading(
        pairs=tuple(pair for part in parts for pair in part.pairs),
        source=repo,
        other_labels=dict(sum((Counter(part.other_labels) for part in parts), Counter[str]())),
        empty=sum(part.empty for part in parts),
        unreadable=sum(part.unreadable for part in parts),
        problems=tuple(problem for part in parts for problem in part.problems),
    )


def _files_of(api: HfApi, repo: str, revision: str | None) -> list[str]:
    """Return the files that can be read; none of what the Hub did not convert."""
    try:
        info = ask(lambda: api.dataset_info(repo, revision=revision), repo=repo, revision=revision)
    except HubError as error:
        if revision == CONVERTED and error.reason == "no_revision":
            return []
        raise
    names = [sibling.rfilename for sibling in info.siblings or ()]
    return sorted(name for name in names if name.lower().endswith(_TAKEN))


def _choose(files: Iterable[str], repo: str, *, config: str | None, split: str | None) -> list[str]:
    """Return the files of one configuration and one split, in order."""
    layout = [(file, *_config_and_split(file)) for file in files]
    configs = sorted({config_name for _, config_name, _ in layout})
    if config not in configs and (config is not None or len(configs) > 1):
        raise SettingsError(
            f"{repo}: expected one of its configurations {', '.join(configs)}, found {config!r}; "
            f"say {repo}:{configs[0]}"
        )
    layout = [entry for entry in layout if config in (None, entry[1])]
    splits = list(dict.fromkeys(split_name for _, _, split_name in layout))
    # `dev` is an alias only where no split has exactly this name.
    same = [name for name in splits if split is not None and name.lower() == split.lower()]
    same = same or [name for name in splits if split is not None and is_split(name, split)]
    if split is None and len(splits) == 1:
        same = splits
    if not same:
        raise SettingsError(
            f"{repo}: expected one of its splits {', '.join(splits)}, found {split!r}; say which (--split)"
        )
    return [file for file, _, name in layout if name in same]


def _config_and_split(file: str) -> tuple[str, str]:
    """Return configuration and split, as the Hub lays files out.

    `plain_text/train-00000-of-00001.parquet`, `data/train-...`, `default/train/0000.parquet`, `dev.jsonl`.
    """
    path = PurePosixPath(file)
    stem = _SHARD.sub("", path.name.removesuffix(".gz").rsplit(".", 1)[0])
    folders = list(path.parts[:-1])
    if stem.isdecimal() and folders:
        stem = folders.pop()
    folders = [folder for folder in folders if folder not in _PLAIN]
    return "/".join(folders) or "default", stem
