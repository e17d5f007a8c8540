"""The Chains page: a chain step by step, facts chosen otherwise, releases of WorldTree, comparisons."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.chains.chain import Search
from entail.arcf.chains.explained import (
    EXAMPLE,
    GREEDY,
    WORDS,
    MethodComparison,
    compare_methods,
    locate_gold,
    select_candidates,
)
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.stepwise import ScoredSteps, Step, Walk, corpus_facts, follow, step
from entail.arcf.scoring.form import ScorerForm
from entail.arcf.scoring.listing import ListedScorer
from entail.arcf.scoring.scorer import Scorer, load_scorer
from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.trees.store.seed import SAMPLE_ID
from entail.ui.chains.choice import Picks
from entail.ui.chains.steps import end_message, role_badge, truncation_message
from entail.ui.chains.tasks import take_step
from entail.ui.shared.resources import Workspace
from entail.ui.shared.tasks import Task
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import ROOT, said, settled

PAGE = "pages/Chains.py"
TEXTS = ["snow is a kind of ice", "ice is frozen water", "water is wet", "a rock is hard", "iron is a metal"]


def opened(app: AppTest, **address: str) -> AppTest:
    for name, value in address.items():
        app.query_params[name] = value
    return settled(app.switch_page(PAGE).run())


def sentences(app: AppTest) -> list[str]:
    """Return the facts on the page: those of the chain, then the candidates."""
    return [str(block.body) for block in app.get("html") if 'class="entail-sentence"' in str(block.body)]


def chain(app: AppTest) -> int:
    """Return how many facts the chain has."""
    return len([b for b in app.button if (b.key or "").startswith("chain-open-")])


def choices(app: AppTest) -> list[Any]:
    return [b for b in app.button if (b.key or "").startswith("chain-choose-")]


@pytest.fixture
def few(shared: Workspace) -> str:
    """Return the corpus of five facts, as the page's list and address name it."""
    return f"corpus-{shared.corpora.add_corpus(Corpus.of('five', TEXTS), author='Ada').id}"


