"""WCAG 2.2 AA on every page in both themes, by axe-core; buttons have clear names; charts do not warn."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from entail.ui.frame.shell import PAGES

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
RULES = {"runOnly": TAGS, "rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}

BRUSH = "target => document.querySelector(target)?.matches('[class*=brush_brush]')"
"""Whether a target is part of an empty brush, which Vega draws as two rectangles without a name."""

BUSY = ", ".join(f'[data-testid="st{name}"]' for name in ("Spinner", "Skeleton")) + ", [data-stale=true]"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
STILL = """
  *, *::before, *::after { transition: none !important; animation: none !important; }
  [data-stale="true"] { opacity: 1 !important; }
"""
"""Styles without motion, and without what Streamlit dims for the moment of a run."""


pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Screen:
    """Part of a page: its address, where `{tree}` is an example tree, and steps from there."""

    path: str
    open: Callable[[Page], object] = lambda page: None


def settle(page: Page) -> None:
    """Wait until nothing on the page is old or on its way."""
    page.wait_for_timeout(250)  # a run may follow another, and the theme is told to the server
    expect(page.locator('.stApp[data-test-script-state="notRunning"]')).to_be_attached()
    expect(page.locator(BUSY)).to_have_count(0)


def see(selector: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_be_visible()


def choose(name: str, selector: str | None = None) -> Callable[[Page], None]:
    """Return the step that chooses a view and waits for something in it."""

    def step(page: Page) -> None:
        page.get_by_role("radio", name=name, exact=True).click()
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
        if selector:
            see(selector)(page)

    return step


def click(button: str, selector: str) -> Callable[[Page], None]:
    def step(page: Page) -> None:
        page.locator(f".st-key-{button} button").first.click()
        see(selector)(page)

    return step


CHART = '[data-testid="stVegaLiteChart"] :is(svg, canvas)'
ADDRESSES = ["Home", *(Path(record.path).stem for record in PAGES if record.path.startswith("pages/"))]
SCREENS = {
    **{name: Screen("/" if name == "Home" else f"/{name}") for name in ADDRESSES},
    "tree": Screen("/Trees?tree={tree}", see('[class*="st-key-row-"]')),
    "outline": Screen("/Trees?tree={tree}", choose("Outline", '[role="treeitem"]')),
    "dialog": Screen("/Trees?tree={tree}", click("tool-write", '[role="dialog"] :is(input, textarea)')),
    "Compare": Screen("/Compare?mode=query&left=tfidf&right=minilm", see(CHART)),
    "lists": Screen("/Compare?mode=query&left=tfidf&right=minilm", choose("Side by side", "table.ranked")),
    "split": Screen("/Compare?mode=split&left=tfidf&right=bm25", see('[data-testid="stDataFrame"]')),
    "bias": Screen("/Compare?mode=bias&left=tfidf&right=minilm", see(CHART)),
    "Direction": Screen("/Direction", see(CHART)),
    "Chains": Screen("/Chains", see('[class*="chain-"]')),
    "Claims": Screen("/Claims?left=tfidf&right=bm25", see("table.ranked .says")),
    "training": Screen("/Models?models_view=Training"),
    "hub": Screen("/Models?models_view=Hub"),
}


@pytest.fixture(scope="module")
def context(one_context: BrowserContext, url: str) -> BrowserContext:
    page = one_context.new_page()
    page.goto(url)  # seeds the database
    page.evaluate("localStorage.setItem('entail.author', 'Ada')")
    page.reload()
    expect(page.get_by_text("Not you?")).to_be_visible()
    page.close()
    return one_context


@pytest.fixture(scope="module")
def tree(context: BrowserContext, folder: Path) -> str:
    """Return the id of an example tree of a few steps."""
    with closing(open_database(f"sqlite:///{folder / 'entail.db'}")) as database:
        long_trees = [entry for entry in TreeLog(database).trees() if entry.steps > 2]
    return min(long_trees, key=lambda entry: entry.premises).id


@pytest.fixture
def warnings(page: Page) -> list[str]:
    """Return the warnings of Vega so far."""
    messages: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.text.startswith("WARN"):
            messages.append(message.text)

    page.on("console", note)
    return messages


def unclear_names(page: Page) -> list[str]:
    """Return the accessible names of the pages' own buttons and links that say no verb or no object."""
    own = page.locator('[data-testid^="stBaseButton"], [data-testid="stPageLink-NavLink"]')
    snapshots = [entry.aria_snapshot() for entry in own.all()]  # empty for what is folded away
    names = [re.sub(r'^- \w+ ?|[":]', "", text.splitlines()[0]) for text in snapshots if text]
    return [name for name in names if re.fullmatch(r"(\w+ )*icon|(\w+ icon )?(\d+|Open)?", name)]


