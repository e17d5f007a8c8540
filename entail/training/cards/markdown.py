"""Texts and settings as Markdown; cards as parts of a page."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath

_MAX_CARD = 60_000
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
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def format_setting(value: object) -> str:
    """Return a setting as Markdown; of an absolute path only the last name.

    >>> format_setting(0.0005), format_setting(True), format_setting("/somewhere/models/x")
    ('0.0005', 'yes', '`.../x`')
    >>> format_setting("a,b")
    '`a`, `b`'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_setting, value))
    text = str(value)
    if "," in text:
        return ", ".join(format_setting(part.strip()) for part in text.split(","))
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(text).is_absolute() or text.startswith("~"):
            return code(f".../{kind(text).name}")
    return code(text) if re.fullmatch(r"[\w./@:+-]+", text) else escaped(text)


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
    parts = body.split("```")  # every second one is a program
    parts[::2] = [re.sub(r"^(#{1,3} )", r"###\1", part, flags=re.MULTILINE) for part in parts[::2]]
    return "```".join(parts)
