"""Reader of premise corpora: plain text, CSV, TSV, Excel, JSONL, JSON, EntailmentBank, WorldTree."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np

from entail.data.entailment_bank.trees import parse_trees
from entail.data.premises import Premises
from entail.data.reading import (
    MAX_BYTES,
    Source,
    parse_json,
    parse_jsonl,
    shorten,
    source_name,
    text_blocks,
    text_lines,
    whole_lines,
)
from entail.data.records import Corpus, Premise
from entail.data.tables import (
    SEPARATOR,
    TAB,
    Row,
    first_line,
    guess_delimiter,
    longest_columns,
    named_columns,
    rows_of,
    sample_texts,
    sentence,
)
from entail.data.text import clean_premise, similarity_key
from entail.errors import CorpusError, FormatError
from entail.progress import ProgressCallback
from entail.settings import MAX_CORPUS_MB, load_settings

CorpusFormat = Literal["text", "csv", "tsv", "jsonl", "json", "entailment_bank"]

TEXT_COLUMNS = ("text", "sentence", "premise", "fact")
"""Column names of the text of a premise, in any case."""

ID_COLUMNS = ("source_id", "id", "uid", "uuid", "_id", "doc_id", "docno", "docid")
"""Column names of the optional id of a premise, in any case."""

_SUFFIXES: dict[str, CorpusFormat] = {
    ".txt": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".xlsx": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
MOST_BYTES = MAX_CORPUS_MB * 1_000_000
"""Size limit of a file that is read line by line."""

_REMEDY = ", or choose its encoding, such as cp1252 or cp932 (Shift-JIS)"
_OTHER_SUFFIX = re.compile(r"\.[a-z][a-z0-9]{1,7}")
"""Suffix that names a format, unlike the number of a version."""
_OTHER_FORMAT = re.compile(r'\{\s*"|\[\s*["{]|<(!doctype|\?xml|html|doc)\b', re.IGNORECASE)
"""Beginning of an object or list of JSON, and of a page or a collection of TREC."""
_SAMPLE_LINES = 50
"""Lines by which a list of premises is told from a table."""
_SAMPLE_ROWS = 10_000
"""Objects of JSONL whose fields count as its columns."""
_BLOCK = 200_000
"""Premises that are put into columns at once."""
_PLACEHOLDER = "DUMMY"
"""Text of WorldTree's corpus that is no premise."""

_UNSAFE = re.compile(r"[^\w .()+,&'-]")

Entries = Iterator[tuple[str, Premise]]
"""(place for messages, premise) of every entry of a file, empty ones too."""


@dataclass(frozen=True)
class CorpusReading:
    """A corpus in the order of its file, and counts of the entries left out: `repeats` by folded text.

    Attributes:
        similar: Entries that differ from an earlier one only in case, white space or the full stop.
        merged: Whether `similar` entries are left out.
        dropped: Columns that are not kept, since their values are lists or objects.
    """

    corpus: Corpus
    format: CorpusFormat
    repeats: int = 0
    empty: int = 0
    too_long: int = 0
    similar: int = 0
    merged: bool = False
    dropped: tuple[str, ...] = ()

    @property
    def read(self) -> int:
        """Entries in the file."""
        merged = self.similar if self.merged else 0
        return len(self.corpus) + self.repeats + self.empty + self.too_long + merged

    def __str__(self) -> str:
        similar = "merged, which differed in case, spaces or full stop only"
        skipped = {"repeated": self.repeats, "empty": self.empty, "too long": self.too_long}
        skipped |= {similar: self.similar} if self.merged else {}
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items() if count)
        counts = f"imported {len(self.corpus):,} of {self.read:,} premise{'s' if self.read != 1 else ''}"
        notes = [f"{counts} ({left_out})" if left_out else counts]
        if self.similar and not self.merged:
            notes.append(f"{self.similar:,} differ from others in case, spaces or full stop only")
        if self.dropped:
            notes.append(f"columns not kept, which hold lists or objects: {', '.join(self.dropped)}")
        return "; ".join(notes)


