"""CSV files that no text breaks and no spreadsheet runs."""

import csv
import io
import unicodedata
import zipfile

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.corpora import read_corpus
from entail.data.reading import MAX_BYTES, read_text
from entail.data.spreadsheets import to_csv
from entail.errors import CorpusError, FormatError


def workbook(*sheets: list[list[object]]) -> bytes:
    """Return an Excel file."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def zipped(texts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return out.getvalue()


SHEET: list[list[object]] = [["Nr", "text"], [1, "ice, cold"], [None, None], [3, "two long\nlines"]]


def test_a_sheet_of_excel_is_a_table() -> None:
    for name in ("f.xlsx", "f"):
        corpus = read_corpus(workbook(SHEET, []), name=name).corpus
        assert corpus.texts == ("ice, cold", "two long lines")
    with pytest.raises(CorpusError, match="line 4"):
        read_corpus(workbook(SHEET), name="f.xlsx", max_premise_chars=9, column="text")
    assert read_corpus(workbook(SHEET), name="f.xlsx", column="Nr").corpus.texts == ("1", "3")


@pytest.mark.parametrize(
    ("data", "limit", "message"),
    [
        (workbook(SHEET, SHEET), MAX_BYTES, "Sheet"),
        (workbook([]), MAX_BYTES, "none"),
        (workbook(SHEET)[:-40], MAX_BYTES, "damaged"),
        (workbook(SHEET), 1000, "bytes"),
        (workbook([["a" * 1000] * 9] * 99), 100_000, "bytes"),
        (zipped({"xl/workbook.xml": "", "xl/worksheets/sheet1.xml": " " * 40_000_000}), MAX_BYTES, "bytes"),
    ],
    ids=["two sheets", "none", "damaged", "large", "large once unpacked", "packed too well"],
)
def test_other_sheets_of_excel_are_refused(data: bytes, limit: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_text(data, name="f.xlsx", max_bytes=limit)


FORMULA = set("=+-@\uff1d\uff0b\uff0d\uff20")
ODD = "\x00\x07\t\n\v\f\r\x1c\x7f\x85\u2028\u2029\u200b\ufeff\ud800\uffff,;|\"'\\ =+-@\uff1da1"
TEXTS = st.text(alphabet=ODD) | st.text(alphabet=st.characters(exclude_categories=["Cs"]))
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width)))


def clean(text: str) -> str:
    """Return a text as the file has it, without apostrophes."""
    names = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": "\ufffd"}
    return "".join(names.get(unicodedata.category(letter), letter) for letter in text.replace("'", ""))


def runs(cell: str) -> bool:
    """Return whether a spreadsheet may take a cell for a formula."""
    visible = [letter for letter in cell if unicodedata.category(letter)[0] not in "ZC"]
    return visible[:1] != [] and visible[0] in FORMULA


@given(TABLES)
def test_every_text_stays_in_its_cell_and_runs_nowhere(table: list[list[str]]) -> None:
    header = [f"column {number}" for number in range(len(table[0]) if table else 1)]
    text = to_csv([header, *table])
    assert text.splitlines() == text.removesuffix("\n").split("\n")
    text.encode()
    by_csv = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, skip_blank_lines=False)
    assert by_csv == [frame.columns.tolist(), *frame.to_numpy().tolist()]
    assert len(by_csv) == 1 + len(table) == len(text.splitlines())
    for delimiter in ",;\t":
        opened = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        assert not [cell for cells in opened for cell in cells if runs(cell)]
    for cells, texts in zip(by_csv[1:], table, strict=True):
        assert [cell.replace("'", "") for cell in cells] == [*map(clean, texts)]


def test_names_of_a_mapping_make_the_header_and_numbers_stay() -> None:
    rows = ({"=query": "=q", "cosine": value, "none": None} for value in (0.25, -0.5))
    assert [*csv.reader(io.StringIO(to_csv(rows)))] == [
        ["'=query", "cosine", "none"],
        ["'=q", "0.25", ""],
        ["'=q", "-0.5", ""],
    ]
    assert to_csv(iter(())) == ""
