from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.reading import MAX_BYTES, optional, parse_json, read_jsonl, read_text, require
from entail.errors import FormatError, SettingsError

WORDS = "the café is warm\nice is cold\n"


@pytest.mark.parametrize(
    "data",
    [
        WORDS.encode(),
        WORDS.encode("utf-8-sig"),
        WORDS.encode("utf-16"),
        b"\xfe\xff" + WORDS.encode("utf-16-be"),
        WORDS.encode("utf-16-le"),
        WORDS.encode("utf-16-be"),
        WORDS.encode("utf-32"),
        WORDS.replace("\n", "\r\n").encode(),
        WORDS.replace("\n", "\r").encode(),
        gzip.compress(WORDS.encode()),
        gzip.compress(WORDS.encode("utf-16")),
        gzip.compress(WORDS[:7].encode()) + gzip.compress(WORDS[7:].encode()),
    ],
    ids=str.split("utf-8 utf-8-sig utf-16 16-be-mark 16-le 16-be utf-32 crlf cr gzip gzip-16 two-gzips"),
)
def test_one_text_in_every_dress(data: bytes, tmp_path: Path) -> None:
    assert read_text(data) == WORDS
    path = tmp_path / "no-telling-name"
    path.write_bytes(data)
    assert read_text(path) == WORDS
    assert read_text(str(path)) == WORDS


def test_empty_file_is_empty_text() -> None:
    assert read_text(b"") == ""


def test_latin_1_is_named_with_line_and_way_out() -> None:
    data = WORDS.replace("ice is", "glacé is").encode("latin-1")
    with pytest.raises(FormatError, match=r"Latin-1 or Windows-1252.*iconv.*cp1252") as caught:
        read_text(data, name="facts.txt")
    assert (caught.value.source, caught.value.line) == ("facts.txt", 1)
    assert "0xE9" in str(caught.value)


def test_encoding_can_be_told() -> None:
    assert read_text("“warm” café".encode("cp1252"), encoding="cp1252") == "“warm” café"
    assert read_text("\ufeffwarm".encode(), encoding="utf-8") == "warm"


def test_encoding_told_wrong() -> None:
    with pytest.raises(FormatError, match="expected ascii, found byte 0xC3"):
        read_text("café".encode(), encoding="ascii")
    for unknown in ("klingon", "hex"):
        with pytest.raises(SettingsError, match=f"found '{unknown}'"):
            read_text(b"warm", encoding=unknown)


def test_cut_utf_16_is_an_error() -> None:
    with pytest.raises(FormatError, match="expected utf-16"):
        read_text("ice".encode("utf-16")[:-1])


def test_nul_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match="NUL") as caught:
        read_text(b"one\ntwo\nth\0ree, and a good deal of text after it")
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04\x14\0", "ZIP or Excel"),
        (b"%PDF-1.7", "PDF"),
        (b"SQLite format 3\0", "SQLite"),
        (bytes(range(1, 256)), "binary"),
    ],
)
def test_files_of_another_kind_are_named(data: bytes, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        read_text(data)


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-6], lambda d: d[:12], lambda d: d[:15] + b"\xff\xff\xff" + d[18:]]
)
def test_damaged_gzip(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FormatError, match="gzip"):
        read_text(damage(gzip.compress(WORDS.encode() * 9)))


def test_the_limit_is_named_with_what_was_found(tmp_path: Path) -> None:
    assert read_text(b"12345", max_bytes=5) == "12345"
    path = tmp_path / "long.txt"
    path.write_bytes(b"1" * 1234)
    for source in (b"1" * 1234, path):
        with pytest.raises(FormatError, match=r"at most 1,000 bytes, found 1,234"):
            read_text(source, max_bytes=1000)
    assert MAX_BYTES == 200_000_000


