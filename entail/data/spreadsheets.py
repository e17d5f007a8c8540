"""CSV files that spreadsheets show as text."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from entail.data.text import without_surrogates

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMULA = {*"=+-@\uff1d\uff0b\uff0d\uff20"}
"""Signs that begin a formula; the last four are the same in full width."""


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
