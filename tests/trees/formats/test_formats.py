"""Each format as its file should be, and with texts that try to be something else."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.records import Corpus, Premise
from entail.data.spreadsheets import escape_cell
from entail.errors import ProofError
from entail.trees.formats import (
    from_jsonl,
    network,
    to_dot,
    to_graphml,
    to_html,
    to_jsonl,
    to_judged_csv,
    to_pairs_csv,
    to_svg,
)
from entail.trees.formats.entailment_bank import grow
from entail.trees.formats.graphs import quote_dot
from entail.trees.formats.text import printable
from entail.trees.layout.positions import layout
from entail.trees.log.acts import (
    Accept,
    Conclude,
    Edit,
    Evidence,
    Finish,
    Proposal,
    Reject,
    Remove,
    ShownCandidate,
    Write,
)
from entail.trees.log.tree import Tree
from tests.trees.formats.conftest import NASTY

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
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_tree_in_each_format(
    story: Any, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.trees.formats.network.vis_script", lambda: "// vis-network")
    story.ann(Finish(node="n3", premises=(SUN,)))
    written = WRITERS[name](story)
    if request.config.getoption("--update"):
        (GOLDEN / name).write_text(written, encoding="utf-8", newline="")
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        assert written == file.read()


def test_lines_of_the_graph_end_in_its_boxes_and_joints(story: Any) -> None:
    drawing = layout(story.tree, with_rejected=True)
    graph = network.to_network(drawing)
    points = {node["id"]: (node["x"], node["y"]) for node in graph.nodes}
    lines = [line for step in drawing.steps for line in step.lines]
    for edge, line in zip(graph.edges, lines, strict=True):
        for id, (x, y) in zip((edge["from"], edge["to"]), line, strict=True):
            box = drawing.boxes.get(id)  # a line to a premise ends somewhere in its box
            inside = box is not None and box.left <= x <= box.right and box.top <= y <= box.bottom
            assert inside or points[id] == (round(x), round(y))
    assert [edge["arrows"] for edge in graph.edges].count("to") == 3


# --- rows and tables ---


def test_many_trees_are_many_rows_and_come_back(story: Any, tmp_path: Path) -> None:
    first = story.tree
    story.ann(Conclude(node="n1", premises=("n2",), text="all ice is cold"))
    text = to_jsonl([first, story.tree])
    (tmp_path / "two.jsonl").write_text(text)
    acts = from_jsonl(tmp_path / "two.jsonl")
    assert [len(act.nodes) for act in acts] == [3, 4]
    assert to_jsonl(map(grow, acts)) == text
    (act, _) = from_jsonl(text.encode(), corpus=Corpus.of("facts", ["water freezes"]))
    assert [node.key is not None for node in act.nodes] == [False, False, True]


def test_a_conclusion_that_the_proof_language_cannot_hold_is_refused(tell: Any) -> None:
    story = tell("h")
    premise = story.ann(Write(node="n1", text="a"))
    story.ann(Conclude(node="n1", premises=(premise,), text="b; sent1 -> int2: c"))
    with pytest.raises(ProofError):
        to_jsonl([story.tree])


def judged(story: Any) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(to_judged_csv({"=t": (story.history, {})}), newline=""))]


def test_judgements_in_force_with_the_text_at_their_time(tell: Any) -> None:
    story = tell("snow is cold")
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


# --- texts that try to be something else ---


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