def test_the_limit_holds_for_what_is_unpacked() -> None:
    bomb = gzip.compress(b"0" * 5_000_000)
    assert len(bomb) < 10_000
    with pytest.raises(FormatError, match=rf"10,000 bytes once unpacked.* in {len(bomb):,} packed"):
        read_text(bomb, max_bytes=10_000)


def test_a_device_without_end_is_bounded() -> None:
    with pytest.raises(FormatError, match="at most 100 bytes"):
        read_text("/dev/zero", max_bytes=100)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.txt", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(FormatError, match="expected a file that can be read"):
            read_text(path)


def test_jsonl_lines_are_numbered_as_in_the_file() -> None:
    data = '\n{"a": 1}\r\n\n{"a": "\u2028"}\n'.encode()
    assert list(read_jsonl(data)) == [(2, {"a": 1}), (4, {"a": "\u2028"})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "found an early end .*column 8"),
        ('{"a" 1}', "Expecting ':' delimiter, column 6"),
        ("{'a': 1}", "one JSON object"),
        ("[1, 2]", "expected one JSON object, found a list"),
        ('"text"', "found text"),
        ("null", "found null"),
        ("plain text", "one JSON object"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('{"a": ' + "9" * 5000 + "}", "out of range"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"\\uDFFF": 1}', "half of a surrogate pair"),
        ('{"a": ["\\u0000"]}', "NUL"),
    ],
)
def test_malformed_jsonl_names_file_line_and_mistake(line: str, message: str) -> None:
    data = f'{{"a": 0}}\n\n{line}\n'.encode()
    with pytest.raises(FormatError, match=message) as caught:
        list(read_jsonl(data, name="rows.jsonl"))
    assert (caught.value.source, caught.value.line) == ("rows.jsonl", 3)
    assert len(str(caught.value)) < 400


def test_escapes_that_are_fine() -> None:
    assert parse_json(r'"\ud83d\ude00 \\u0000 \\ud800"') == "😀 \\u0000 \\ud800"


def test_json_over_many_lines_names_the_line() -> None:
    with pytest.raises(FormatError) as caught:
        parse_json('{\n"a": 1,\n}', source="x.json")
    assert caught.value.line == 3


def test_require_gives_the_value() -> None:
    row = {"a": "x", "meta": {"n": 3, "flags": []}, "dotted.name": {"b": 1}}
    assert require(row, "a", str, source=None, line=None) == "x"
    assert require(row, "meta.n", int, source=None, line=None) == 3
    assert require(row, "meta.flags", list, source=None, line=None) == []
    assert require(row, "dotted.name", dict, source=None, line=None) == {"b": 1}


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ({"b": 1, "c": 2}, str, "expected text, found only the fields b, c"),
        ({"a": None}, str, "expected text, found null"),
        ({"a": 7}, str, "expected text, found 7"),
        ({"a": " "}, str, "expected text, found ' '"),
        ({"a": True}, int, "expected a whole number, found true"),
        ({"a": [1]}, dict, r"expected an object, found \[1\]"),
    ],
)
def test_require_says_what_was_expected_and_found(row: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        require(row, "a", kind, source="f", line=9)
    assert (caught.value.source, caught.value.line, caught.value.field) == ("f", 9, "a")


def test_optional_takes_absence_but_no_other_kind() -> None:
    assert optional({}, "meta.x", str, source=None, line=None) is None
    assert optional({"meta": 3}, "meta.x", str, source=None, line=None) is None
    assert optional({"a": ""}, "a", str, source=None, line=None) == ""
    with pytest.raises(FormatError, match="expected text, found 1"):
        optional({"a": 1}, "a", str, source=None, line=None)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b", b"\xff\xfe", b"\xef\xbb\xbf"]))
def test_any_bytes_are_read_or_refused_clearly(data: bytes, head: bytes) -> None:
    with suppress(FormatError):
        text = read_text(head + data)
        assert not {"\0", "\r"} & set(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_json_that_was_written_is_read(value: Any) -> None:
    text = json.dumps(value)
    if "\\u0000" in text:
        return
    assert parse_json(text) == value
