"""The fact tables of WorldTree, as released: one TSV a kind of fact, whose cells in a row make a sentence.

A column whose name begins with `[SKIP]` is no part of the sentence; the last one that says `UID` identifies
the fact. Some uids stand in two rows, even with other words: the first row is the fact.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from entail.data.reading import MAX_BYTES, read_text
from entail.errors import FormatError

_SKIP = "[SKIP]"
_SUFFIXES = (".tsv", ".tsv.gz")


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of a table.

    Attributes:
        uid: As the row has it.
        text: Its cells as a sentence, single spaces.
        table: Name of its table, without a suffix.
    """

    uid: str
    text: str
    table: str


@dataclass(frozen=True)
class FactTables:
    """All facts that can explain, in order of table and row, each uid once.

    Position i of every array made from them is `facts[i]`.

    Attributes:
        facts: The facts.
        repeats: Uids that stood in further rows, which were left out; one entry a row.
        reworded: Those of them whose further row has other words.
        problems: Rows that could not be read, one line each: table, line, what was expected.
        rows: Rows that were no blank line.
    """

    facts: tuple[Fact, ...]
    repeats: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    rows: int = 0

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The facts' sentences, in order."""
        return tuple(fact.text for fact in self.facts)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Uid in lower case, as the official scorer compares them -> position."""
        return MappingProxyType({fact.uid.lower(): i for i, fact in enumerate(self.facts)})

    @cached_property
    def digest(self) -> str:
        """Digest of uids and texts, in order: 12 hexadecimal digits."""
        told = "\n".join(f"{fact.uid}\t{fact.text}" for fact in self.facts)
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        left_out = [
            f"{len(self.repeats):,} rows of a uid that was there before ({len(self.reworded):,} with other "
            "words)"
            if self.repeats
            else "",
            f"{len(self.problems):,} that cannot be read" if self.problems else "",
        ]
        told = ", ".join(filter(None, left_out))
        return f"{len(self):,} facts of {self.rows:,} rows" + (f" ({told})" if told else "")


def read_fact_tables(folder: Path) -> FactTables:
    """Read every `.tsv` of a folder, in order of name; each may be gzipped.

    Args:
        folder: The release's `tables/`, or a ZIP of it: then every `.tsv` in a folder `tables`, or, where
            there is no such folder, every `.tsv`.

    Raises:
        FormatError: If the folder is not there, holds no table or no fact, or a table has no uid column or
            is no text; if a ZIP is damaged or too large.
    """
    if folder.is_dir():
        files: list[tuple[str, Path | bytes]] = [
            (path.name, path) for path in sorted(folder.iterdir()) if path.name.lower().endswith(_SUFFIXES)
        ]
    elif folder.is_file():
        files = _unzipped(folder)
    else:
        raise FormatError("expected a folder of fact tables (.tsv), found none here", source=str(folder))
    facts: dict[str, Fact] = {}
    repeats, reworded, problems, rows = [], [], [], 0
    for name, content in files:
        found, wrong = _table(content, name)
        problems.extend(wrong)
        rows += len(found) + len(wrong)
        for fact in found:
            first = facts.setdefault(fact.uid.lower(), fact)
            if first is not fact:
                repeats.append(fact.uid)
                if first.text != fact.text:
                    reworded.append(fact.uid)
    if not facts:
        what = f"{len(files)} without a fact" if files else "no .tsv file"
        raise FormatError(
            f"expected fact tables, found {what}; give the release's tables/", source=str(folder)
        )
    return FactTables(tuple(facts.values()), tuple(repeats), tuple(reworded), tuple(problems), rows)


def read_rows(
    file: Path | bytes, *, name: str | None = None
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    r"""Return the header of a TSV, and (line number, cells) of each row that is not blank.

    A cell in quotation marks, as spreadsheets write one that holds some, is taken out of them; others stay
    as they are, so a stray mark never swallows the rows below it.

    Raises:
        FormatError: If the file cannot be read or is empty.
    """
    called = name or (file.name if isinstance(file, Path) else "upload")
    lines = read_text(file, name=called).split("\n")
    if not lines[0].strip():
        raise FormatError("expected a header of column names, found none", source=called, line=1)
    header = [_unquoted(cell) for cell in lines[0].split("\t")]
    rows = [
        (number, [_unquoted(cell) for cell in line.split("\t")])
        for number, line in enumerate(lines[1:], start=2)
        if line.strip()
    ]
    return header, rows


def _unquoted(cell: str) -> str:
    cell = cell.strip()
    inner = cell[1:-1].replace('""', "")
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner:
        return cell[1:-1].replace('""', '"').strip()
    return cell


def _unzipped(file: Path) -> list[tuple[str, Path | bytes]]:
    try:
        with zipfile.ZipFile(file) as packed:
            # What a Mac adds for itself (`__MACOSX/._X.tsv`) is no table.
            tables = [
                info
                for info in packed.infolist()
                if info.filename.lower().endswith(_SUFFIXES)
                and not PurePosixPath(info.filename).name.startswith(".")
            ]
            inside = [info for info in tables if "tables" in PurePosixPath(info.filename).parts[:-1]]
            size = sum(info.file_size for info in inside or tables)
            if size > MAX_BYTES:
                raise FormatError(
                    f"expected at most {MAX_BYTES:,} bytes of tables, found {size:,}", source=file.name
                )
            found = {PurePosixPath(info.filename).name: packed.read(info) for info in inside or tables}
            return [(name, found[name]) for name in sorted(found)]
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError) as error:
        raise FormatError(
            f"expected a folder of fact tables (.tsv) or a ZIP of one, found neither ({error})",
            source=file.name,
        ) from error


def _table(file: Path | bytes, name: str) -> tuple[list[Fact], list[str]]:
    header, rows = read_rows(file, name=name)
    uids = [i for i, name in enumerate(header) if name.startswith(_SKIP) and "UID" in name.upper()]
    if not uids:
        raise FormatError(
            f"expected a column '{_SKIP} UID', found {len(header)} columns without it",
            source=name,
            line=1,
        )
    words = [i for i, name in enumerate(header) if name and not name.startswith(_SKIP)]
    table = name.split(".", 1)[0]
    facts, problems = [], []
    for number, cells in rows:
        uid = cells[uids[-1]] if uids[-1] < len(cells) else ""
        text = " ".join(" ".join(cells[i] for i in words if i < len(cells)).split())
        if not uid or " " in uid:
            problems.append(f"{name}, line {number}: expected a uid in column {uids[-1] + 1}, found none")
        elif not text:
            problems.append(f"{name}, line {number}: expected words, found a uid alone ({uid})")
        else:
            facts.append(Fact(uid, text, table))
    return facts, problems