@pytest.fixture(autouse=True)
def no_scorer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is packaged, these tests begin without a trained scorer."""
    monkeypatch.setattr("entail.ui.chains.choice.list_scorers", list)


def test_the_first_visit_shows_the_baseline_and_says_so(app: AppTest) -> None:
    app = opened(app)
    assert app.text_area(key="chains_question").value == EXAMPLE.stem
    assert "No trained scorer" in said(app)
    assert "entail train arcf" in said(app)
    assert chain(app) == 9
    assert "Stopped: limit of 9 premises reached" in said(app)
    assert "TF-IDF cannot tell when an explanation is complete" in said(app)
    assert len(choices(app)) == 8
    assert "Step 1: 60 candidates" in said(app)
    assert "of 5 gold premises in the chain" in said(app)
    assert any("chain-role chain-central" in one for one in sentences(app))


def test_every_fact_of_the_example_is_bundled() -> None:
    assert set(EXAMPLE.gold) <= set(sample_corpus().keys)
    assert len(EXAMPLE.gold) == 5


def test_of_the_example_the_scorer_that_ships_finds_all_but_one() -> None:
    facts, scorer = corpus_facts(sample_corpus()), load_scorer(str(ROOT / "models" / "arcf-minilm"))
    question = Question("example", EXAMPLE.stem, EXAMPLE.answer, EXAMPLE.gold)
    around, steps = Neighbourhoods(facts, k=60), ScoredSteps(scorer, facts)
    near = steps.near(question, around)
    walk = follow(lambda chosen: step(question, near, chosen, steps, around), Search(length=9))
    found = locate_gold(question, facts, walk, walk.ranking(question, around))
    assert str(found).startswith("4 of 5 gold premises in the chain")
    assert walk.stopped == "bare prefix"


def test_a_step_shows_its_candidates_and_what_joined(app: AppTest, few: str) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="1", length="3")
    assert chain(app) == 3
    before = sentences(app)
    app = settled(next(b for b in app.button if b.label == "2").click().run())
    assert "Step 2: " in said(app)
    assert " new" in said(app)
    assert sentences(app)[:3] == before[:3]
    assert any("new here" in one for one in [str(b.body) for b in app.get("html")])
    app = settled(app.segmented_control(key="chains_which").set_value("joined").run())
    assert len(choices(app)) == 1


def test_another_fact_can_be_chosen_and_the_chain_goes_on(app: AppTest, few: str) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5", length="2")
    assert "snow" in sentences(app)[0]
    rock = next(b for b in choices(app) if "a rock is hard" in str(b.help))
    app = settled(rock.click().run())
    assert "rock" in sentences(app)[0]
    assert "your choice" in "".join(str(b.body) for b in app.get("html"))
    assert chain(app) == 2
    assert app.query_params["picks"]
    # The same address elsewhere shows the same chain.
    again = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    again = opened(again, **{name: str(app.query_params[name]) for name in app.query_params})
    assert sentences(again) == sentences(app)
    app = settled(app.button(key="chain-over").click().run())
    assert "snow" in sentences(app)[0]
    assert "picks" not in app.query_params


def test_step_back_waits_and_goes_on_one_by_one(app: AppTest, few: str) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5", length="3")
    first = sentences(app)[:3]
    assert app.button(key="chain-next").disabled
    for left in (2, 1):
        app = settled(app.button(key="chain-back").click().run())
        assert chain(app) == left
        assert "Choose the next premise" in said(app)
    app = settled(app.button(key="chain-next").click().run())
    assert chain(app) == 2
    app = settled(app.button(key="chain-end").click().run())
    assert [one.split("</div>")[0] for one in sentences(app)[:3]] == [one.split("</div>")[0] for one in first]
    assert "Stopped: limit of 3 premises" in said(app)


def test_a_person_need_not_wait_for_the_end(app: AppTest, few: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(builder: Any, question: Any, chosen: tuple[int, ...], *, wait: float) -> Task[Step]:
        """The third step is scored for ever."""
        return take_step(builder, question, chosen, wait=5) if len(chosen) < 2 else Task[Step]()

    monkeypatch.setattr("entail.ui.chains.steps.take_step", never)
    address = {"facts": few, "question": "what is snow", "answer": "ice", "k": "5", "length": "4"}
    for name, value in address.items():
        app.query_params[name] = value
    app = app.switch_page(PAGE).run()
    while not app.get("progress") or "Scoring step 3" not in str(app.get("progress")[0].proto):
        app = app.run()
    assert chain(app) == 2
    assert "gold premises" not in said(app)
    app = app.button(key="chain-back").click().run()
    assert chain(app) == 1
    assert "Choose the next premise" in said(app)
    assert not app.get("progress")


def test_another_question_begins_anew(app: AppTest, few: str) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5", length="3")
    app = settled(app.button(key="chain-back").click().run())
    app.text_area(key="chains_question").set_value("what is iron")
    app = settled(app.text_area(key="chains_answer").set_value("a metal").run())
    assert chain(app) == 3
    assert "iron" in sentences(app)[0]
    app = settled(app.text_area(key="chains_answer").set_value(" ").run())
    assert "Enter a question and its correct answer" in said(app)
    assert not choices(app)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ({"facts": "corpus-none"}, "names a corpus or release that does not exist"),
        ({"by": "gone"}, "names a scorer that does not exist"),
        ({"picks": "none,of,these"}, "no longer visible"),
        ({"k": "x", "length": "999"}, "Stopped: limit of 20 premises"),
    ],
)
def test_addresses_that_lead_nowhere(app: AppTest, address: dict[str, str], words: str) -> None:
    assert words in said(opened(app, **address))


def test_hostile_text_is_shown_as_text(app: AppTest, shared: Workspace) -> None:
    hostile = "ice <script>alert(1)</script> is **cold** ![x](http://x)"
    info = shared.corpora.add_corpus(Corpus.of("bad", [hostile, "ice"]), author="Ada")
    app = opened(app, facts=f"corpus-{info.id}", question="<b>ice</b>", answer=":red[x]")
    assert "<script>" not in "".join(str(block.body) for block in app.get("html"))
    assert chain(app) == 2
    told = "".join(str(button.help) for button in choices(app))
    assert "![x]" not in told
    assert "**cold**" not in told


HEAD = "QuestionID\tAnswerKey\tquestion\texplanation\tflags\tarcset\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release of our own making in the data folder."""
    folder = tmp_path / "data" / "worldtree" / "mine"
    (folder / "tables").mkdir(parents=True)
    rows = "".join(f"{text}\tu{number}\n" for number, text in enumerate(TEXTS))
    (folder / "tables" / "T.tsv").write_text(f"A\t[SKIP] UID\n{rows}", encoding="utf-8")
    row = "S1\tB\tWhat is snow? (A) a rock (B) ice\tu1|CENTRAL u4|LEXGLUE u9|GROUNDING\tSUCCESS\tEasy\n"
    (folder / "questions.dev.tsv").write_text(HEAD + row, encoding="utf-8")
    return folder