def read_corpus(
    source: Source,
    *,
    name: str | None = None,
    column: str | None = None,
    encoding: str | None = None,
    skip_too_long: bool = False,
    merge_similar: bool = False,
    max_premise_chars: int | None = None,
    progress: ProgressCallback | None = None,
) -> CorpusReading:
    r"""Read a corpus of premises; the suffix or, without one, the content tells the format.

    ==================  ================================================================================
    text                one premise a line
    csv, tsv, xlsx      a header; the text in `column`, or in one of `TEXT_COLUMNS`
    jsonl               one object a line, the text in such a field
    json                an object of id -> text (`worldtree_corpus_sentences_extended.json`), or a list of
                        texts or of objects
    entailment_bank     JSONL of trees: all sentences of all contexts, used by the proof or not
    ==================  ================================================================================

    Each may be gzipped. Texts are stored as by `clean_premise`: HTML is plain text. Ids are taken from one of
    `ID_COLUMNS`; further columns are kept in `Premise.extra`.

    >>> str(read_corpus(b"ice is cold\nice  is cold\n\nfire is hot", name="facts.txt"))
    'imported 2 of 4 premises (1 repeated, 1 empty)'

    Args:
        source: Path, or the bytes of an upload.
        name: File name of an upload, or a name for the corpus; made safe by `corpus_name`.
        column: Column or field of the text.
        encoding: See `read_text`.
        skip_too_long: Count premises over the limit instead of refusing the file.
        merge_similar: Keep the first of premises that differ only in case, white space or the full stop.
        max_premise_chars: The limit, by default that of the settings.
        progress: Receives the progress of reading, in bytes.

    Raises:
        FormatError: With line and field, if the file is malformed.
        CorpusError: If a premise is too long, or there is none at all.
        ProofError: If a row of an EntailmentBank file has an unsound proof.
    """
    limit = max_premise_chars or load_settings().max_premise_chars
    file_name = source_name(source, name if isinstance(source, bytes) else None)
    content = _Content(source, file_name, encoding, progress)
    kind, value = _detect(content, [name or "", file_name], column, file_name)
    distinct = _Distinct(merge_similar)
    dropped: dict[str, None] = {}
    entries = empty = too_long = 0
    for location, raw in _entries(content, kind, value, column, file_name, dropped):
        entries += 1
        premise = replace(raw, text=clean_premise(raw.text))
        if not premise.text.strip() or (kind == "json" and premise.text == _PLACEHOLDER):
            empty += 1
        elif len(premise.text) <= limit:
            distinct.add(premise)
        elif skip_too_long:
            too_long += 1
        else:
            raise CorpusError(
                f"{file_name}, {location}: expected a premise of at most {limit:,} characters, "
                f"found {len(premise.text):,}; split it, or raise "
                "ENTAIL_MAX_PREMISE_CHARS"
            )
    premises = distinct.premises()
    if not premises:
        longer = f", {too_long:,} of them longer than {limit:,} characters" if too_long else ""
        raise CorpusError(
            f"{file_name}: expected at least one premise, found none in {entries:,} entries{longer}"
        )
    corpus, near = Corpus(corpus_name(name or file_name), premises), distinct.similar
    repeats = entries - len(corpus) - empty - too_long - (near if merge_similar else 0)
    return CorpusReading(corpus, kind, repeats, empty, too_long, near, merge_similar, tuple(dropped))


class _Content:
    """Lines of a file; the `head`, up to some that are not blank, is looked at before the others are read."""

    def __init__(
        self,
        source: Source,
        file_name: str,
        encoding: str | None,
        progress: ProgressCallback | None = None,
    ) -> None:
        options: dict[str, Any] = {"encoding": encoding, "progress": progress, "max_bytes": MOST_BYTES}
        self._lines = whole_lines(text_blocks(source, name=file_name, remedy=_REMEDY, **options))
        self._name = file_name
        sample: list[str] = []
        while sum(map(bool, map(str.strip, sample))) < _SAMPLE_LINES and (line := next(self._lines, "")):
            sample.append(line)
        self.head = "".join(sample)

    def lines(self) -> Iterator[str]:
        """Yield all lines with their ends, once."""
        return chain(io.StringIO(self.head, newline="\n"), self._lines)

    def text(self) -> str:
        """Return the whole text; `FormatError` if it is too long to be read at once."""
        self.head = "".join(self.lines())
        if len(self.head) > MAX_BYTES:
            raise FormatError(
                f"expected at most {MAX_BYTES:,} characters in this format, found more; split the file, or "
                "save it as CSV or one premise a line, which is read in parts",
                source=self._name,
            )
        return self.head


