"""Each format as its file should be (`pytest --update` writes it), hostile texts in it, and conversion."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.records import Premise
from entail.data.spreadsheets import escape_cell
from entail.errors import DataError, FormatError, ProofError
from entail.trees.formats import (
    from_jsonl,
    to_dot,
    to_graphml,
    to_html,
    to_jsonl,
    to_judged_csv,
    to_pairs_csv,
    to_svg,
    to_text,
)
from entail.trees.formats.convert import Conversion, convert
from entail.trees.formats.entailment_bank import grow, read_review
from entail.trees.formats.graphs import quote_dot
from entail.trees.formats.text import printable
from entail.trees.log.acts import (
    Accept,
    Conclude,
    Create,
    Edit,
    Event,
    Evidence,
    Finish,
    GivenNode,
    Proposal,
    Reject,
    Remove,
    ShownCandidate,
    Write,
)
from entail.trees.log.replay import replay
from entail.trees.log.tree import Review, Tree, TreeBuilder
from tests.trees.conftest import Story

NASTY = (
    "she said \"ice\" and 'cold'",
    "<script>alert(1)</script>",
    "</script></style></title><img src=x onerror=alert(1)>",
    "]]> & &lt; &amp; &#60; <!-- not a comment -->",
    "back\\slash \\N \\l ends in one \\",
    'ends in a quote and a backslash \\"',
    "two\nlines\r\nor three",
    "emoji \U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 and \u2028 a line separator",
    "\u0627\u0644\u062c\u0644\u064a\u062f \u0645\u0627\u0621 \u0645\u062a\u062c\u0645\u062f",
    "=HYPERLINK(1)",
    "{{ braces }} ${ more } %s {0}",
    "a bell \x07, a lone surrogate \ud800, a form feed \x0c",
    "w" * 2000,
    "long words " * 200,
)
"""Texts that try to be something else."""


@pytest.fixture
def nasty() -> Tree:
    """Return a tree in which each nasty text is a node, and rejected with a "not" before it."""
    nodes = tuple(GivenNode(text, i - 1 - i % 2) for i, text in enumerate(NASTY[1:-1]))
    builder = TreeBuilder(grow(Create(hypothesis=NASTY[0], nodes=(*nodes, GivenNode(NASTY[-1], None)))))
    for seq, text in enumerate(NASTY, start=2):
        builder.apply(Reject(node="n1", premise=Premise(f"not {text}")), seq=seq, author="Ann <ann@x>")
    return builder.freeze(seq=99)


@pytest.fixture
def story() -> Any:
    """Snow: n2 accepted, n3 written below it, n4 accepted below n3; "fire is hot" rejected for n1."""
    story = Story("snow is cold")
    story.ann(Accept(node="n1", premise=Premise("snow is ice", "uid-1")))
    story.ann(Write(node="n2", text="ice is frozen"))
    story.bob(Accept(node="n3", premise=Premise("water freezes")))
    story.bob(Reject(node="n1", premise=Premise("fire is hot")))
    return story


GOLDEN = Path(__file__).parent / "golden"
SNOW, FIRE, SUN = (Premise(text) for text in ("snow is ice", "fire is hot", "the sun is hot"))
CANDIDATES = (ShownCandidate(SNOW.key, 1, 0.75), ShownCandidate(FIRE.key, 2, 0.5))
SEEN = Evidence(
    retriever="minilm", revision="rev 1", corpus_version=4, query="cold", own_words=True, shown=CANDIDATES
)
NEXT = Proposal(means="next", after=(SNOW.key, SUN.key), k=60, among="minilm@1")
PROPOSED = replace(SEEN, shown=tuple(replace(c, retrieved=5 - c.rank) for c in CANDIDATES), proposal=NEXT)

WRITERS: dict[str, Callable[[Any], str]] = {
    "tree.jsonl": lambda story: to_jsonl([story.tree]),
    "pairs.csv": lambda story: to_pairs_csv({"1": story.tree, "2": story.tree}),
    "judged.csv": lambda story: to_judged_csv({"t": (story.history, {2: SEEN, 5: PROPOSED, 6: SEEN})}),
    "tree.dot": lambda story: to_dot(story.tree),
    "tree.graphml": lambda story: to_graphml(story.tree),
    "right.svg": lambda story: to_svg(story.tree, with_rejected=True, direction="right"),
    "down.svg": lambda story: to_svg(story.tree, direction="down"),
    "part.svg": lambda story: to_svg(story.tree, start="n2"),
    "page.html": lambda story: to_html(story.tree, note="As of today."),
    "tree.txt": lambda story: to_text(story.tree),
}
REVIEW = Review("t", "Snow", 3, 0, "Rita", "accepted", "Rita <r>", datetime(2026, 11, 30, 9, 5, tzinfo=UTC))


@pytest.mark.parametrize("name", WRITERS)
def test_a_reviewed_tree_in_each_format(
    story: Any, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.trees.formats.network.vis_script", lambda: "// vis-network")
    story.ann(Finish(node="n3", premises=(SUN,)))
    story.history = story.history.marked(REVIEW)
    written = WRITERS[name](story)
    if request.config.getoption("--update"):
        (GOLDEN / name).write_text(written, encoding="utf-8", newline="")
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        assert written == file.read()


def test_the_review_of_a_row_is_that_of_today(story: Any) -> None:
    text = to_jsonl([story.history.marked(REVIEW).tree])
    (act,) = from_jsonl(text.encode(), name="trees.jsonl")
    assert grow(act).review == REVIEW
    assert to_jsonl([grow(act)]) == text, "a conversion keeps it"
    imported = replay([Event(seq=1, author="Ann", at=REVIEW.at, act=act)]).tree
    for review, rows in ((None, {}), (replace(REVIEW, state="sent back"), {"state": "sent back"})):
        row = json.loads(to_jsonl([replace(imported, review=review)])).get("review", {})
        assert {name: row[name] for name in row if name in rows or not rows} == rows
    row = json.loads(text) | {"review": "by another program"}
    (act,) = from_jsonl(json.dumps(row).encode(), name="trees.jsonl")
    assert json.loads(to_jsonl([grow(act)])) == row
    for damaged in ({}, {"review": 7}, {"review": {**REVIEW.to_json(), "at": "soon"}}):
        assert read_review(damaged) is None


def judged(story: Any) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(to_judged_csv({"=t": (story.history, {})}), newline=""))]


def test_judgements_in_force_with_the_text_at_their_time() -> None:
    story = Story("snow is cold")
    story.ann(Accept(node="n1", premise=SNOW))
    story.ann(Conclude(node="n1", premises=("n2",), text="snow is frozen"))
    story.ann(Edit(node="n1", text="snow is icy"))
    story.ann(Reject(node="n1", premise=FIRE))
    assert [(row["node"], row["query"]) for row in judged(story)] == [
        ("n1", "snow is cold"),
        ("n1", "snow is icy"),
    ]
    story.ann(Remove(node="n2"))
    assert [row["premise"] for row in judged(story)] == [FIRE.text]
    story.undo()
    story.undo()
    assert [row["premise"] for row in judged(story)] == [SNOW.text]


def words(text: str | None) -> str:
    return printable("".join((text or "").split()))


def drawn_texts(nasty: Tree) -> set[str]:
    return {words(node.text) for node in nasty.nodes.values()}


def test_svg_fetches_and_runs_nothing(nasty: Tree) -> None:
    text = to_svg(nasty, with_rejected=True)
    svg = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    tags = ["svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text", "tspan"]
    assert {element.tag.removeprefix(space) for element in svg.iter()} == set(tags)
    for name, value in (item for element in svg.iter() for item in element.attrib.items()):
        assert not re.search("href|^on", name)
        assert "url(" not in value or value == "url(#arrow)"
    assert re.findall("http[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]
    labels = {words("".join(element.itertext())) for element in svg.iter(f"{space}text")}
    titles = {words(element.text).partition(":")[2] for element in svg.iter(f"{space}title")}
    assert drawn_texts(nasty) | {words(f"not {text}") for text in NASTY} <= labels & titles
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    for element in svg.iter(f"{space}tspan"):
        assert left < float(element.attrib["x"]) < left + width
        assert top < float(element.attrib["y"]) < top + height


class Page(HTMLParser):
    """Tags, attributes and texts of a page; what is open must be closed in turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.texts = [("", "")]
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes |= {name for name, _ in attrs}
        self.open += [] if tag in ("meta", "input") else [tag]
        self.texts.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[-1] = (self.texts[-1][0], self.texts[-1][1] + data)


