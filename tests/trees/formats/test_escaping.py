"""Any text inside another language."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from entail.trees.formats.text import escape_cell, printable, quote_dot

ODD = "\x00\x07\t\n\r\x85\ud800\udfff\ufffe\uffff<&\"'\\ab"
ANY = st.text(alphabet=st.characters()) | st.text(alphabet=ODD)


@given(ANY)
def test_printable_text_can_stand_in_xml_and_in_a_file(text: str) -> None:
    safe_text = printable(text)
    assert len(safe_text) == len(text)
    element = ET.fromstring(f"<t>{safe_text.replace('&', '&amp;').replace('<', '&lt;')}</t>".encode())
    assert (element.text or "") == re.sub("\r\n?", "\n", safe_text)
    assert printable(safe_text) == safe_text


def test_dot_strings() -> None:
    assert quote_dot('say "ice" \\N') == '"say \\"ice\\" \\\\N"'
    assert quote_dot("&lt; & <b>") == '"&amp;lt; &amp; <b>"'
    assert quote_dot("a\nb\r\nc\rd") == '"a\\nb\\nc\\nd"'


@given(ANY)
def test_a_dot_string_ends_where_it_should(text: str) -> None:
    assert re.fullmatch(r'"(?:[^"\\\n]|\\.)*"', quote_dot(text))


def test_what_a_spreadsheet_would_run_gets_an_apostrophe() -> None:
    for text in ("=1", "+1", "-1", "@x", "\tx", "\rx", "\uff1d1", "  =1"):
        assert escape_cell(text) == f"'{text}"
    for hidden in ("\n", "\xa0", "\ufeff", "\u200b", "\u2060", "\u3000", "\xad", "\u202e", "\n \u200b\xa0"):
        assert escape_cell(f"{hidden}=1") == f"'{hidden}=1"
        assert escape_cell(f"{hidden}ice") == f"{hidden}ice"
    for text in ("ice", "a = b", "'quoted'", "", "1-2", " x"):
        assert escape_cell(text) == text