class _Distinct:
    """Distinct premises of a file, in columns; `similar` counts those that are nearly another."""

    def __init__(self, merges: bool) -> None:
        self.similar = 0
        self._merges = merges
        self._block: list[Premise] = []
        self._parts: list[Premises] = []
        self._numbers: set[int] = set()
        self._first: dict[int, int] = {}  # hash of a text without case, spaces and full stop -> its number

    def add(self, premise: Premise) -> None:
        self._block.append(premise)
        if len(self._block) == _BLOCK:
            self._take_block()

    def premises(self) -> Premises:
        """Return all."""
        self._take_block()
        return Premises.joined(self._parts)

    def _take_block(self) -> None:
        premises, positions = Premises.of(self._block), []
        for at, (number, premise) in enumerate(zip(premises.numbers.tolist(), self._block, strict=True)):
            is_new = number not in self._numbers
            first = self._first.setdefault(hash(similarity_key(premise.text)), number)
            is_similar = is_new and first != number
            self.similar += is_similar
            if is_new and not (is_similar and self._merges):
                self._numbers.add(number)
                positions.append(at)
        self._parts.append(premises.take(np.array(positions, dtype=np.int64)))
        self._block = []


def sample_columns(
    source: Source, *, name: str | None = None, encoding: str | None = None
) -> dict[str, tuple[str, ...]]:
    r"""Return column -> its texts in the first rows of a table or of JSONL, to choose `column` by; else none.

    >>> sample_columns(b"nr,note\n1,ice is cold", name="facts.csv")
    {'nr': ('1',), 'note': ('ice is cold',)}

    Raises:
        FormatError: If the file cannot be read.
    """
    file_name = source_name(source, name)
    content = _Content(source, file_name, encoding)
    kind, _ = _detect(content, [file_name], None, file_name)
    if kind not in ("csv", "tsv", "jsonl") or not content.head.strip():
        return {}
    table = rows_of(content.head, file_name, delimiter=TAB if kind == "tsv" else None)
    return sample_texts(table.columns, (row for _, row in table.rows if not isinstance(row, FormatError)))


def likely_text_column(sample: Mapping[str, Sequence[str]]) -> str:
    """Return the text column by its name, or else the one with the longest texts."""
    return _pick(sample, None, TEXT_COLUMNS) or longest_columns(sample)[0]


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


def _detect(
    content: _Content, names: Sequence[str], column: str | None, file_name: str
) -> tuple[CorpusFormat, Any]:
    """Return the format by the first name with a known suffix, or by the content; and the value of JSON."""
    suffixes = [PurePosixPath(name.lower().removesuffix(".gz")).suffix for name in names]
    kind = next((_SUFFIXES[suffix] for suffix in suffixes if suffix in _SUFFIXES), None)
    if kind is None and _OTHER_SUFFIX.fullmatch(suffixes[-1]):
        raise FormatError(
            f"expected a file called {', '.join(_SUFFIXES)}, found {suffixes[-1]}; if it has one premise a "
            "line, call it .txt",
            source=file_name,
        )
    first = first_line(SEPARATOR.sub("", content.head, count=1)).strip()
    if kind == "json" or (kind in (None, "jsonl") and first.startswith(("{", "["))):
        return _detect_json(content, first, kind, column, file_name)
    if kind is None:
        delimiter = guess_delimiter(first)
        cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
        kind = ("tsv" if delimiter == TAB else "csv") if _pick(cells, column, TEXT_COLUMNS) else "text"
    if kind == "text":
        _check_list(content.head, file_name)
    return kind, None


def _check_list(text: str, file_name: str) -> None:
    """Refuse JSON, markup and rows of tokens or of a table, such as CoNLL-U, which would become premises."""
    first = first_line(text).strip()
    names = [cell.strip().strip('"') for cell in first.split(guess_delimiter(first))]
    is_header = len(names) > 1 and _pick(names, None, TEXT_COLUMNS) and " " not in "".join(names)
    if is_header or _OTHER_FORMAT.match(first):
        raise FormatError(
            f"expected one premise a line, found a table, JSON or markup, {shorten(first)!r}; call the file "
            "by its format, such as .csv or .jsonl",
            source=file_name,
        )
    sample = [line for _, line in islice(text_lines(text), _SAMPLE_LINES) if not line.startswith("#")]
    cells = [line.count(TAB) + 1 for line in sample]
    if cells and min(cells) >= 2 and len(set(cells)) == 1:
        raise FormatError(
            f"expected one premise a line, found rows of {cells[0]} cells; call a table with header .tsv, or "
            "export sentences instead of words",
            source=file_name,
        )