def violations(page: Page) -> list[str]:
    broken_rules = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
    return [
        f"{rule['id']} at {node['target']}: {node['html'][:200]}\n    {node['failureSummary']}"
        for rule in broken_rules
        for node in rule["nodes"]
        if not (rule["id"] == "svg-img-alt" and page.evaluate(BRUSH, node["target"][-1]))
    ]


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_keeps_to_wcag_in_both_themes(
    page: Page, url: str, tree: str, warnings: list[str], name: str
) -> None:
    screen = SCREENS[name]
    page.goto(url + screen.path.format(tree=tree))
    settle(page)  # what moves below the mouse shows its tooltip, which lies over what is to be clicked
    screen.open(page)
    page.add_style_tag(content=STILL)
    page.mouse.move(0, 0)
    settle(page)
    assert not unclear_names(page)
    page.evaluate(AXE)
    failures: list[str] = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        expect(page.locator(".stApp")).to_have_css("color-scheme", theme)
        settle(page)
        if violations(page):
            # A run that began meanwhile dims the header of an expander; what stays is a violation.
            settle(page)
            failures += [f"{theme}: {violation}" for violation in violations(page)]
    if failures:
        pytest.fail("\n".join([f"{name}:", *failures]), pytrace=False)
    assert not warnings


def test_an_accepted_premise_is_announced(page: Page, url: str, folder: Path) -> None:
    with closing(open_database(f"sqlite:///{folder / 'entail.db'}")) as database:
        own = TreeLog(database).create(Create(hypothesis="ice floats"), author="Ada", corpus_id=SAMPLE_ID)
    page.goto(f"{url}/Trees?tree={own}")
    region = page.get_by_role("status").filter(has_text="Saved: Ada")
    expect(region).to_have_text(re.compile("started the tree"))
    page.get_by_role("button", name="Accept: ").first.click()
    expect(region).to_have_text(re.compile("accepted"))


STOPS = 25
"""Presses of the tabulator on a page."""

LOOK = """async () => {
  let one = document.activeElement;
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  if (one === null || one === document.body || one.tagName === "IFRAME") return null;
  const around = new Set([one, ...(one.closest("label")?.querySelectorAll("*") ?? [])]);
  for (let parent = one, level = 0; parent !== null && level < 5; parent = parent.parentElement, level++)
    around.add(parent);
  const canvas = one.closest("canvas");  // of a table, which draws the frame of the cell that has the focus
  const look = () => JSON.stringify([canvas?.toDataURL(), ...[...around].map((each) => {
    const style = getComputedStyle(each);
    const outline = style.outlineStyle === "none" ? "" : style.outlineWidth + style.outlineColor;
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor, style.textDecorationLine];
  })]);
  const focused = look();
  one.blur();
  // React draws some of it, a canvas is drawn a little later.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, canvas ? 200 : 0)));
  const plain = look();
  one.focus({ focusVisible: true });
  return { name: one.outerHTML.slice(0, 200), visible: focused !== plain };
}"""
"""Returns the element that has the focus, and whether it or what is around it looks otherwise without it."""


@pytest.mark.parametrize(
    ("name", "theme"),
    [*((name, "light") for name in ("Home", "tree", "outline", "Compare", "Models")), ("tree", "dark")],
)
def test_the_focus_is_visible_wherever_the_tabulator_leads(
    page: Page, url: str, tree: str, name: str, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    screen = SCREENS[name]
    page.goto(url + screen.path.format(tree=tree))
    settle(page)
    screen.open(page)
    page.add_style_tag(content=STILL)
    settle(page)
    stops = []
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        if (stop := page.evaluate(LOOK)) is not None:
            stops.append(stop)
    assert len({stop["name"] for stop in stops}) >= 10
    if unseen := [stop["name"] for stop in stops if not stop["visible"]]:
        pytest.fail("\n".join(unseen), pytrace=False)
