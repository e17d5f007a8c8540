"""The five-minute walk: a bar above the pages that leads from one to the next."""

import pytest
from streamlit.testing.v1 import AppTest

from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create
from entail.ui.frame.walk import STATE, STEPS
from entail.ui.shared.resources import Workspace
from entail.ui.shared.start_question import smallest_example
from tests.ui.conftest import keys


def test_the_walk_starts_on_home_and_leads_to_the_example_tree(app: AppTest, shared: Workspace) -> None:
    shared.log.create(Create(hypothesis="ice is cold"), author="Ada", corpus_id=SAMPLE_ID)
    home = app.run()
    assert not {"walk_next", "open_example"} & keys(home)
    home = home.button(key="walk_start").click().run()
    assert {"walk_next", "walk_leave", "open_example"} <= keys(home)
    assert "walk_start" not in keys(home)
    home = home.button(key="walk_leave").click().run()
    assert "walk_next" not in keys(home)
    home = home.button(key="walk_start").click().run()
    app = home.button(key="walk_next").click().run()
    assert not app.exception
    tree = smallest_example(shared.log.trees())
    assert tree is not None
    assert app.session_state["tree"] == tree.id
    assert app.session_state[STATE] == 1


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_every_step_has_its_bar_and_the_last_one_ends_it(app: AppTest, number: int) -> None:
    app.session_state[STATE] = number
    app = app.switch_page(STEPS[number].path).run()
    assert not app.exception
    assert ("walk_next" in keys(app)) == (number + 1 < len(STEPS))
    assert "walk_leave" in keys(app)
    assert "walk_resume" not in keys(app)
    app = app.switch_page("pages/Corpora.py").run()
    assert "walk_next" not in keys(app)
    app = app.button(key="walk_resume").click().run()
    assert not app.exception
    assert "walk_resume" not in keys(app)


def test_trying_it_fills_in_the_claim_and_leaves_the_example_alone(app: AppTest, shared: Workspace) -> None:
    tree = smallest_example(shared.log.trees())
    assert tree is not None
    app.session_state[STATE] = 1
    app.session_state["tree"] = tree.id
    app = app.switch_page("pages/Trees.py").run()
    app = app.button(key="walk_try").click().run()
    assert app.text_input(key="start_text").value == tree.hypothesis
    app.text_input(key="author_name-start").set_value("Ada")
    app = app.button(key="start").click().run()
    assert not app.exception
    (own,) = (summary for summary in shared.log.trees() if not summary.example)
    assert own.hypothesis == tree.hypothesis
    assert "walk_next" in keys(app.switch_page("pages/Trees.py").run())