def test_a_row_of_a_release_shows_its_roles_and_gold(app: AppTest, shared: Workspace, release: Path) -> None:
    app = opened(app, facts="release-mine", k="2", length="2", row="S1")
    assert not app.text_area
    assert "What is snow? **ice**" in said(app)
    assert "1 of 2 gold premises in the chain, 1 never visible, 1 in no table" in said(app)
    assert "Average precision 0.000" in said(app)
    (table,) = [str(b.body) for b in app.get("html") if '<table class="chain-gold' in str(b.body)]
    assert "<td>ice is frozen water <span" in table
    assert table.index("★ central") < table.index("★ lexical glue")
    assert "<td>no</td><td>5</td><td>never</td>" in table
    app = settled(app.selectbox(key="chains_row").set_value("own").run())
    assert "Enter a question and its correct answer" in said(app)


def test_a_release_can_be_uploaded(app: AppTest, release: Path, tmp_path: Path) -> None:
    packed = tmp_path / "r.zip"
    with zipfile.ZipFile(packed, "w") as file:
        for path in release.rglob("*.tsv"):
            file.write(path, path.relative_to(release))
    app = opened(app, facts="upload")
    assert "Upload a file" in said(app)
    upload = app.file_uploader(key="chains_upload")
    app = settled(upload.upload("r.zip", packed.read_bytes(), "application/zip").run())
    assert "What is snow? **ice**" in said(app)
    upload = app.file_uploader(key="chains_upload")
    app = settled(upload.upload("bad.zip", b"no zip", "application/zip").run())
    assert "expected a ZIP of a release" in said(app)


def test_a_folder_on_the_server_but_not_in_a_demo(
    app: AppTest, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(app, facts="server")
    app = settled(app.text_input(key="chains_path").set_value(str(release)).run())
    assert "What is snow? **ice**" in said(app)
    app = settled(app.text_input(key="chains_path").set_value(str(release / "none")).run())
    assert "found nothing here" in said(app)
    assert any("on the server" in option for option in app.selectbox(key="chains_facts").options)
    monkeypatch.setattr("entail.ui.shared.file_source.is_demo", lambda: True)
    app = settled(app.run())
    assert not any("on the server" in option for option in app.selectbox(key="chains_facts").options)


@pytest.fixture
def scorers(monkeypatch: pytest.MonkeyPatch) -> list[ListedScorer]:
    """A scorer of chains that ends behind three facts, and one of single facts: the longest fact is best."""

    def by(prefix: list[str], candidate: list[str]) -> float:
        if not candidate:
            return 100.0 if sum(word.endswith(".") for word in prefix) > 3 else 0.0
        return float(len("".join(candidate)))

    made = {
        "chains": Scorer("chains", "chains@1", ScorerForm(), FakeScorer(by)),
        "single": Scorer("single", "single@1", ScorerForm(scheme="single-fact"), FakeScorer(by)),
    }
    listed = [ListedScorer(name, scorer.form, "1") for name, scorer in made.items()]
    broken = ListedScorer("broken", ScorerForm(), "", "expected int, found words")
    monkeypatch.setattr("entail.ui.chains.choice.list_scorers", lambda: [*listed, broken])
    monkeypatch.setattr("entail.arcf.scoring.scorer.load_scorer", lambda name, **told: made[name])
    return listed


def test_a_trained_scorer_comes_first_and_says_when_it_stops(
    app: AppTest, few: str, scorers: list[ListedScorer]
) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5")
    assert app.selectbox(key="chains_by").value == "chains"
    assert "No trained scorer" not in said(app)
    assert "broken cannot be used: expected int, found words" in said(app)
    assert chain(app) == 3
    assert "Complete: no candidate improves it (100.000" in said(app)
    app = settled(app.toggle(key="chains_compare").set_value(True).run())
    table = app.dataframe[-1].value
    assert list(table.columns) == ["fact", WORDS, GREEDY, f"in {GREEDY}", "chains", "in chains", "single"]
    longest = sorted(TEXTS, key=lambda text: -len(text.replace(" ", "")))
    assert table.loc[table["single"] == 1, "fact"].item() == longest[0]
    assert table["in chains"].sum() == 3
    app.number_input(key="chains_length").set_value(4)
    app = settled(app.selectbox(key="chains_by").set_value("single").run())
    assert "This scorer cannot tell when an explanation is complete" in said(app)


def test_a_scorer_that_says_nonsense_is_told(
    app: AppTest, few: str, scorers: list[ListedScorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Scorer("chains", "chains@bad", ScorerForm(), FakeScorer(lambda a, b: float("nan")))
    monkeypatch.setattr("entail.arcf.scoring.scorer.load_scorer", lambda name, **told: bad)
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5")
    assert "scores are no numbers" in said(app)


def test_without_scorers_the_comparison_says_what_is_missing(app: AppTest, few: str) -> None:
    app = opened(app, facts=few, question="what is snow", answer="ice", k="5")
    app = settled(app.toggle(key="chains_compare").set_value(True).run())
    assert "No scorer of scheme single-fact or arcf" in said(app)
    assert list(app.dataframe[-1].value.columns) == ["fact", WORDS, GREEDY, f"in {GREEDY}"]


FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(5)))
ASKED = Question("Q", "q", "a", {"u0": "CENTRAL", "u3": "LEXGLUE", "u4": "NEG"})
WALK = Walk(
    (0, 2),
    (
        Step((), (0, 1), (0.9, 0.1), 0.5, frozenset({0, 1})),
        Step((0,), (2, 1, 3), (0.8, 0.2, 0.1), 0.5, frozenset({2, 3})),
    ),
    "length",
)


def test_where_gold_facts_stand() -> None:
    found = locate_gold(ASKED, FACTS, WALK, np.array([0, 2, 1, 3, 4]))
    assert found is not None
    told = [(row.position, row.step, row.rank, row.visible) for row in found.rows]
    assert told == [(0, 1, 1, 1), (3, None, 4, 2), (4, None, 5, None)]
    assert str(found) == "1 of 3 gold premises in the chain, 1 never visible"
    assert found.precision == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)
    assert locate_gold(Question("Q", "q", "a", {}), FACTS, WALK, np.arange(5)) is None