def _detect_json(
    content: _Content, first: str, kind: CorpusFormat | None, column: str | None, file_name: str
) -> tuple[CorpusFormat, Any]:
    """Tell one JSON value from an object a line, which may be trees."""
    try:
        row = parse_json(first)
    except FormatError:
        row = None  # one value over many lines, or a mistake that its reader names
    if isinstance(row, dict):
        if column is None and "hypothesis" in row and ("context" in row or "meta" in row):
            return "entailment_bank", None
        if kind == "jsonl" or content.head.strip() != first or _pick(row, column, TEXT_COLUMNS):
            return "jsonl", None
    if kind == "jsonl":
        return kind, None
    try:
        return "json", parse_json(content.text(), source=file_name) if content.head.strip() else []
    except FormatError:
        if kind == "json":
            raise
        return "text", None


def _entries(
    content: _Content,
    kind: CorpusFormat,
    value: Any,
    column: str | None,
    file_name: str,
    dropped: dict[str, None],
) -> Entries:
    """Yield the premises of a file; the names of columns that are not kept are added to `dropped`."""
    if kind == "text":
        for number, line in enumerate(content.lines(), start=1):
            yield f"line {number}", Premise(line.removesuffix("\n"))
    elif kind == "entailment_bank":
        for number, tree in enumerate(parse_trees(content.text(), source=file_name), start=1):
            for name, premise in tree.sentences.items():
                yield f"row {number}, {name}", Premise(premise)
    elif kind == "json":
        yield from _json(value, column, file_name, dropped)
    elif kind == "jsonl":
        rows = parse_jsonl(content.lines(), source=file_name)
        sample = list(islice(rows, _SAMPLE_ROWS))
        columns = list(chain.from_iterable(row for _, row in sample))
        yield from _rows(chain(sample, rows), columns, column, file_name, dropped)
    elif content.head.strip():
        table = rows_of(content.lines(), file_name, delimiter=TAB if kind == "tsv" else None)
        yield from _rows(table.readable(), table.columns, column, file_name, dropped)


def _json(
    value: Any,
    column: str | None,
    file_name: str,
    dropped: dict[str, None],
) -> Entries:
    if not isinstance(value, list | dict):
        snippet = shorten(repr(value))
        raise FormatError(f"expected an object of id -> text or a list, found {snippet}", source=file_name)
    if value and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        fields = list(chain.from_iterable(value))
        yield from _rows(enumerate(value, start=1), fields, column, file_name, dropped, unit="entry")
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value, start=1):
        location = f"entry {key!r}"
        if not isinstance(item, str):
            message = f"expected text, found {shorten(repr(item))}"
            raise FormatError(message, source=f"{file_name}, {location}")
        yield location, Premise(item, key if isinstance(key, str) else None)


def _rows(
    rows: Iterable[tuple[int, Row]],
    columns: Sequence[str],
    column: str | None,
    file_name: str,
    dropped: dict[str, None],
    *,
    unit: str = "line",
) -> Entries:
    """Yield the texts and the optional ids of rows; names of columns are exact or else in any case."""
    if not columns:
        return
    text = _pick(columns, column, TEXT_COLUMNS)
    if text is None:
        usual = f"{', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}" if column is None else repr(column)
        names = shorten(", ".join(map(repr, dict.fromkeys(columns))), 300)
        message = f"expected a column named {usual}, found {names}; choose the column that holds the texts"
        raise FormatError(message, source=file_name)
    uid = _pick(columns, None, [name for name in ID_COLUMNS if name != text.lower()])
    for number, row in rows:
        location = f"{unit} {number}"
        source = file_name if unit == "line" else f"{file_name}, {location}"
        premise = sentence(row, text, source=source, line=number if unit == "line" else None)
        value = row.get(uid) if uid else None
        is_id = isinstance(value, str | int) and value != ""
        further = {name: row[name] for name in row if name not in (text, uid) and row[name] not in (None, "")}
        dropped.update(dict.fromkeys(name for name, cell in further.items() if isinstance(cell, list | dict)))
        extra = tuple((name, str(further[name])) for name in further if name not in dropped)
        yield location, Premise(premise, str(value) if is_id else None, extra)


def _pick(names: Iterable[str], column: str | None, usual: Sequence[str]) -> str | None:
    """Return the name of `column`, exact or else in any case; without it the first usual one."""
    names = list(names)
    if column in names:
        return column
    aliases = tuple(usual) if column is None else (column.strip().lower(),)
    return named_columns(names, {"text": aliases}).get("text")
