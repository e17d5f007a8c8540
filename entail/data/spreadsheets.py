"""Excel files as CSV, and CSV files that spreadsheets show as text."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Mapping, Sequence

from entail.data.text import without_surrogates
from entail.errors import FormatError

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMULA = {*"=+-@\uff1d\uff0b\uff0d\uff20"}
"""Signs that begin a formula; the last four are the same in full width."""

_MAX_ROWS = 2**20
"""Rows of a sheet in Excel; a file that claims more is not read on."""


def to_csv(rows: Iterable[Sequence[object] | Mapping[str, object]]) -> str:
    r"""Return rows as CSV: a line a row, every cell quoted, texts escaped by `escape_cell`.

    If the first row is a mapping, its names make the header. Other names are not written.

    >>> to_csv([{"premise": "snow\r=1", "rank": 2}])
    '"premise","rank"\n"snow =1","2"\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            if number == 0:
                writer.writerow(map(escape_cell, row))
            row = tuple(row.values())
        writer.writerow([escape_cell(value) if isinstance(value, str) else value for value in row])
    return out.getvalue()


def escape_cell(text: str) -> str:
    r"""Return the text as a cell that no spreadsheet evaluates as a formula.

    Control characters, line breaks and tabs too, become spaces. A text that starts with ``= + - @``, after
    spaces, quotation marks and invisible characters, too, gets an apostrophe in front, which spreadsheets
    hide (OWASP, "CSV injection"). So does what follows a semicolon, which separates cells where numbers have
    a decimal comma. Remove the apostrophes when reading the file back.

    >>> escape_cell("\t=1+1"), escape_cell("ice\nis cold; =1+1")
    ("' =1+1", "ice is cold;' =1+1")
    """
    text = _CONTROLS.sub(" ", without_surrogates(text))
    return ";".join(f"'{cell}" if _begins_formula(cell) else cell for cell in text.split(";"))


def _begins_formula(cell: str) -> bool:
    # Spreadsheets may drop what is invisible: separators, marks of format.
    visible = (letter for letter in cell if unicodedata.category(letter)[0] not in "ZC" and letter != '"')
    return next(visible, "") in _FORMULA


def sheet_to_csv(data: bytes, file_name: str, *, max_bytes: int) -> str:
    """Return the only sheet with cells of an Excel file as CSV: a line a row, formulas by their values.

    Raises:
        FormatError: If it is another archive, damaged, larger than `max_bytes` once unpacked, or has no such
            sheet or several.
    """
    import openpyxl

    too_large = FormatError(
        f"expected at most {max_bytes:,} bytes once unpacked, found more; split the file", source=file_name
    )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "xl/workbook.xml" not in archive.namelist():
                message = "expected text or a sheet of Excel, found another kind of ZIP file; save it as text"
                raise FormatError(message, source=file_name)
            if sum(part.file_size for part in archive.infolist()) > max_bytes:
                raise too_large
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {}
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # programs write wrong ones
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            for row in sheet.iter_rows(values_only=True, max_row=_MAX_ROWS):
                # A row stays a line, so that messages name it.
                writer.writerow(" ".join(str("" if cell is None else cell).splitlines()) for cell in row)
                if out.tell() > max_bytes:
                    raise too_large
            if out.getvalue().strip('," \n'):
                sheets[sheet.title] = out.getvalue()
    except FormatError:
        raise
    except Exception as error:  # openpyxl raises whatever its parts do
        message = f"expected a whole Excel file, found a damaged or locked one ({type(error).__name__})"
        raise FormatError(message, source=file_name) from error
    if len(sheets) != 1:
        names = ", ".join(map(repr, sheets)) or "none"
        raise FormatError(
            f"expected one sheet with cells, found {names}; save one by itself", source=file_name
        )
    return sheets.popitem()[1]
