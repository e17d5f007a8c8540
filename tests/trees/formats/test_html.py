"""Pages that work offline."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

from entail.trees.formats import to_html
from entail.trees.formats.entailment_bank import grow
from entail.trees.formats.text import printable
from entail.trees.layout.appearance import DARK, LIGHT
from entail.trees.layout.drawing import Direction
from entail.trees.layout.positions import layout
from entail.trees.log.acts import Create
from entail.trees.log.tree import Tree

VOID = {"meta", "input"}


class Page(HTMLParser):
    """A page as a browser takes it apart; what is open must be closed in turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.sentences: list[tuple[int, str]] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "span" and dict(attrs).get("dir") == "auto":
            self.sentences.append((self.open.count("ul"), ""))
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        self.texts[self.open[-1]][-1] += data
        if self.open[-1] == "span" and self.tags[-1][1].get("dir") == "auto":
            depth, text = self.sentences[-1]
            self.sentences[-1] = (depth, text + data)

    def constant(self, name: str) -> Any:
        """Return what the page's own script holds under this name."""
        match = re.search(rf"^const {name} = (.*);$", self.texts["script"][1], re.MULTILINE)
        assert match
        return json.loads(match[1])


def boxes(drawing: Any) -> list[Any]:
    return [node for node in drawing["nodes"] if not node["group"].endswith("step")]


def test_the_graph_is_drawn_where_the_layout_says(story: Any) -> None:
    page = Page(to_html(story.tree))
    without, with_ = page.constant("drawings")
    drawing = layout(story.tree)
    assert [(n["id"], n["x"], n["y"], n["group"]) for n in boxes(without)] == [
        (id, round(p.x), round(p.y), p.kind) for id, p in drawing.boxes.items()
    ]
    lines = [line for step in drawing.steps for line in (*step.rails, *([step.stem] if step.stem else []))]
    points = {node["id"]: (node["x"], node["y"]) for node in without["nodes"]}
    for edge, line in zip(without["edges"], lines, strict=True):
        for id, (x, y) in zip((edge["from"], edge["to"]), line, strict=True):
            box = drawing.boxes.get(id)  # a line to a premise ends somewhere in its box
            inside = box is not None and box.left <= x <= box.right and box.top <= y <= box.bottom
            assert inside or points[id] == (round(x), round(y))
    ends = {edge[end] for edge in without["edges"] for end in ("from", "to")}
    assert {id for id in drawing.boxes if id != "n1"} <= ends
    assert [edge["arrows"] for edge in without["edges"]].count("to") == 3
    assert [n["group"] for n in boxes(with_)].count("rejected") == 1
    assert {edge.get("dashes") == [2, 4] for edge in with_["edges"]} == {True, False}
    assert page.constant("options")["physics"] == {"enabled": False}


def test_the_direction_can_be_chosen(story: Any) -> None:
    directions: tuple[Direction, ...] = ("right", "down")
    for direction in directions:
        (drawing, _) = Page(to_html(story.tree, direction=direction)).constant("drawings")
        placed_boxes = layout(story.tree, direction=direction).boxes
        assert [(n["x"], n["y"]) for n in boxes(drawing)] == [
            (round(p.x), round(p.y)) for p in placed_boxes.values()
        ]


def test_both_themes_are_in_the_page(story: Any) -> None:
    html = to_html(story.tree)
    themes = Page(html).constant("themes")
    for name, theme in (("light", LIGHT), ("dark", DARK)):
        groups = themes[name]
        assert groups["premise"]["color"]["background"] == theme.looks["premise"].fill
        assert groups["premise"]["shapeProperties"] == {"borderRadius": 3, "borderDashes": False}
        assert groups["intermediate"]["shapeProperties"]["borderRadius"] > 0
        assert groups["rejected"]["shapeProperties"]["borderDashes"] == [7, 4]
        assert groups["rejected-step"]["color"]["border"] == theme.looks["rejected"].border
        assert theme.background in html


def test_the_switch_is_there_only_if_something_was_rejected(story: Any) -> None:
    assert any(tag == "input" for tag, _ in Page(to_html(story.tree)).tags)
    for html in (to_html(story.tree, with_rejected=False), to_html(grow(Create(hypothesis="h")))):
        page = Page(html)
        assert not any(tag == "input" for tag, _ in page.tags)
        assert len(page.constant("drawings")) == 1
        assert "fire is hot" not in html


def test_the_outline_says_the_tree_in_words(story: Any) -> None:
    page = Page(to_html(story.tree))
    assert page.sentences == [
        (1, "snow is cold"),
        (2, "fire is hot"),
        (2, "snow is ice"),
        (3, "ice is frozen"),
        (4, "water freezes"),
    ]


def test_nothing_is_fetched(nasty: Tree) -> None:
    html = to_html(nasty)
    page = Page(html)
    names = "html head meta title style body main h1 h2 div ul li span p script noscript button label input"
    assert {tag for tag, _ in page.tags} == set(names.split())
    for _, attributes in page.tags:
        assert not {"src", "href", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert (
        policy == "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    )
    assert not re.search(r"cdn|cloudflare|jsdelivr|bootstrap", html)
    assert "@import" not in html
    assert not re.search(r"url\(", "".join(page.texts["style"]))


def test_nasty_texts_are_text(nasty: Tree, nasty_texts: tuple[str, ...]) -> None:
    page = Page(to_html(nasty))
    sentences = {text for _, text in page.sentences}
    assert set(nasty_texts) <= sentences
    assert {f"not {text}" for text in nasty_texts} <= sentences
    assert len(page.texts["script"]) == 2
    assert page.texts["title"] == [nasty_texts[0]]
    labels = {"".join(node["label"].split()) for node in page.constant("drawings")[1]["nodes"]}
    assert {printable("".join(node.text.split())) for node in nasty.nodes.values()} <= labels
