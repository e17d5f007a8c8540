"""The keyboard in a real Chromium: each key reaches Python once, and typing stays typing."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.ui.components.inbox import ASSETS
from tests.browser.components.conftest import hears

pytestmark = pytest.mark.browser


def test_digits_letters_and_signs_reach_python(story: Any, said: Any) -> None:
    for key in ("Digit3", "Shift+Digit3", "u", "U", "Shift+?", "ArrowDown", "q", "Control+u", "Alt+3"):
        story.page.keyboard.press(key)
    said(pressed="3@n1 shift+3@n1 u@n1 u@n1 ?@n1 down@n1")


def test_keys_of_other_keyboards(story: Any, said: Any) -> None:
    script = "event => document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, ...event}))"
    for event in (
        {"key": "#", "code": "Digit3", "shiftKey": True},
        {"key": "\u00e9", "code": "Digit2"},  # French: digits need Shift
        {"key": "\u0433", "code": "KeyU"},  # Cyrillic
        {"key": "4", "code": "Numpad4"},
        {"key": "4", "code": "Numpad4", "shiftKey": True},
        {"key": "PageDown", "code": "Numpad3", "modifierNumLock": True},  # Windows: Shift and 3
        {"key": "ArrowUp", "code": "Numpad8"},
        {"key": "?", "code": "Minus", "ctrlKey": True, "altKey": True, "modifierAltGraph": True},
        {"key": "3", "code": "Digit3", "isComposing": True},
    ):
        story.page.evaluate(script, event)
    said(pressed="shift+3@n1 2@n1 u@n1 4@n1 shift+4@n1 shift+3@n1 up@n1 ?@n1")


def test_r_is_ours_and_not_streamlits(story: Any, said: Any) -> None:
    def runs() -> int:
        return int(story.page.get_by_text("runs=").inner_text().split("runs=")[1].split(";")[0])

    before = runs()
    for count in (1, 2):
        story.page.keyboard.press("r")
        said(pressed=" ".join(["r@n1"] * count))
        story.page.wait_for_timeout(500)
        assert runs() == before + count


def test_stamp_is_that_of_what_was_on_the_screen(story: Any, said: Any) -> None:
    story.page.keyboard.press("1")
    said(pressed="1@n1")
    story.click("n1.3")
    said(selected="n1.3")
    hears(story.page, "n1.3")
    story.page.keyboard.press("1")
    said(pressed="1@n1 1@n1.3")


def test_typing_in_a_field_is_typing(story: Any, said: Any) -> None:
    words = story.page.get_by_role("textbox", name="words")
    words.click()
    story.page.keyboard.type("3u?r")
    words.press("Enter")
    find = story.root.get_by_label("Find in tree")
    find.click()
    story.page.keyboard.type("u2")
    expect(find).to_have_value("u2")
    find.blur()
    story.page.keyboard.press("5")
    said(pressed="5@n1")


def test_a_dialog_has_the_keys_to_itself(story: Any, said: Any) -> None:
    story.page.get_by_role("button", name="ask").click()
    dialog = story.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    story.page.keyboard.press("3")
    story.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    story.page.keyboard.press("4")
    said(pressed="4@n1")


def test_a_key_held_down_counts_once_and_an_arrow_goes_on(story: Any, said: Any) -> None:
    keyboard = story.page.keyboard
    for key in ("u", "u", "u", "ArrowDown", "ArrowDown"):
        keyboard.down(key)
    said(pressed="u@n1 down@n1 down@n1")


LOST = """async (source) => {
  const Outbox = new Function(source + "; return Outbox;")();
  Outbox.LOOK = 10;
  const outbox = new Outbox(), sent = [];
  const hear = (name, value) => sent.push(value.messages.map((message) => message.key).join());
  const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const count = async (most) => { for (let i = 0; i < 1000 && sent.length < most; i++) await later(10); };
  outbox.connect(hear, null);
  outbox.send({ key: "2" });
  await count(2);
  const again = sent.length;
  outbox.send({ key: "u" });
  outbox.connect(hear, { mount: outbox.mount, seen: 2 });
  const before = sent.length;
  await later(100);
  const quiet = sent.length === before;
  outbox.send({ key: "3" });
  await count(before + 6);
  await later(100);
  const tries = sent.length - before;
  const app = document.body.appendChild(document.createElement("div"));
  app.dataset.testScriptState = "running";
  outbox.send({ key: "4" });
  await later(200);
  const busy = sent.length - before - tries;
  return { again, quiet, tries, busy, last: sent[before + tries - 1], together: sent[before - 1] };
}"""


def test_a_message_that_was_lost_is_sent_again_until_it_is_acknowledged(page: Page) -> None:
    source = (ASSETS / "outbox.js").read_text(encoding="utf-8")
    report = page.evaluate(LOST, source)
    assert report["again"] >= 2
    assert report["together"] == "2,u"
    assert report["quiet"]
    assert (report["tries"], report["last"]) == (6, "3")
    assert report["busy"] == 1  # a script that runs is left in peace
