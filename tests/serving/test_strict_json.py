import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import ServingError
from entail.serving.strict_json import parse, printable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_what_is_json_is_read_as_json(value: object, ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode(), nesting=50) == value


@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:\\ue1dNaI-.0 ', max_size=40).map(str.encode))
def test_anything_is_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(ServingError):
        parse(body, nesting=4)


def test_depth_is_counted_outside_of_texts() -> None:
    assert parse(b'[["[[[[\\"[[[["]]', nesting=2) == [['[[[["[[[[']]
    with pytest.raises(ServingError, match="at most 2 deep"):
        parse(b"[[[]]]", nesting=2)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": 1, "a": 1}', "twice"),
        (b'[{"b": {"a": 1, "a": 2}}]', "twice"),
        (b"[NaN]", "NaN"),
        (b"[1e999]", "beyond all bounds"),
        (b"9" * 5000, "beyond all bounds"),
        (b'["\\ud800"]', "surrogate"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b"", "empty"),
        (b"\xff", "UTF-8"),
        (b"[1,]", "line 1, column"),
    ],
)
def test_what_could_be_taken_for_two_things_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(ServingError, match=words):
        parse(body, nesting=9)


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert parse(b'["\\ud83d\\ude00"]', nesting=2) == ["\U0001f600"]


def test_a_clients_words_are_short_and_printable() -> None:
    assert printable("x" * 100) == "x" * 60 + "…"
    assert printable("a\x00\ud800\n") == r"a\x00\ud800\n"
