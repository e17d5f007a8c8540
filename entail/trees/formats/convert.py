"""Conversion of trees between files, by the suffixes of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.data.reading import Source, read_text, source_name, text_lines
from entail.data.records import Corpus
from entail.data.writing import write_text
from entail.errors import DataError, FormatError
from entail.trees.formats.entailment_bank import from_jsonl, grow, to_jsonl
from entail.trees.formats.graphs import to_dot, to_graphml, to_svg
from entail.trees.formats.network import to_html
from entail.trees.formats.tables import to_pairs_csv
from entail.trees.log.acts import Create
from entail.trees.log.tree import Tree

_READABLE = [".jsonl", ".txt"]
_ONE: dict[str, Callable[[Tree], str]] = {
    ".dot": to_dot,
    ".graphml": to_graphml,
    ".html": to_html,
    ".svg": to_svg,
}
_MANY: dict[str, Callable[[Sequence[Tree]], str]] = {
    ".csv": lambda trees: to_pairs_csv({str(row): tree for row, tree in enumerate(trees, start=1)}),
    ".jsonl": to_jsonl,
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """Result of `convert`: number of trees, and the written files in their order."""

    trees: int
    files: tuple[Path, ...]


def convert(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, row: int | None = None
) -> Conversion:
    """Write the trees of one file, or its `row` (from 1), into another, in the format of its suffix.

    Reads what `read_acts` does. Writes `.jsonl` and `.csv` (parent-child pairs), both also as `.gz`, and
    `.graphml`, `.dot`, `.svg` and `.html`, in which several trees become several files, numbered by row
    (`out-001.svg`). Existing files are replaced, each as a whole. Raises `FormatError` for an unknown suffix
    or a malformed source, `ProofError` for an invalid proof, `DataError` if a row or a folder is missing.
    """
    source, target = Path(source), Path(target)
    suffix = _suffix(target, sorted({*_ONE, *_MANY}), "write")
    acts = read_acts(source)
    if row is not None:
        if not 1 <= row <= len(acts):
            raise DataError(f"{source}: expected a row from 1 to {len(acts)}, found {row}")
        acts = acts[row - 1 : row]
    trees = [grow(act) for act in acts]
    if suffix in _MANY:
        texts = {target: _MANY[suffix](trees)}
    else:
        digits = max(3, len(str(len(trees))))
        names = [f"{target.stem}-{row:0{digits}}{target.suffix}" for row in range(1, len(trees) + 1)]
        files = [target] if len(trees) == 1 else [target.with_name(name) for name in names]
        texts = {file: _ONE[suffix](tree) for file, tree in zip(files, trees, strict=True)}
    for path, text in texts.items():
        write_text(path, text)
    return Conversion(len(trees), tuple(texts))


def read_acts(source: Source, *, name: str | None = None, corpus: Corpus | None = None) -> list[Create]:
    """Return the acts that create the trees of a file, or of its content, by the suffix of its name.

    It is `.jsonl` (official EntailmentBank), also as `.gz`, or `.txt` with a claim a line. Premises are
    looked up in the corpus. Raises as `convert`.
    """
    file_name = source_name(source, name)
    if _suffix(Path(file_name), _READABLE, "read") == ".jsonl":
        return from_jsonl(source, name=file_name, corpus=corpus)
    lines = text_lines(read_text(source, name=file_name))
    if not (claims := [Create(hypothesis=line.strip()) for _, line in lines]):
        raise FormatError("expected a claim a line, found none", source=file_name)
    return claims


def _suffix(path: Path, suffixes: list[str], action: str) -> str:
    name = path.name.lower()
    packed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in suffixes or (packed and suffix not in _MANY):
        raise FormatError(
            f"expected a name that ends in one of {', '.join(suffixes)} to {action} "
            f"(.jsonl{' and .csv' if action == 'write' else ''} also with .gz), found {path.name!r}",
            source=str(path),
        )
    return suffix
