"""The Hub view of the Models page over the stand-in: previews, pushes, pulls, and the token nowhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.memory import CACHE
from entail.runtime.models import ModelCache
from entail.trees.log.acts import Accept, Create
from entail.ui.models.hub import HUB_TASKS
from entail.ui.shared.resources import Workspace, workspace
from tests.support.machine import until
from tests.ui.conftest import packages_scanned_once  # noqa: F401 - fixture

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stores(hub: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """The stores of an installation that looks at the stand-in."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(ModelCache, "warm", lambda self, name="minilm": None)
    # The examples that ship are nothing to push, and take a second to put there.
    monkeypatch.setattr("entail.ui.shared.resources.seed_sample", lambda database: None)
    st.cache_resource.clear()
    st.cache_data.clear()
    stores = workspace()
    yield stores
    stores.database.close()
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def decided(stores: Workspace) -> Workspace:
    """A tree of Ada's with one accepted premise, over a corpus with a licence."""
    corpus = Corpus.of("ices", ["ice is cold", "ice floats"])
    info = stores.corpora.add_corpus(corpus, author="Ada", licence="cc-by-4.0")
    tree = stores.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=info.id)
    stores.log.act(tree, Accept(node="n1", premise=corpus.premises[0]), author="Ada", base=1)
    return stores


def opened(what: str | None = None, *, author: str | None = "Ada") -> AppTest:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)
    if author:
        app.session_state["author"] = author
    app = app.run()
    app.session_state["models_view"] = "Hub"
    if what is not None:
        app.session_state["hub_what"] = what
    app = app.switch_page("pages/Models.py").run()
    assert not app.exception
    return app


def ended(app: AppTest) -> AppTest:
    """Run the page again until nothing is in the making, as it does itself in a browser."""
    until(lambda: all(work.done.is_set() for work in HUB_TASKS.tasks().values()))
    app = app.run()
    assert not app.exception
    return app


def click(app: AppTest, key: str) -> AppTest:
    return ended(app.button(key=key).click().run())


def said(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.success, app.warning, app.error, app.code)
    texts = [str(element.value) for kind in kinds for element in kind]
    return "\n".join([*texts, *(button.label for button in app.button), *(e.label for e in app.expander)])


