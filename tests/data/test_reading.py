"""Text and JSON as people bring it."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data import reading
from entail.data.reading import parse_json, parse_jsonl, read_text, text_blocks, whole_lines
from entail.errors import FormatError, SettingsError

WORDS = "the café is warm\nice is cold\n"


@pytest.mark.parametrize(
    "data",
    [
        WORDS.encode(),
        WORDS.encode("utf-8-sig"),
        WORDS.encode("utf-16"),
        b"\xfe\xff" + WORDS.encode("utf-16-be"),
        WORDS.encode("utf-32"),
        WORDS.replace("\n", "\r\n").encode(),
        gzip.compress(WORDS.encode("utf-16")),
        gzip.compress(WORDS[:7].encode()) + gzip.compress(WORDS[7:].encode()),
    ],
    ids=str.split("utf-8 utf-8-sig utf-16 16-be-mark utf-32 crlf gzip-16 two-gzips"),
)
def test_encodings_and_line_ends(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(data)
    assert read_text(data) == read_text(path) == read_text(str(path)) == WORDS


@pytest.mark.parametrize("size", [4, 5, 7])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp932"])
def test_a_text_is_read_in_blocks(encoding: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\u65e5\u672c\r\nb\rc\n\r\n\nd"
    monkeypatch.setattr(reading, "_BLOCK", size)
    blocks = list(text_blocks(text.encode(encoding), encoding="cp932" if encoding == "cp932" else None))
    assert "".join(blocks) == "\u65e5\u672c\nb\nc\n\n\nd"
    assert list(whole_lines(blocks)) == ["\u65e5\u672c\n", "b\n", "c\n", "\n", "\n", "d"]
    for wrong, line in ((b"\xff", 6), (b"\0", 6), (b"\nx\n\xff", 8)):
        with pytest.raises(FormatError) as error:
            list(text_blocks(text.encode() + wrong))
        assert error.value.line == line


def test_an_encoding_can_be_given() -> None:
    assert read_text("“warm” café".encode("cp1252"), encoding="cp1252") == "“warm” café"
    with pytest.raises(SettingsError, match="klingon"):
        read_text(b"warm", encoding="klingon")


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (WORDS.replace("ice is", "glacé is").encode("latin-1"), 1, "0xE9.*iconv"),
        ("ice".encode("utf-16")[:-1], 1, "expected utf-16"),
        (b"one\ntwo\nth\0ree, and a good deal of text after it", 3, "NUL"),
        (b"PK\x03\x04\x14\0", None, "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None, "Excel"),
        (b"{\\rtf1 ice}", None, "Rich"),
        (b"<?xml version='1.0'?>", None, "XML"),
        (b"%PDF-1.7", None, "PDF"),
        (b"SQLite format 3\0", None, "SQLite"),
        (bytes(range(1, 256)), 2, "binary"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 1, "binary one"),
    ],
)
def test_other_files_are_refused(data: bytes, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_text(data, name="facts.txt")
    assert (caught.value.source, caught.value.line) == ("facts.txt", line)


@pytest.mark.parametrize("damage", [lambda d: d[:-6], lambda d: d[:15] + b"\xff\xff\xff" + d[18:]])
def test_damaged_gzip_is_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FormatError, match="gzip"):
        read_text(damage(gzip.compress(WORDS.encode() * 9)))


def test_size_limits(tmp_path: Path) -> None:
    assert read_text(b"12345", max_bytes=5) == "12345"
    path = tmp_path / "long.txt"
    path.write_bytes(b"1" * 1234)
    for source in (b"1" * 1234, path):
        with pytest.raises(FormatError, match="1,000 bytes"):
            read_text(source, max_bytes=1000)
    bomb = gzip.compress(b"0" * 5_000_000)
    with pytest.raises(FormatError, match="unpacked"):
        read_text(bomb, max_bytes=10_000)
    with pytest.raises(FormatError, match="200 times"):
        read_text(gzip.compress(b"0" * 50_000_000))
    assert len(read_text(gzip.compress(b"0" * 10_000_000))) == 10_000_000


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.txt", tmp_path, tmp_path / "a\0b", Path("/dev/zero")):
        with pytest.raises(FormatError, match="can be read"):
            read_text(path)


def test_jsonl_lines_are_numbered_as_in_the_file() -> None:
    data = '\n{"a": 1}\r\n\n{"a": "\u2028"}\n'.encode()
    assert list(parse_jsonl(read_text(data))) == [(2, {"a": 1}), (4, {"a": "\u2028"})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "early end .*column 8"),
        ('{"a" 1}', "column 6"),
        ("[1, 2]", "one JSON object"),
        ("null", "null"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('{"a": ' + "9" * 5000 + "}", "out of range"),
        ("[" * 100_000, "nested"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\uDFFF": 1}', "surrogate"),
        ('{"a": ["\\u0000"]}', "NUL"),
    ],
)
def test_malformed_jsonl_names_file_and_line(line: str, message: str) -> None:
    data = f'{{"a": 0}}\n\n{line}\n'.encode()
    with pytest.raises(FormatError, match=message) as caught:
        list(parse_jsonl(read_text(data), source="rows.jsonl"))
    assert (caught.value.source, caught.value.line) == ("rows.jsonl", 3)
    assert len(str(caught.value)) < 400


def test_json_over_many_lines() -> None:
    assert parse_json(r'"\ud83d\ude00 \\u0000 \\ud800"') == "😀 \\u0000 \\ud800"
    with pytest.raises(FormatError) as caught:
        parse_json('{\n"a": 1,\n2}', source="x.json")
    assert caught.value.line == 3


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b", b"\xff\xfe", b"\xef\xbb\xbf"]))
def test_any_bytes_are_read_or_refused(data: bytes, head: bytes) -> None:
    with suppress(FormatError):
        assert not {"\0", "\r"} & set(read_text(head + data))
