"""The Chains page: a chain step by step, premises chosen by hand."""

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.chains.chain import Chain, Step
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm
from entail.data.records import Corpus
from entail.runtime.chains import take_step
from entail.runtime.tasks import Task
from entail.trees.installation.seed import SAMPLE_ID
from entail.ui.chains.page import SHOWN, is_truncated
from entail.ui.shared.resources import Workspace
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import buttons, html, new_app, opened, said, settled

TEXTS = ["snow is a kind of ice", "ice is frozen water", "water is wet", "a rock is hard", "iron is a metal"]


def sentences(app: AppTest) -> list[str]:
    """Return the premises on the page: those of the chain, then the candidates."""
    return html(app, 'class="entail-sentence"')


def chain(app: AppTest) -> int:
    """Return the length of the chain."""
    return len(buttons(app, "chain-open-"))


@pytest.fixture
def few(shared: Workspace) -> dict[str, str]:
    """Return the address of a question over five premises."""
    info = shared.corpora.add_corpus(Corpus.of("five", TEXTS), author="Ada")
    return {"facts": f"corpus-{info.id}", "question": "what is snow", "answer": "ice"}


@pytest.fixture(autouse=True)
def no_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a trained scorer, whatever is packaged."""
    monkeypatch.setattr("entail.ui.chains.page.list_scorers", list)


def test_the_first_visit_shows_the_baseline_over_the_sample(app: AppTest) -> None:
    app = opened(app, "Chains")
    assert app.selectbox(key="chains_facts").value == f"corpus-{SAMPLE_ID}"
    assert app.query_params["by"] == "tfidf"
    assert app.text_area(key="chains_question").value == EXAMPLE.stem
    assert (chain(app), len(buttons(app, "chain-choose-0-"))) == (9, SHOWN)
    before = sentences(app)[:9]
    app = settled(buttons(app, "chain-open-1")[0].click().run())
    assert "Step 2: " in said(app)
    assert sentences(app)[:9] == before
    assert len(buttons(app, "chain-choose-1-")) == SHOWN


def test_a_premise_chosen_by_hand_continues_the_chain_and_is_in_the_link(
    app: AppTest, few: dict[str, str]
) -> None:
    app = opened(app, "Chains", **few)
    assert "snow" in sentences(app)[0]
    rock = next(b for b in buttons(app, "chain-choose-") if "a rock is hard" in str(b.help))
    app = settled(rock.click().run())
    assert "rock" in sentences(app)[0]
    assert html(app, "your choice")
    assert chain(app) == 5
    again = opened(new_app(), "Chains", **{name: str(app.query_params[name]) for name in app.query_params})
    assert sentences(again) == sentences(app)
    app = settled(app.button(key="chain-over").click().run())
    assert "snow" in sentences(app)[0]
    assert "picks" not in app.query_params


def test_a_chain_can_be_changed_while_a_step_is_scored(
    app: AppTest, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(builder: Any, question: Any, premises: tuple[int, ...], *, wait: float) -> Task[Step]:
        """The third step is scored for ever."""
        return take_step(builder, question, premises, wait=5) if len(premises) < 2 else Task[Step]()

    monkeypatch.setattr("entail.ui.chains.page.take_step", never)
    app.query_params.update(few)
    app = app.switch_page("pages/Chains.py").run()
    while not app.get("progress") or "Preparing step 3" not in str(app.get("progress")[0].proto):
        app = app.run()
    assert chain(app) == 2
    app = next(b for b in buttons(app, "chain-choose-") if "a rock is hard" in str(b.help)).click().run()
    assert "rock" in sentences(app)[0]


def test_another_question_begins_anew(app: AppTest, few: dict[str, str]) -> None:
    app = settled(buttons(opened(app, "Chains", **few), "chain-choose-0-")[3].click().run())
    app.text_area(key="chains_question").set_value("what is iron")
    app = settled(app.text_area(key="chains_answer").set_value("a metal").run())
    assert app.button(key="chain-over").disabled
    assert "iron" in sentences(app)[0]
    app = settled(app.text_area(key="chains_answer").set_value(" ").run())
    assert not buttons(app, "chain-choose-")


@pytest.mark.parametrize(
    "address", [{"facts": "corpus-none"}, {"by": "gone"}, {"picks": "none,of,these"}], ids=str
)
def test_an_address_with_unknown_parts_is_warned_about(
    app: AppTest, few: dict[str, str], address: dict[str, str]
) -> None:
    app = opened(app, "Chains", **(few | address))
    assert len(app.warning) == 1
    assert chain(app)


def test_hostile_text_is_escaped(app: AppTest, shared: Workspace) -> None:
    hostile = "ice <script>alert(1)</script> is **cold** ![x](http://x)"
    info = shared.corpora.add_corpus(Corpus.of("bad", [hostile, "ice"]), author="Ada")
    app = opened(app, "Chains", facts=f"corpus-{info.id}", question="<b>ice</b>", answer=":red[x]")
    assert chain(app) == 2
    assert not html(app, "<script>")
    helps = "".join(str(button.help) for button in buttons(app, "chain-choose-"))
    assert "![x]" not in helps
    assert "**cold**" not in helps


def test_a_trained_scorer_comes_first_and_ends_a_chain(
    app: AppTest, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_length(prefix: list[str], candidate: list[str]) -> float:
        """Long premises win; three of them are complete."""
        if not candidate:
            return 100.0 if sum(word.endswith(".") for word in prefix) > 3 else 0.0
        return float(len("".join(candidate)))

    fakes = {
        "chains": Scorer("chains", "chains@1", ScorerForm(), FakeScorer(by_length)),
        "endless": Scorer("endless", "endless@1", ScorerForm(stop=False), FakeScorer(by_length)),
        "wrong": Scorer("wrong", "wrong@1", ScorerForm(), FakeScorer(lambda a, b: float("nan"))),
    }
    listed = [ListedScorer(name, scorer.form, "1") for name, scorer in fakes.items()]
    broken = ListedScorer("broken", ScorerForm(), "", "expected int, found words")
    monkeypatch.setattr("entail.ui.chains.page.list_scorers", lambda: [*listed, broken])
    monkeypatch.setattr("entail.runtime.chains.load_scorer", lambda name, **_: fakes[name])
    app = opened(app, "Chains", **few)
    assert app.selectbox(key="chains_by").value == "chains"
    assert "broken" not in app.selectbox(key="chains_by").options
    assert chain(app) == 3
    app = settled(app.selectbox(key="chains_by").set_value("endless").run())
    assert chain(app) == 5
    app = settled(app.selectbox(key="chains_by").set_value("wrong").run())
    assert "scores are not finite" in said(app)


def test_a_chain_that_was_read_in_part_says_so() -> None:
    whole = Step((), (0, 1), (0.9, 0.1), 0.5, frozenset({0, 1}))
    assert not is_truncated(Chain((0,), (whole, whole), None))
    assert is_truncated(Chain((0,), (whole, replace(whole, dropped=-1)), None))
