"""Escaping and tables for Markdown; cards as parts of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath

_MAX_CARD = 60_000
_HEADING = re.compile(r"#{1,3} ")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")


def escaped(text: str) -> str:
    r"""Return a text as one line that Markdown shows literally.

    >>> escaped("a_b | <c>")
    'a\\_b \\| \\<c\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return a text as a code span of one line, which is also valid in a table cell.

    >>> code("x")
    '`x`'
    """
    line = " ".join(text.split()).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """Return a table of Markdown cells, right-aligned from column `numbers_from` on."""
    rule = ["---" if at < numbers_from else "---:" for at in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def measures(columns: Mapping[str, Mapping[str, float | str]], names: Sequence[str] = ()) -> str:
    """Return a table of figures, a measure a row; columns without figures are left out.

    >>> print(measures({"BM25": {}, "this encoder": {"MRR": 0.5}}))
    | measure | this encoder |
    | --- | ---: |
    | MRR | 0.500 |
    """
    columns = {title: figures for title, figures in columns.items() if figures}
    rows = names or list(dict.fromkeys(name for figures in columns.values() for name in figures))
    cells = [[escaped(name), *(number(part.get(name)) for part in columns.values())] for name in rows]
    return table(["measure", *columns], cells)


def number(value: object) -> str:
    """Return a figure with three decimals, a text as it is, `-` for a missing one."""
    if isinstance(value, str):
        return value
    return f"{value:.3f}" if isinstance(value, int | float) else "-"


def spread(values: tuple[float, float, int] | None) -> str:
    """Return the mean and the standard deviation of some seeds.

    >>> spread((0.5, 0.0123, 3))
    '0.500 ± 0.012'
    """
    return f"{values[0]:.3f} ± {values[1]:.3f}" if values else "-"


def format_setting(value: object) -> str:
    """Return a setting as a cell; of an absolute path only the last name.

    >>> format_setting(0.0005), format_setting(True), format_setting("/somewhere/models/x")
    ('0.0005', 'yes', '`.../x`')
    >>> format_setting("a,b"), format_setting(None)
    ('`a`, `b`', 'default')
    """
    if value is None or value == "":
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(format_setting(part) for part in value)
    text = str(value)
    if "," in text:
        return ", ".join(format_setting(part.strip()) for part in text.split(","))
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(text).is_absolute() or text.startswith("~"):
            return code(f".../{kind(text).name}")
    return code(text) if re.fullmatch(r"[\w./@:+-]+", text) else escaped(text)


def settings(config: Mapping[str, object]) -> list[list[str]]:
    """Return settings as rows of a table.

    >>> settings({"batch_size": 128})
    [['batch size', '128']]
    """
    return [[escaped(name.replace("_", " ")), format_setting(value)] for name, value in config.items()]


def section(text: str, title: str) -> str:
    r"""Return the text below a heading of the second order, empty without such a heading.

    >>> section("# A\n\n## Licence\n\nmit\n\n## Next\n", "Licence")
    'mit'
    """
    match = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1].strip() if match else ""


def readable_card(card: str) -> str:
    r"""Return a card as Markdown for the page: no header, comments or pictures, small headings, truncated.

    >>> readable_card("---\nlicense: mit\n---\n<!-- made -->\n# A ![b](https://c)")
    '#### A [b](https://c)'
    """
    body = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL).replace("![", "[").strip()
    body = body if len(body) <= _MAX_CARD else f"{body[:_MAX_CARD]} …"
    lines, in_code = [], False
    for line in body.splitlines():
        in_code ^= line.startswith("```")
        lines.append(f"###{line}" if _HEADING.match(line) and not in_code else line)
    return "\n".join(lines)