def test_candidates_are_picked_by_kind() -> None:
    step = WALK.steps[1]
    assert select_candidates(step, {3: "CENTRAL"}, "all") == [(1, 2), (2, 1), (3, 3)]
    assert select_candidates(step, {3: "CENTRAL"}, "joined") == [(1, 2), (3, 3)]
    assert select_candidates(step, {3: "CENTRAL"}, "gold") == [(3, 3)]


def test_words_of_a_chain() -> None:
    bare = Walk((0,), (WALK.steps[0], Step((0,), (1,), (0.2,), 0.5, frozenset(), 2)), "bare prefix")
    assert end_message(bare, length=9, is_baseline=False).endswith("(0.500 against 0.200).")
    assert "no other premise is visible" in end_message(
        Walk((), (), "nothing visible"), length=9, is_baseline=False
    )
    assert end_message(Walk((), (), None), length=9, is_baseline=True) == ""
    assert truncation_message(bare) == "The chain exceeds the scorer's input: oldest premises left out: 2."
    cut = Walk((), (Step((), (), (), None, frozenset(), -1),), None)
    assert truncation_message(cut).startswith("The question exceeds")
    assert truncation_message(WALK) == ""
    # A fact that was scored at two steps is told once.
    ends = [Step((), (0, 1), (0.2, 0.1), None, frozenset(), cut=frozenset(some)) for some in ((0,), (0, 1))]
    assert truncation_message(Walk((0,), (ends[0],), None)).endswith("truncated: 1.")
    assert truncation_message(Walk((0,), tuple(ends), None)).endswith("truncated: 2.")
    assert role_badge("<NE>") == '<span class="chain-role chain-other">★ &lt;ne&gt;</span>'


def test_ranks_stand_beside_each_other() -> None:
    rows = MethodComparison({"a": np.array([2, 0, 1]), "b": np.array([0, 1, 2])}, {}).rows(first=1, gold=(1,))
    assert rows == [(0, {"a": 2, "b": 1}), (2, {"a": 1, "b": 3}), (1, {"a": 3, "b": 2})]


def test_single_facts_and_chains_are_compared_without_a_page(scorers: list[ListedScorer]) -> None:
    import entail.arcf.scoring.scorer

    def near(texts: Any) -> Any:
        return np.tile(-np.arange(5, dtype=np.float32), (len(texts), 1))

    def load(listed: ListedScorer) -> Scorer:
        return entail.arcf.scoring.scorer.load_scorer(listed.name)

    found = compare_methods(ASKED, FACTS, scorers, near, load=load, k=3, length=2)
    assert list(found.rankings) == [WORDS, GREEDY, "chains", "single"]
    assert found.chains[GREEDY] == (0, 1)
    assert all(sorted(ranking.tolist()) == [0, 1, 2, 3, 4] for ranking in found.rankings.values())


def test_choices_go_through_an_address() -> None:
    for found in (Picks(), Picks(("u1", "u2")), Picks(("u1",), alone=False), Picks(alone=False)):
        assert Picks.of(found.to_address()) == found
    assert Picks().to_address() == {}


def test_the_sample_is_what_the_page_begins_with(app: AppTest) -> None:
    app = opened(app)
    assert app.selectbox(key="chains_facts").value == f"corpus-{SAMPLE_ID}"
    assert app.query_params["by"] == "tfidf"
