"""SVG pictures."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

from entail.trees.formats import to_svg
from entail.trees.formats.text import printable
from entail.trees.layout.appearance import FONTS, LIGHT
from entail.trees.layout.drawing import Direction
from entail.trees.layout.positions import layout
from entail.trees.log.acts import Finish
from entail.trees.log.tree import Tree

DIRECTIONS: tuple[Direction, ...] = ("right", "down")
SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: ET.Element) -> dict[str, ET.Element]:
    """Title -> group of each node."""
    groups = {}
    for group in svg.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is not None:
            groups[title.text or ""] = group
    return groups


def drawn(group: ET.Element) -> str:
    return "".join("".join(span.text or "" for span in group.iter(f"{SVG}tspan")).split())


def words(text: str) -> str:
    return printable("".join(text.split()))


def test_each_kind_has_its_shape_and_colour(story: Any) -> None:
    assert "fire is hot" not in to_svg(story.tree)
    svg = ET.fromstring(to_svg(story.tree, with_rejected=True))
    shapes = {
        title: [child for child in group if child.tag == f"{SVG}rect"] for title, group in boxes(svg).items()
    }
    assert list(shapes) == [
        "Hypothesis: snow is cold",
        "Intermediate conclusion: snow is ice",
        "Intermediate conclusion: ice is frozen",
        "Premise: water freezes",
        "Rejected premise: fire is hot",
    ]
    (double, inner), (rounded,), _, (plain,), (dashed,) = shapes.values()
    assert double.attrib["fill"] == LIGHT.looks["hypothesis"].fill
    assert float(inner.attrib["width"]) < float(double.attrib["width"])
    assert float(rounded.attrib["rx"]) > 5
    assert rounded.attrib["stroke"] == LIGHT.looks["intermediate"].border
    assert float(plain.attrib["rx"]) < 5
    assert plain.attrib["fill"] == LIGHT.looks["premise"].fill
    assert dashed.attrib["stroke-dasharray"] == "7 4"
    assert dashed.attrib["fill"] == LIGHT.looks["rejected"].fill
    (legend,) = (group for group in svg.iter(f"{SVG}g") if group.get("class") == "legend")
    names = ["Hypothesis", "Intermediate conclusion", "Premise", "Rejected premise"]
    assert [text.text for text in legend.iter(f"{SVG}text")] == names


def test_each_step_has_one_arrow_and_lines_of_rejected_premises_are_dotted(story: Any) -> None:
    svg = ET.fromstring(to_svg(story.tree, with_rejected=True))
    steps = [path for path in svg.iter(f"{SVG}path") if path.get("class", "").startswith("step")]
    dotted = [step for step in steps if "stroke-dasharray" in step.attrib]
    assert (len(steps), len(dotted)) == (4, 1)
    assert dotted[0].get("stroke") == LIGHT.looks["rejected"].border
    assert [step.get("marker-end") for step in steps if step not in dotted] == ["url(#arrow)"] * 3
    assert dotted[0].get("marker-end") is None


def test_a_collapsed_node_has_the_number_of_nodes_below_and_a_finished_one_a_tick(story: Any) -> None:
    story.ann(Finish(node="n3", premises=()))
    svg = ET.fromstring(to_svg(story.tree, collapsed={"n2"}))
    groups = {group.get("data-node"): group for group in svg.iter(f"{SVG}g")}
    assert {id for id in groups if id} == {"n1", "n2"}
    (count,) = (group for group in svg.iter(f"{SVG}g") if group.get("class") == "fold")
    assert [text.text for text in count.iter(f"{SVG}text")] == ["+2"]
    whole = ET.fromstring(to_svg(story.tree))
    ticked = [group for group in whole.iter(f"{SVG}g") if group.find(f"{SVG}g[@class='tick']") is not None]
    assert [group.get("data-node") for group in ticked] == ["n3"]


def test_a_picture_of_a_subtree_and_of_either_direction(story: Any) -> None:
    svg = ET.fromstring(to_svg(story.tree, start="n2"))
    assert svg[0].text == "snow is ice"
    assert len(boxes(svg)) == 3
    sizes = [
        tuple(
            map(float, ET.fromstring(to_svg(story.tree, direction=direction)).attrib["viewBox"].split()[2:])
        )
        for direction in DIRECTIONS
    ]
    assert sizes[0][0] > sizes[1][0]
    assert sizes[0][1] < sizes[1][1]


def test_title_and_description_say_what_the_picture_shows(story: Any) -> None:
    svg = ET.fromstring(to_svg(story.tree, with_rejected=True))
    title, description = svg[0], svg[1]
    assert svg.attrib["aria-labelledby"].split() == [title.get("id"), description.get("id")]
    assert (svg.get("role"), title.text) == ("img", "snow is cold")
    assert (description.text or "").split("\n") == [
        "Hypothesis: snow is cold",
        "  Rejected premise: fire is hot",
        "  Intermediate conclusion: snow is ice",
        "    Intermediate conclusion: ice is frozen",
        "      Premise: water freezes",
    ]


def test_everything_stands_inside_the_view(nasty: Tree) -> None:
    svg = ET.fromstring(to_svg(nasty, with_rejected=True))
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    drawing = layout(nasty, with_rejected=True)
    assert left < 0
    assert drawing.width < left + width
    assert top < 0
    assert drawing.height < top + height
    texts = [element for element in svg.iter() if element.tag in (f"{SVG}tspan", f"{SVG}text")]
    assert all(left < float(e.attrib["x"]) < left + width for e in texts if "x" in e.attrib)
    assert all(top < float(e.attrib["y"]) < top + height for e in texts if "y" in e.attrib)


def test_nothing_is_fetched_or_run(nasty: Tree) -> None:
    text = to_svg(nasty, with_rejected=True)
    svg = ET.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in svg.iter()}
    expected_tags = {"svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text", "tspan"}
    assert tags == expected_tags
    for element in svg.iter():
        for name, value in element.attrib.items():
            assert "href" not in name
            assert not name.startswith("on")
            assert "url(" not in value or value == "url(#arrow)"
    assert svg.get("font-family") == FONTS
    assert re.findall("http[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]


def test_nasty_texts_are_text(nasty: Tree, nasty_texts: tuple[str, ...]) -> None:
    groups = boxes(ET.fromstring(to_svg(nasty, with_rejected=True)))
    labels = {drawn(group) for group in groups.values()}
    assert {words(node.text) for node in nasty.nodes.values()} <= labels
    assert {words(premise.text) for premise in nasty.rejected("n1")} <= labels
    titles = {re.sub("\r\n?", "\n", text) for text in nasty_texts}
    assert titles <= {title.partition(": ")[2] for title in groups}
