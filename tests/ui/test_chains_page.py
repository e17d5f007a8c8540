"""The Chains page: a chain step by step, premises chosen by hand."""

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
from entail.ui.chains.fields import Picks
from entail.ui.chains.steps import end_message, truncation_message
from entail.ui.shared.resources import Workspace
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import ROOT, buttons, html, opened, said, settled

PAGE = "pages/Chains.py"
TEXTS = ["snow is a kind of ice", "ice is frozen water", "water is wet", "a rock is hard", "iron is a metal"]


def sentences(app: AppTest) -> list[str]:
    """Return the premises on the page: those of the chain, then the candidates."""
    return html(app, 'class="entail-sentence"')


def chain(app: AppTest) -> int:
    """Return the length of the chain."""
    return len(buttons(app, "chain-open-"))


def click(app: AppTest, key: str) -> AppTest:
    return settled(app.button(key=key).click().run())


@pytest.fixture
def few(shared: Workspace) -> dict[str, str]:
    """Return the address of a question over five premises."""
    info = shared.corpora.add_corpus(Corpus.of("five", TEXTS), author="Ada")
    return {"facts": f"corpus-{info.id}", "question": "what is snow", "answer": "ice", "k": "5"}


@pytest.fixture(autouse=True)
def no_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a trained scorer, whatever is packaged."""
    monkeypatch.setattr("entail.ui.chains.fields.list_scorers", list)


def test_the_first_visit_shows_the_baseline_over_the_sample(app: AppTest) -> None:
    app = opened(app, PAGE)
    assert app.selectbox(key="chains_facts").value == f"corpus-{SAMPLE_ID}"
    assert app.query_params["by"] == "tfidf"
    assert app.text_area(key="chains_question").value == EXAMPLE.stem
    assert "entail train arcf" in said(app)
    assert (chain(app), len(buttons(app, "chain-choose-"))) == (9, 8)
    assert "TF-IDF cannot tell when an explanation is complete" in said(app)


def test_a_step_shows_its_candidates_and_new_ones(app: AppTest, few: dict[str, str]) -> None:
    app = opened(app, PAGE, **(few | {"k": "1", "length": "3"}))
    before = sentences(app)[: chain(app)]
    assert len(before) == 3
    app = settled(buttons(app, "chain-open-1")[0].click().run())
    assert "Step 2: " in said(app)
    assert sentences(app)[:3] == before
    assert html(app, "new here")


def test_a_premise_chosen_by_hand_continues_the_chain_and_is_in_the_link(
    app: AppTest, few: dict[str, str]
) -> None:
    app = opened(app, PAGE, **few, length="2")
    assert "snow" in sentences(app)[0]
    rock = next(b for b in buttons(app, "chain-choose-") if "a rock is hard" in str(b.help))
    app = settled(rock.click().run())
    assert "rock" in sentences(app)[0]
    assert html(app, "your choice")
    assert chain(app) == 2
    again = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    again = opened(again, PAGE, **{name: str(app.query_params[name]) for name in app.query_params})
    assert sentences(again) == sentences(app)
    app = click(app, "chain-over")
    assert "snow" in sentences(app)[0]
    assert "picks" not in app.query_params


def test_step_back_then_one_by_one_or_to_the_end(app: AppTest, few: dict[str, str]) -> None:
    app = opened(app, PAGE, **few, length="3")
    first = [sentence.split("</div>")[0] for sentence in sentences(app)[:3]]
    assert app.button(key="chain-next").disabled
    for left in (2, 1):
        app = click(app, "chain-back")
        assert chain(app) == left
    app = click(app, "chain-next")
    assert chain(app) == 2
    app = click(app, "chain-end")
    assert [sentence.split("</div>")[0] for sentence in sentences(app)[:3]] == first


def test_a_chain_can_be_changed_while_a_step_is_scored(
    app: AppTest, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(builder: Any, question: Any, premises: tuple[int, ...], *, wait: float) -> Task[Step]:
        """The third step is scored for ever."""
        return take_step(builder, question, premises, wait=5) if len(premises) < 2 else Task[Step]()

    monkeypatch.setattr("entail.ui.chains.steps.take_step", never)
    for name, value in (few | {"length": "4"}).items():
        app.query_params[name] = value
    app = app.switch_page(PAGE).run()
    while not app.get("progress") or "Scoring step 3" not in str(app.get("progress")[0].proto):
        app = app.run()
    assert chain(app) == 2
    app = app.button(key="chain-back").click().run()
    assert chain(app) == 1
    assert not app.get("progress")


def test_another_question_begins_anew(app: AppTest, few: dict[str, str]) -> None:
    app = click(opened(app, PAGE, **few, length="3"), "chain-back")
    app.text_area(key="chains_question").set_value("what is iron")
    app = settled(app.text_area(key="chains_answer").set_value("a metal").run())
    assert chain(app) == 3
    assert "iron" in sentences(app)[0]
    app = settled(app.text_area(key="chains_answer").set_value(" ").run())
    assert not buttons(app, "chain-choose-")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ({"facts": "corpus-none"}, "names a corpus"),
        ({"by": "gone"}, "names a scorer"),
        ({"picks": "none,of,these"}, "no longer visible"),
        ({"k": "x", "length": "999"}, "limit of 20 premises"),
    ],
)
def test_an_address_with_unknown_parts_is_warned_about(
    app: AppTest, few: dict[str, str], address: dict[str, str], words: str
) -> None:
    if "length" in address:
        few = {}
    assert words in said(opened(app, PAGE, **(few | address)))


def test_hostile_text_is_escaped(app: AppTest, shared: Workspace) -> None:
    hostile = "ice <script>alert(1)</script> is **cold** ![x](http://x)"
    info = shared.corpora.add_corpus(Corpus.of("bad", [hostile, "ice"]), author="Ada")
    app = opened(app, PAGE, facts=f"corpus-{info.id}", question="<b>ice</b>", answer=":red[x]")
    assert chain(app) == 2
    assert not html(app, "<script>")
    helps = "".join(str(button.help) for button in buttons(app, "chain-choose-"))
    assert "![x]" not in helps
    assert "**cold**" not in helps


@pytest.fixture
def scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer a scorer that ends after three premises, and one that was not trained to; long ones win."""

    def by_length(prefix: list[str], candidate: list[str]) -> float:
        if not candidate:
            return 100.0 if sum(word.endswith(".") for word in prefix) > 3 else 0.0
        return float(len("".join(candidate)))

    fakes = {
        "chains": Scorer("chains", "chains@1", ScorerForm(), FakeScorer(by_length)),
        "endless": Scorer("endless", "endless@1", ScorerForm(stop=False), FakeScorer(by_length)),
    }
    listed = [ListedScorer(name, scorer.form, "1") for name, scorer in fakes.items()]
    broken = ListedScorer("broken", ScorerForm(), "", "expected int, found words")
    monkeypatch.setattr("entail.ui.chains.fields.list_scorers", lambda: [*listed, broken])
    monkeypatch.setattr("entail.runtime.chains.load_scorer", lambda name, **_: fakes[name])


