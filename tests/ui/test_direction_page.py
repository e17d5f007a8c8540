"""The Direction page: two sentences, search by direction."""

from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.ui.direction.views import gaussian_names
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import html, opened, said, settled


def typed(app: AppTest, first: str, second: str) -> AppTest:
    app.text_area(key="direction_first").set_value(first)
    return settled(app.text_area(key="direction_second").set_value(second).run())


def figures(app: AppTest) -> list[str]:
    return [str(metric.value) for metric in app.metric]


@pytest.mark.usefixtures("tiny_home")
def test_without_an_encoder_the_page_says_where_to_get_one(app: AppTest) -> None:
    app = opened(app, "Direction")
    assert gaussian_names() == {}, "points have no direction"
    assert "entail train gausscse" in said(app)
    assert not app.text_area


def test_two_sentences_are_judged_drawn_and_swapped(
    app: AppTest, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entailment(premises: list[str], hypotheses: list[str]) -> np.ndarray:
        assert premises == hypotheses[::-1]
        return np.array([0.75, 0.25] if premises[1] == "ba be" else [0.25, 0.75])

    judge = SimpleNamespace(entailment=entailment)
    monkeypatch.setattr("entail.ui.direction.views.list_judges", lambda: ["mine"])
    monkeypatch.setattr("entail.ui.direction.views.load_judge", lambda name: judge)
    app = typed(opened(app, "Direction"), "ba be bi bo bu", "ba be")
    forward, backward, margin, threshold = figures(app)
    (expected,) = GaussianEncoder(gaussian).similarities(["ba be"], ["ba be bi bo bu"])
    assert (forward, threshold) == (f"{expected:.3f}", "0.500")
    assert forward != backward
    assert app.get("vega_lite_chart")
    assert "first → second 75%, second → first 25%" in said(app)
    assert f"If only one entails the other: the {'first' if float(margin) > 0 else 'second'}, " in said(app)
    app = settled(app.button(key="direction_swap").click().run())
    assert app.text_area(key="direction_first").value == "ba be"
    assert figures(app)[:2] == [backward, forward]
    assert float(figures(app)[2]) == -float(margin) != 0


@pytest.mark.usefixtures("gaussian")
def test_equal_long_and_empty_sentences(app: AppTest) -> None:
    app = typed(opened(app, "Direction"), "ba be", " ba  be")
    assert "Each entails the other, 100% confidence" in said(app)
    assert "If only one" not in said(app)
    app = typed(app, "ba be", "ba " * 10_000)
    (warning,) = app.warning
    assert "second sentence" in str(warning.value)
    for first, second in (("ba be", " "), ("\u200b\u200b", "\u200b\0")):
        app = typed(app, first, second)
        assert app.info
        assert not app.metric
    app = settled(app.button(key="direction_example").click().run())
    assert app.metric


def test_search_by_direction_next_to_cosine(
    app: AppTest, shared: Workspace, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = ["ba be bi", "bo bu da", "de di do ba be", "du fa"]
    app.session_state["direction_mode"] = "Search"
    app.session_state["direction_corpus"] = shared.corpora.add_corpus(
        Corpus.of("four", facts), author="Ada"
    ).id
    app.session_state["direction_query"] = "ba be"
    app = opened(app, "Direction")
    rows = html(app, 'class="entail-sentence"')
    assert len(rows) == 2 * len(facts)
    assert all("in both" in row for row in rows)
    second, third = (float(row.partition('entail-quiet">')[2][:5]) for row in rows[1:3])
    assert second > third > 0.5
    assert "No entailment below" not in said(app)
    between = (second + third) / 2
    monkeypatch.setattr("entail.ui.direction.views.threshold_of", lambda form: between)
    assert "**No entailment below this line**: threshold" in said(settled(app.run()))
    monkeypatch.setattr("entail.ui.direction.views.threshold_of", lambda form: 1.5)
    app = settled(app.segmented_control(key="direction_way").set_value("entailed").run())
    assert f"Entailed by the query ({gaussian})" in said(app)
    assert "**No hit is an entailment**" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("ba " * 10_000).run())
    assert "truncated" in said(app)
    app = settled(app.text_input(key="direction_query").set_value("\u200b").run())
    assert "Enter a query" in said(app)
