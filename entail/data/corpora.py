"""Reader of premise corpora: plain text, CSV, TSV, JSONL, JSON, EntailmentBank, WorldTree."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from entail.data.entailment_bank.trees import parse_trees
from entail.data.reading import (
    MAX_BYTES,
    Source,
    optional,
    parse_json,
    parse_jsonl,
    read_text,
    require,
    shorten,
    source_name,
)
from entail.data.records import Corpus, Premise
from entail.errors import CorpusError, FormatError
from entail.settings import load_settings

CorpusFormat = Literal["text", "csv", "tsv", "jsonl", "json", "entailment_bank"]

TEXT_COLUMNS = ("text", "sentence", "premise", "fact")
"""Column names of the text of a premise, in any case."""

ID_COLUMNS = ("source_id", "id", "uid", "uuid")
"""Column names of the optional id of a premise, in any case."""

_SUFFIXES: dict[str, CorpusFormat] = {
    ".txt": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
_PLACEHOLDER = "DUMMY"
_TAB = "\t"
_UNSAFE = re.compile(r"[^\w .()+,&'-]")


@dataclass(frozen=True)
class CorpusReading:
    """A corpus and the numbers of entries that were left out.

    Attributes:
        corpus: The distinct premises, in the order of the file.
        format: Detected format of the file.
        repeats: Entries with the folded text of an earlier one.
        empty: Entries without text, WorldTree's placeholder `DUMMY` among them.
        too_long: Entries over the limit.
    """

    corpus: Corpus
    format: CorpusFormat
    repeats: int = 0
    empty: int = 0
    too_long: int = 0

    @property
    def read(self) -> int:
        """Entries in the file."""
        return len(self.corpus) + self.repeats + self.empty + self.too_long

    def __str__(self) -> str:
        left_out = ", ".join(
            f"{count:,} {what}"
            for count, what in (
                (self.repeats, "repeated"),
                (self.empty, "empty"),
                (self.too_long, "too long"),
            )
            if count
        )
        counts = f"imported {len(self.corpus):,} of {self.read:,} premise{'s' if self.read != 1 else ''}"
        return f"{counts} ({left_out})" if left_out else counts


def read_corpus(
    source: Source,
    *,
    name: str | None = None,
    column: str | None = None,
    encoding: str | None = None,
    skip_too_long: bool = False,
    max_premise_chars: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> CorpusReading:
    r"""Read a corpus of premises; the suffix or else the content tells the format.

    ==================  ================================================================================
    text                one premise a line
    csv, tsv            a header; the text in `column`, or in one of `TEXT_COLUMNS`
    jsonl               one object a line, the text in such a field
    json                an object of id -> text (`worldtree_corpus_sentences_extended.json`), or a list of
                        texts or of objects
    entailment_bank     JSONL of trees: all sentences of all contexts, used by the proof or not
    ==================  ================================================================================

    Each may be gzipped. Texts are kept raw: HTML is plain text. Ids are taken from one of `ID_COLUMNS`.

    >>> str(read_corpus(b"ice is cold\nice  is cold\n\nfire is hot", name="facts.txt"))
    'imported 2 of 4 premises (1 repeated, 1 empty)'

    Args:
        source: Path, or the bytes of an upload.
        name: File name of an upload, or a name for the corpus; made safe by `corpus_name`.
        column: Column or field of the text.
        encoding: See `read_text`.
        skip_too_long: Count premises over the limit instead of refusing the file.
        max_premise_chars: The limit, by default that of the settings.
        max_bytes: See `read_text`.

    Raises:
        FormatError: With line and field, if the file is malformed.
        CorpusError: If a premise is too long, or there is none at all.
        ProofError: If a row of an EntailmentBank file has an unsound proof.
    """
    limit = max_premise_chars or load_settings().max_premise_chars
    shown = source_name(source, name if isinstance(source, bytes) else None)
    text = read_text(source, name=shown, encoding=encoding, max_bytes=max_bytes)
    kind = _format(text, [name or "", shown], column)
    distinct: dict[str, Premise] = {}
    entries = empty = too_long = 0
    for place, premise in _entries(text, kind, column, shown):
        entries += 1
        if not premise.text.strip() or (kind == "json" and premise.text == _PLACEHOLDER):
            empty += 1
        elif len(premise.text) <= limit:
            distinct.setdefault(premise.key, premise)
        elif skip_too_long:
            too_long += 1
        else:
            raise CorpusError(
                f"{shown}, {place}: expected a premise of at most {limit:,} characters, "
                f"found {len(premise.text):,}; split it, skip what is too long, "
                "or raise ENTAIL_MAX_PREMISE_CHARS"
            )
    if not distinct:
        longer = f", {too_long:,} of them longer than {limit:,} characters" if too_long else ""
        raise CorpusError(
            f"{shown}: expected at least one premise, found none in {entries:,} entries{longer}"
        )
    return CorpusReading(
        Corpus(corpus_name(name or shown), tuple(distinct.values())),
        kind,
        repeats=entries - len(distinct) - empty - too_long,
        empty=empty,
        too_long=too_long,
    )


def corpus_name(file_name: str) -> str:
    r"""Return a safe name for a corpus from a file's: no folders, no suffix, no control characters.

    >>> corpus_name("../../etc/My facts v1.2.csv.gz"), corpus_name("C:\\..\\")
    ('My facts v1.2', 'corpus')
    """
    last = re.split(r"[/\\]", file_name.strip().rstrip("/\\"))[-1]
    stem = PurePosixPath(unicodedata.normalize("NFC", last) or "corpus")
    for suffixes in ((".gz",), tuple(_SUFFIXES)):
        if stem.suffix.lower() in suffixes:
            stem = stem.with_suffix("")
    safe = _UNSAFE.sub("_", " ".join(stem.name.split())).strip("._ ")
    return safe[:80].rstrip() or "corpus"


def _format(text: str, names: Sequence[str], column: str | None) -> CorpusFormat:
    """Tell the format by the first name with a known suffix; JSON of any kind by its content."""
    kind: CorpusFormat | None = None
    for name in names:
        lowered = name.lower().removesuffix(".gz")
        kind = kind or _SUFFIXES.get(PurePosixPath(lowered).suffix)
    first = next((line for line in text.split("\n") if line.strip()), "").strip()
    if kind in (None, "jsonl", "json") and first.startswith(("{", "[")):
        kind = _json_format(text, first, column, lines=kind == "jsonl") or kind
    if kind is None:
        cells = {cell.strip().strip('"').lower() for cell in first.split(_delimiter(first))}
        wanted = {column.lower()} if column else set(TEXT_COLUMNS)
        kind = ("tsv" if _delimiter(first) == _TAB else "csv") if cells & wanted else "text"
    return kind


def _json_format(text: str, first: str, column: str | None, *, lines: bool) -> CorpusFormat | None:
    """Tell one JSON value from a line each (`lines`: the name says so); None for what is no JSON."""
    try:
        row = parse_json(first)
    except FormatError:
        # One value over many lines, or a mistake that its reader names.
        return "json" if text.rstrip().endswith(("}", "]")) and not lines else None
    if not isinstance(row, dict):
        return "jsonl" if lines else "json"
    if column is None and "hypothesis" in row and ("context" in row or "meta" in row):
        return "entailment_bank"
    several = text.strip() != first
    return "jsonl" if lines or several or _pick(row, column, TEXT_COLUMNS) else "json"


def _entries(text: str, kind: CorpusFormat, column: str | None, shown: str) -> Iterator[tuple[str, Premise]]:
    """Yield (place for messages, premise) of every entry, empty ones too."""
    if kind == "text":
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
            yield f"line {number}", Premise(line)
    elif kind in ("csv", "tsv"):
        yield from _table(text, _TAB if kind == "tsv" else None, column, shown)
    elif kind == "jsonl":
        yield from _objects(list(parse_jsonl(text, source=shown)), column, shown)
    elif kind == "entailment_bank":
        for number, tree in enumerate(parse_trees(text, source=shown), start=1):
            for name, sentence in tree.sentences.items():
                yield f"row {number}, {name}", Premise(sentence)
    else:
        yield from _json(parse_json(text, source=shown), column, shown)


def _json(value: Any, column: str | None, shown: str) -> Iterator[tuple[str, Premise]]:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        yield from _objects(list(enumerate(value, start=1)), column, shown, unit="entry")
    elif isinstance(value, list):
        for number, item in enumerate(value, start=1):
            if not isinstance(item, str):
                where = f"{shown}, entry {number}"
                raise FormatError(f"expected text, found {shorten(repr(item))}", source=where)
            yield f"entry {number}", Premise(item)
    elif isinstance(value, dict):
        for uid in value:
            if optional(value, uid, str, source=shown, line=None) is None:
                raise FormatError("expected text, found null", source=shown, field=uid)
            yield f"entry {uid!r}", Premise(value[uid], uid)
    else:
        raise FormatError(
            f"expected an object of id -> text or a list, found {shorten(repr(value))}", source=shown
        )


def _objects(
    rows: Sequence[tuple[int, dict[str, Any]]], column: str | None, shown: str, *, unit: str = "line"
) -> Iterator[tuple[str, Premise]]:
    if not rows:
        return
    fields = dict.fromkeys(name for _, row in rows for name in row)
    text_field = _pick(fields, column, TEXT_COLUMNS)
    if text_field is None:
        raise _no_column("field", fields, column, shown)
    id_field = _pick(fields, None, tuple(name for name in ID_COLUMNS if name != text_field.lower()))
    for number, row in rows:
        line = number if unit == "line" else None
        where = shown if line else f"{shown}, {unit} {number}"
        text = optional(row, text_field, str, source=where, line=line)
        if text is None:
            require(row, text_field, str, source=where, line=line)
        uid = row.get(id_field) if id_field else None
        yield f"{unit} {number}", Premise(text or "", str(uid) if isinstance(uid, str | int) else None)


def _table(text: str, delimiter: str | None, column: str | None, shown: str) -> Iterator[tuple[str, Premise]]:
    # The module's limit on a field is 128 KB and global; the limit on premises is ours to report.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    delimiter = delimiter or _delimiter(next((line for line in text.split("\n") if line.strip()), ""))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    text_at, id_at, line = 0, None, 1
    try:
        for cells in reader:
            start, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells) and len(cells) < 2:
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                picked = _pick(header, column, TEXT_COLUMNS)
                if picked is None:
                    raise _no_column("column", header, column, shown)
                text_at = header.index(picked)
                id_name = _pick(header, None, tuple(name for name in ID_COLUMNS if name != picked.lower()))
                id_at = header.index(id_name) if id_name else None
                continue
            if len(cells) < len(header) or any(cell.strip() for cell in cells[len(header) :]):
                raise FormatError(
                    f"expected as many cells as the header has, {len(header)}, found {len(cells)}; "
                    f'put a text that holds {delimiter!r} between "double quotes"',
                    source=shown,
                    line=start,
                )
            yield (
                f"line {start}",
                Premise(cells[text_at], (cells[id_at] or None) if id_at is not None else None),
            )
    except csv.Error as error:
        raise FormatError(
            f"expected {'TSV' if delimiter == _TAB else 'CSV'}, found a cell that cannot be read ({error}); "
            'inside a quoted cell write a double quote as ""',
            source=shown,
            line=line,
        ) from error


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)


def _pick(names: Iterable[str], wanted: str | None, usual: Sequence[str]) -> str | None:
    """Return the wanted name, or the first usual one if none is wanted; exactly, else whatever the case."""
    names = list(names)
    if wanted in names:
        return wanted
    by_case = {name.strip().lower(): name for name in reversed(names)}
    if wanted is not None:
        return by_case.get(wanted.strip().lower())
    return next((by_case[name] for name in usual if name in by_case), None)


def _no_column(what: str, names: Iterable[str], column: str | None, shown: str) -> FormatError:
    wanted = repr(column) if column is not None else f"{', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}"
    found = ", ".join(map(repr, names))
    return FormatError(
        f"expected a {what} named {wanted}, found {shorten(found, 300)}; choose the one that holds the texts",
        source=shown,
        line=1 if what == "column" else None,
    )