@pytest.mark.usefixtures("scorers")
def test_a_trained_scorer_comes_first_and_ends_a_chain(app: AppTest, few: dict[str, str]) -> None:
    app = opened(app, PAGE, **few)
    assert app.selectbox(key="chains_by").value == "chains"
    assert "broken cannot be used: expected int, found words" in said(app)
    assert chain(app) == 3
    assert "Complete: no candidate improves it (100.000" in said(app)
    app.number_input(key="chains_length").set_value(4)
    app = settled(app.selectbox(key="chains_by").set_value("endless").run())
    assert "This scorer cannot tell when an explanation is complete" in said(app)


@pytest.mark.usefixtures("scorers")
def test_scores_that_are_no_numbers_are_an_error(
    app: AppTest, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Scorer("chains", "chains@bad", ScorerForm(), FakeScorer(lambda a, b: float("nan")))
    monkeypatch.setattr("entail.runtime.chains.load_scorer", lambda name, **_: bad)
    assert "scores are not finite" in said(opened(app, PAGE, **few))


def walk_of(*steps: Step, stopped: Any = None) -> Chain:
    return Chain((0,), steps, stopped)


def test_messages_of_a_chain() -> None:
    first = Step((), (0, 1), (0.9, 0.1), 0.5, frozenset({0, 1}))
    last = Step((0,), (1,), (0.2,), 0.5, frozenset(), 2)
    bare = walk_of(first, last, stopped="bare prefix")
    assert "(0.500 against 0.200)" in end_message(bare, length=9, is_baseline=False)
    assert "Increase k" in end_message(walk_of(stopped="nothing visible"), length=9, is_baseline=False)
    assert end_message(walk_of(), length=9, is_baseline=True) == ""
    assert truncation_message(bare).endswith("left out: 2.")
    assert "question" in truncation_message(walk_of(Step((), (), (), None, frozenset(), -1)))
    assert truncation_message(walk_of(first)) == ""
    cut = [Step((), (0, 1), (0.2, 0.1), None, frozenset(), cut=frozenset(group)) for group in ((0,), (0, 1))]
    assert truncation_message(walk_of(*cut)).endswith("truncated: 2."), "each premise counts once"


@pytest.mark.parametrize("picks", [Picks(), Picks(("u1", "u2")), Picks(("u1",), alone=False)])
def test_choices_go_through_an_address(picks: Picks) -> None:
    assert Picks.of(picks.to_address()) == picks
