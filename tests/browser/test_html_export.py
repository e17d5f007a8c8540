"""A tree saved as a page draws itself, asks for nothing and runs nothing that a text brings."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from entail.data.records import Premise
from entail.trees.formats import to_html
from entail.trees.formats.entailment_bank import grow
from entail.trees.layout.appearance import DARK, LIGHT
from entail.trees.log.acts import Create, GivenNode, Reject
from entail.trees.log.tree import Tree, TreeBuilder
from entail.ui.links.route import HEADERS

pytestmark = pytest.mark.browser

URL = "http://localhost:9/tree.html"
EVIL = "</script><script>alert(1)</script><img src=http://example.com/x onerror=alert(2)>"
PAINTED = """colour => {
  const canvas = document.querySelector("#graph canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const wanted = colour.slice(1).match(/../g).map(part => parseInt(part, 16));
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (wanted.every((part, c) => data[i + c] === part)) count += 1;
  return count;
}"""


@pytest.fixture
def tree() -> Tree:
    nodes = (GivenNode("snow is ice", -1), GivenNode(EVIL, 0))
    builder = TreeBuilder(grow(Create(hypothesis="snow is cold", nodes=nodes)))
    builder.apply(Reject(node="n1", premise=Premise(f"fire {EVIL}")), seq=2, author="Ann")
    return builder.freeze(seq=2)


def show(page: Page, tree: Tree) -> list[str]:
    """Open the page of a tree and return the list into which its requests and dialogs go."""
    happened: list[str] = []
    page.on("dialog", lambda dialog: (happened.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: happened.append(request.url))
    page.on("console", lambda message: message.type == "error" and happened.append(message.text))

    def answer(route: Route) -> None:
        # With the headers of a read-only link: a sandbox that may load nothing.
        route.fulfill(body=to_html(tree), headers={**HEADERS, "Content-Type": "text/html"})

    page.route(URL, answer)
    page.goto(URL)
    expect(page.locator("#graph canvas")).to_be_visible()
    return happened


def wait_for_paint(page: Page, colour: str) -> None:
    """Look until the graph shows a colour; the page's policy forbids Playwright's own way to wait."""
    for _ in range(100):
        if page.evaluate(PAINTED, colour) > 500:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{colour} was not painted")


def test_the_graph_is_painted_in_the_readers_theme_and_the_switch_adds_what_was_rejected(
    page: Page, tree: Tree
) -> None:
    page.emulate_media(color_scheme="dark")
    happened = show(page, tree)
    wait_for_paint(page, DARK.looks["premise"].fill)
    page.emulate_media(color_scheme="light")
    for kind in ("hypothesis", "intermediate", "premise"):
        fill = LIGHT.looks[kind].fill  # type: ignore[index]  # one of the kinds, as a str
        wait_for_paint(page, fill)
    assert page.evaluate(PAINTED, LIGHT.looks["rejected"].fill) == 0
    page.get_by_label("Show rejected premises").check()
    wait_for_paint(page, LIGHT.looks["rejected"].fill)
    expect(page.get_by_text(EVIL, exact=True)).to_be_visible()
    assert page.locator("img").count() == 0
    assert happened == [URL]


def test_a_phone_shows_the_whole_tree_above_its_outline(page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 860})
    texts = [f"a premise of some more words than a few, of number {number}" for number in range(24)]
    nodes = tuple(GivenNode(text, (number // 3) - 1) for number, text in enumerate(texts))
    show(page, TreeBuilder(grow(Create(hypothesis="snow is cold", nodes=nodes))).freeze(seq=1))
    wait_for_paint(page, LIGHT.looks["premise"].fill)
    expect(page.get_by_role("heading", name="Outline")).to_be_in_viewport()
