"""Proposals on the page of trees."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm
from entail.ui.shared.resources import Workspace
from entail.ui.trees import models as models_module
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import buttons, html, on_tree, page_of, ready, said
from tests.ui.proposals import CHAIN, CLAIM, CORPUS, LISTED, by_chain

pytestmark = pytest.mark.usefixtures("patient_proposals")


@pytest.fixture
def with_scorer(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes scorers available to the app."""

    def put(*listed: ListedScorer, score: Any = by_chain, max_length: int = 1000) -> None:
        def load(name: str, **_: object) -> Scorer:
            return Scorer(name, f"{name}@1", ScorerForm(), FakeScorer(score, max_length=max_length))

        monkeypatch.setattr("entail.ui.trees.models.list_judges", list)
        monkeypatch.setattr(models_module, "list_scorers", lambda: list(listed))
        monkeypatch.setattr("entail.arcf.scoring.scorer.list_scorers", lambda: list(listed))
        monkeypatch.setattr("entail.runtime.chains.load_scorer", load)

    return put


@pytest.fixture
def tree(shared: Workspace) -> str:
    return page_of(shared, CORPUS, CLAIM).summary.id


def rows(app: AppTest) -> list[str]:
    """Return the candidates on the page as HTML."""
    return html(app, 'class="entail-sentence')


def turn(app: AppTest, tree: str, before: str, listing: str) -> AppTest:
    return ready(app.segmented_control(key=f"list-{tree}-{before}").set_value(listing))


def draft(app: AppTest, tree: str) -> AppTest:
    return ready(app.button(key=f"draft-{tree}-n1").click())


@pytest.mark.parametrize(
    "listed",
    [
        [],
        [ListedScorer("broken", ScorerForm(), "", "expected int, found words")],
    ],
)
def test_a_page_without_a_scorer_of_chains_has_no_lists(
    app: AppTest, tree: str, with_scorer: Callable[..., None], listed: list[ListedScorer]
) -> None:
    with_scorer(*listed)
    app = on_tree(app, tree)
    assert not [widget for widget in app.segmented_control if str(widget.key).startswith("list-")]
    assert len(rows(app)) == 5


def test_proposals_on_the_page(
    app: AppTest, shared: Workspace, tree: str, with_scorer: Callable[..., None]
) -> None:
    with_scorer(LISTED)
    app = ready(on_tree(app, tree))
    retrieved = len(rows(app))
    app = turn(app, tree, "retrieved", "next")
    assert "next 1 · 9.000 · retrieved" in rows(app)[0]
    app = ready(buttons(app, "accept-")[0].click())
    assert "re-ranked by mine by what you accepted" in said(app)
    app = turn(app, tree, "next", "draft")
    assert not rows(app)
    app = draft(app, tree)
    assert "It looks complete" in said(app)
    assert [row.count("entail-proposed") for row in rows(app)] == [1, 1]
    app = ready(buttons(app, "accept-")[0].click())
    assert [row.count("entail-proposed") for row in rows(app)] == [0, 1]
    app = ready(buttons(app, "reject-")[1].click())
    assert app.success
    app = draft(app, tree)
    assert rows(app)
    assert CHAIN[2] not in "".join(rows(app)), "a rejected premise is not proposed again"
    app = ready(app.segmented_control(key="view").set_value("History"))
    assert "proposed 1st to come next by mine" in said(app)
    assert "proposed 1st in a chain by mine, after 1 premise, 2 shown" in said(app)
    app = turn(app, tree, "draft", "retrieved")
    assert len(rows(app)) == retrieved
    assert len(shared.log.history(tree).tree.root.children) == 2