def test_a_push_needs_an_author_a_token_and_for_the_public_a_check(
    hub: Any, stores: Workspace, ready: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(author=None)
    app.text_input(key="hub_repo").set_value("../x").run()
    assert "hub_preview" not in {button.key for button in app.button}
    app = click(app.text_input(key="hub_repo").set_value("team/mine").run(), "hub_preview")
    assert "adapter_model.safetensors" in list(app.dataframe[0].value["file"])
    assert (app.button(key="hub_push").disabled, hub.asked) == (True, [])
    app = opened().text_input(key="hub_repo").set_value("team/mine").run()
    app = click(click(app, "hub_preview"), "hub_push")
    assert "No token" in app.error[0].value
    monkeypatch.setenv("HF_TOKEN", "hf_" + "S3cret" * 5)
    app = click(app, "hub_push")
    pushed = hub.repositories["team/mine"]
    assert pushed.private
    assert f"commit `{pushed.head[:12]}`" in app.success[0].value
    # Another name is another push: nothing is sent by itself.
    app = ended(app.text_input(key="hub_repo").set_value("team/other").run())
    assert (list(app.success), "team/other" in hub.repositories) == ([], False)
    app = app.toggle(key="hub_private").set_value(False).run()
    app = click(app, "hub_preview")
    assert app.button(key="hub_push").disabled
    click(app.checkbox(key="hub_sure").check().run(), "hub_push")
    assert not hub.repositories["team/other"].private


def test_trees_go_without_names_unless_wanted_and_so_does_a_project(
    hub: Any, decided: Workspace, token: str
) -> None:
    project = decided.projects.create("Ices", author="Ada")
    decided.projects.add_hypotheses(project.id, ["ice melts"], actor="Ada")
    decided.work.next_piece(project.id, actor="Ada")
    app = opened("Push trees").text_input(key="hub_data_repo").set_value("team/ices").run()
    app = click(app, "hub_trees_preview")
    text = said(app)
    assert "1 accepted, 0 rejected" in text
    assert "cc-by-4.0" in text
    assert not app.warning
    app = app.toggle(key="hub_names").set_value(True).run()
    app = click(app, "hub_trees_preview")
    assert "Ada" in app.warning[0].value
    assert hub.asked == []
    app = click(app.toggle(key="hub_names").set_value(False).run(), "hub_trees_preview")
    assert click(app, "hub_trees_push").success
    assert b"Ada" not in b"".join(hub.repositories["datasets/team/ices"].files.values())
    app = app.text_input(key="hub_data_repo").set_value("team/project").run()
    app = click(app.selectbox(key="hub_corpus").set_value(project.id).run(), "hub_trees_preview")
    assert click(app, "hub_trees_push").success
    files = hub.repositories["datasets/team/project"].files
    assert b"ice melts" in files["copies.jsonl"]
    assert b"Ada" not in b"".join(files.values())


def test_an_encoder_is_pulled_by_revision_with_its_name(
    hub: Any, stores: Workspace, home: Path, ready: Path
) -> None:
    files = {path.name: path.read_bytes() for path in ready.iterdir()}
    first = hub.put("team/theirs", files)
    hub.put("team/theirs", {**files, "notes.py": b"x"})
    app = opened("Pull an encoder")
    assert app.button(key="hub_pull").disabled
    app = app.text_input(key="hub_pull_repo").set_value("team/theirs").run()
    app = app.text_input(key="hub_revision").set_value("no such").run()
    assert "expected a branch, a tag or a commit" in said(app)
    assert app.button(key="hub_pull").disabled
    assert hub.asked == []
    app = app.text_input(key="hub_revision").set_value(first).run()
    app = click(app.text_input(key="hub_pull_name").set_value("brought").run(), "hub_pull")
    assert f"at commit `{first[:12]}`" in app.success[0].value
    assert json.loads((home / "brought" / "entail.json").read_text(encoding="utf-8"))["hub"] == {
        "repo": "team/theirs",
        "commit": first,
    }
    app = click(app.text_input(key="hub_revision").set_value("f" * 40).run(), "hub_pull")
    assert "**No revision.**" in app.error[0].value


def state_of(app: AppTest) -> str:
    """Return all that the session and the shared works hold, as texts."""
    state = app.session_state._state.filtered_state
    assert "hub_repo" in state or "hub_data_repo" in state or "hub_pull_repo" in state
    texts = [f"{key}: {value!r}" for key, value in state.items()]
    texts += [repr((key, vars(task))) for key, task in CACHE.entries.items()]
    return "\n".join(texts)


@pytest.mark.parametrize("status", [None, 401])
def test_the_token_stands_nowhere(
    hub: Any, decided: Workspace, ready: Path, token: str, output: Any, status: int | None
) -> None:
    if status is not None:
        hub.refuse("POST", "/api/repos/create", status)
        hub.refuse("GET", "/api/models/team/mine", status)
    pages = []
    app = opened().text_input(key="hub_repo").set_value("team/mine").run()
    app = click(click(app, "hub_preview"), "hub_push")
    pages.append(app)
    app = opened("Push trees").text_input(key="hub_data_repo").set_value("team/ices").run()
    pages.append(click(click(app, "hub_trees_preview"), "hub_trees_push"))
    app = opened("Pull an encoder").text_input(key="hub_pull_repo").set_value("team/mine").run()
    pages.append(click(app.text_input(key="hub_pull_name").set_value("back").run(), "hub_pull"))
    assert [bool(page.error) for page in pages] == [status is not None] * 3
    for work in HUB_TASKS.tasks().values():
        output.add(work.error)
    everything = output.everything() + "".join(state_of(page) + str(page) + said(page) for page in pages)
    assert token not in everything
    assert "S3cret" not in everything
    assert len(everything) > 10_000