def test_html_fetches_and_runs_nothing_else(nasty: Tree) -> None:
    html = to_html(nasty)
    page = Page(html)
    names = "html head meta title style body main h1 h2 div ul li span p script noscript button label input"
    assert {tag for tag, _ in page.texts[1:]} == set(names.split())
    assert not [name for name in page.attributes if name in ("src", "href", "style") or name.startswith("on")]
    assert not re.search(r"cdn|cloudflare|jsdelivr|bootstrap|@import", html)
    rejected = {words(f"not {text}") for text in NASTY}
    assert drawn_texts(nasty) | rejected <= {words(text) for tag, text in page.texts if tag == "span"}
    assert [tag for tag, _ in page.texts].count("script") == 2
    assert "input" not in [tag for tag, _ in Page(to_html(nasty, with_rejected=False)).texts]


def test_other_formats_hold_nasty_texts(nasty: Tree) -> None:
    row = json.loads(to_jsonl([nasty]))
    meta = row["meta"]
    sentences = {row["hypothesis"], *meta["triples"].values(), *meta["intermediate_conclusions"].values()}
    (loose,) = nasty.loose
    assert drawn_texts(nasty) - {words(nasty.nodes[loose].text)} <= {words(text) for text in sentences}
    dot = to_dot(nasty)
    labels = re.findall(r'label="((?:[^"\\\n]|\\[^\n])*)"', dot)
    unescaped = [re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label) for label in labels]
    assert drawn_texts(nasty) <= {words(label.replace("&amp;", "&")) for label in unescaped}
    graph = nx.parse_graphml(to_graphml(nasty).partition("?>")[2])
    assert drawn_texts(nasty) <= {words(text) for _, text in graph.nodes(data="text")}
    rows = [*csv.DictReader(io.StringIO(to_pairs_csv({"=t": nasty}), newline=""))]
    edges = [(node.text, nasty.nodes[child].text) for node in nasty.nodes.values() for child in node.children]
    expected = sorted((escape_cell(parent), escape_cell(child)) for parent, child in edges)
    assert sorted((row["parent"], row["child"]) for row in rows) == expected
    assert {row["tree"] for row in rows} == {"'=t"}


