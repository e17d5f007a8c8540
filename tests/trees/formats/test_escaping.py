"""Any text inside another language."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from entail.trees.formats.text import printable, quote_dot

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
