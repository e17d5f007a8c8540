"""HTML is taken out of passages; what only looks like it stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.passages.html import without_tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<article>One <sup>2</sup> <u>three</u></article>", "One 2 three"),
        ('<img src="a.png"/>', ""),
        ("<img src=a.png alt='x y'>", ""),
        ("<section></section>", ""),
        ("<input disabled>", ""),
        ("<title>Ice</title><article>wa<!-- -->ter", "Ice water"),
        ("AT&amp;T&nbsp;rocks", "AT&T rocks"),
        ("&#65;&#x42;&eacute;", "AB\u00e9"),
        ("<!doctype html><pre>x</pre>", "x"),
        ("<dl><dt>a</dt><dd>b</dd></dl>", "a b"),
        ("Ice <!-- a <b> note -->is cold", "Ice is cold"),
        ("H<sub>2</sub>O is <a href='/w?a=1&b=2'>water</a>.", "H2O is water."),
        ("<p>if a<b and c>d & AT&T<br>then</p>", "if a<b and c>d & AT&T then"),
        ("<script>if (a<b) x()</script>Ice<style>p {}</style>", "Ice"),
        ("cut off</div>", "cut off"),
        ("Ice <script src=a.js>is <b>cold</b>", "Ice is cold"),
        ("a<script>b</script>c<style>d<script>e</style>f<script>g", "a c f g"),
        ("<P CLASS=x>Ice</P>", "Ice"),
        ("&lt;b&gt; makes <b>bold</b>", "<b> makes bold"),
    ],
)
def test_html_is_taken_out(text: str, expected: str) -> None:
    assert without_tags(text) == (expected, True)


@pytest.mark.parametrize(
    "text",
    [
        "a < b > c",
        "if a <b and c> d",
        "a<b, b>c",
        "x <i and j> y",
        "cp <source> <dest>",
        "vector<int> v; map<string, int> m;",
        "mail <ann@example.org>, see <https://example.org/a>",
        "AT&T, R&D; Q&A;",
        "?a=1&copy=2&lt=3",
        "&nosuch; &;",
        "<3 and <!-- not closed",
        "two  blanks\nand a line",
    ],
)
def test_what_only_looks_like_html_stays(text: str) -> None:
    assert without_tags(text) == (text, False)


@given(st.text(alphabet="ab <>/&;=\"'!-p"))
def test_only_what_is_html_is_changed(text: str) -> None:
    cleaned, html = without_tags(text)
    assert html or cleaned == text