ANY = st.text(alphabet=st.characters()) | st.text(
    alphabet="\x00\x07\t\n\r\x85\ud800\udfff\ufffe\uffff<&\"'\\ab"
)


@given(ANY)
def test_any_text_can_stand_in_xml_and_in_dot(text: str) -> None:
    safe_text = printable(text)
    assert len(safe_text) == len(text)
    element = ET.fromstring(f"<t>{safe_text.replace('&', '&amp;').replace('<', '&lt;')}</t>".encode())
    assert (element.text or "") == re.sub("\r\n?", "\n", safe_text)
    assert re.fullmatch(r'"(?:[^"\\\n]|\\.)*"', quote_dot(text))


def row(hypothesis: str, proof: str, *texts: str, id: str = "r") -> str:
    meta = {"triples": {f"sent{i}": text for i, text in enumerate(texts, start=1)}}
    return json.dumps({"id": id, "hypothesis": hypothesis, "proof": proof, "meta": meta}) + "\n"


MELTS = "sent1 -> int1: warm ice melts; int1 & sent2 -> hypothesis; "
TWO = row("snow is cold", "sent1 & sent2 -> hypothesis; ", "snow is ice", "ice is cold", "fire is hot") + row(
    "ice melts", MELTS, "it is warm", "ice is ice", id="../x"
)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.jsonl"
    file.write_text(TWO)
    return file


def texts(file: Path) -> list[tuple[str, str]]:
    return [(r["hypothesis"], r["proof"]) for r in map(json.loads, file.read_text().splitlines())]


def test_jsonl_and_csv_hold_all_trees_or_a_row_and_other_formats_a_tree_a_file(
    two: Path, tmp_path: Path
) -> None:
    packed, plain = tmp_path / "out.JSONL.gz", tmp_path / "plain.jsonl"
    assert convert(two, packed) == Conversion(2, (packed,))
    plain.write_text("what was there")
    for row, rows in ((None, slice(None)), (2, slice(1, 2))):
        assert convert(packed, plain, row=row) == Conversion(len(texts(two)[rows]), (plain,))
        assert texts(plain) == texts(two)[rows]
    with pytest.raises(DataError):
        convert(two, plain, row=3)
    convert(two, tmp_path / "out.csv.gz")
    with gzip.open(tmp_path / "out.csv.gz", "rt", newline="") as file:
        pairs = [(r["tree"], r["parent"], r["child"]) for r in csv.DictReader(file)]
    assert pairs[1:3] == [("1", "snow is cold", "ice is cold"), ("2", "ice melts", "warm ice melts")]
    for suffix in (".svg", ".dot", ".html", ".graphml"):
        done = convert(two, tmp_path / f"out{suffix}")
        assert done == Conversion(2, (tmp_path / f"out-001{suffix}", tmp_path / f"out-002{suffix}"))
        for path, hypothesis in zip(done.files, ("snow is cold", "ice melts"), strict=True):
            assert hypothesis in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("two.jsonl", "out.pdf", FormatError),
        ("two.jsonl", "out", FormatError),
        ("two.jsonl", "out.svg.gz", FormatError),
        ("two.graphml", "out.jsonl", FormatError),
        ("none.jsonl", "out.jsonl", FormatError),
        ("cut.jsonl", "out.jsonl", FormatError),
        ("unknown.jsonl", "out.jsonl", ProofError),
        ("two.jsonl", "away/out.jsonl", DataError),
        ("two.jsonl", "folder.jsonl", DataError),
    ],
)
def test_what_cannot_be_converted_leaves_nothing(
    two: Path, tmp_path: Path, source: str, target: str, error: type[Exception]
) -> None:
    (tmp_path / "cut.jsonl").write_text(TWO + "{oops\n")
    (tmp_path / "unknown.jsonl").write_text(row("h", "sent9 -> hypothesis; ", "a"))
    (tmp_path / "folder.jsonl").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error):
        convert(tmp_path / source, tmp_path / target)
    assert sorted(tmp_path.iterdir()) == before
