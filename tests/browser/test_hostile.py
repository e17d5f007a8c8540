"""Trouble between people and files, in a real Chromium: a colleague is faster, a file is bad."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from entail.trees.log.acts import Create, Edit
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.browser.steps import say_name

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


def row(hypothesis: str) -> str:
    premises = {"sent1": "snow is ice", "sent2": "ice is cold"}
    return json.dumps(
        {
            "id": "made up",
            "question": "",
            "answer": "",
            "hypothesis": hypothesis,
            "proof": "sent1 & sent2 -> hypothesis; ",
            "context": " ".join(f"{id}: {text}" for id, text in premises.items()),
            "meta": {"triples": premises, "intermediate_conclusions": {}},
        }
    )


def test_files_and_colleagues_that_get_in_the_way(page: Page, start_app: Any, tmp_path: Path) -> None:
    url = start_app(ROOT / "streamlit_app.py", data_dir=tmp_path / "data")
    page.goto(url)
    say_name(page, "Ada")
    log = TreeLog(open_database(f"sqlite:///{tmp_path / 'data' / 'entail.db'}"))

    # A file with a malformed line: the line is named and nothing is imported; then all of it is, in sight.
    page.get_by_text("Import trees").click()
    good = f"{row('snow is cold')}\n{row('<b>snow</b> is :red[cold]')}\n"
    for content in (f"{good}{{nope\n", good):
        page.locator('input[type="file"]').set_input_files(
            {"name": "trees.jsonl", "mimeType": "application/jsonl", "buffer": content.encode()}
        )
        button = page.get_by_role("button", name="Import", exact=True)
        expect(button).to_be_enabled()
        button.click()
        if content != good:
            expect(page.get_by_text("trees.jsonl, line 3")).to_be_visible()
            assert not [tree for tree in log.trees() if not tree.example]
            page.get_by_test_id("stFileUploader").get_by_role("button", name="Remove").click()
            expect(button).to_have_count(0)  # the button of the next file is another one
    expect(page.get_by_text("Imported 2 trees")).to_be_visible()
    expect(page.get_by_text("<b>snow</b> is :red[cold]", exact=True)).to_be_visible()

    # While Ada rewords a sentence Bo does: she is told, her words are kept, and count when she insists.
    tree_id = log.create(Create(hypothesis="snow is cold"), author="Ada")
    page.goto(f"{url}/Trees?tree={tree_id}")
    expect(page.get_by_text("Not you?")).to_be_visible()
    expect(page.get_by_text("This tree has no corpus")).to_be_visible()
    page.locator("body").press("e")
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_role("textbox", name="Sentence")
    field.fill("Ada's careful words")
    log.act(tree_id, Edit(node="n1", text="Bo was faster"), author="Bo", base=1)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("Bo was faster")).to_be_visible()
    expect(field).to_have_value("Ada's careful words")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    assert log.history(tree_id).tree.root.text == "Ada's careful words"
