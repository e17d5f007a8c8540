"""Proposals on the authoring screen: what comes next, a drafted chain; judged like any other, told apart."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.listing import ListedScorer
from entail.arcf.next_premise import next_order
from entail.arcf.scorer import Scorer
from entail.arcf.scorer_form import ScorerForm
from entail.data.records import Corpus
from entail.index.lexical import TfidfIndex
from entail.trees.acts import Accept, Create, Edit, Finish, Proposal, Reject, Write
from entail.ui import suggester as suggester_module
from entail.ui.author import Visitor
from entail.ui.authoring import Place, set_desk, stamp, take_press
from entail.ui.commands import Command
from entail.ui.keyboard import KeyPress
from entail.ui.resources import Workspace
from entail.ui.screen import Desk, Screen
from entail.ui.suggester import Suggester
from entail.ui.works import Work, Works
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import said, settled

CLAIM = "snow is cold"
TEXTS = ["snow is ice", "ice is cold", "cold snow", "ice is frozen water", "iron is hard", "snow is cold"]
CORPUS = Corpus.of("six", TEXTS)
AMONG = TfidfIndex(CORPUS).manifest.revision
CHAIN = ["ice is frozen water", "snow is ice", "ice is cold"]
"""What the scorer of these tests has for an explanation, in its order."""


def by(prefix: list[str], candidate: list[str]) -> float:
    """The next of `CHAIN` is best; with all of it in the prefix, the explanation as it is."""
    told, words = " ".join(prefix), " ".join(candidate)
    left = [text for text in CHAIN if f"{text}." not in told]
    if not candidate:
        return 5.0 if not left else -5.0
    return 9.0 - left.index(words) if words in left else -len(words) / 100


def scorer_of(score: Any = by) -> Scorer:
    return Scorer("mine", "mine@1", ScorerForm(), FakeScorer(score))


LISTED = ListedScorer("mine", ScorerForm(), "1")


def proposing(scorer: Scorer | None = None, *, loaded: bool = True) -> Suggester:
    """Return what proposes, its scorer in memory or in the making for ever."""
    found = Suggester(LISTED, *(Works(9, failure="no") for _ in range(4)), names=("mine",))
    waits = threading.Event()
    made = (lambda report: scorer or scorer_of()) if loaded else (lambda report: waits.wait())
    found.works.take(found._place, made, wait=10 if loaded else 0)
    return found


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for proposals as long as it takes."""
    monkeypatch.setattr(suggester_module, "WAIT", 30)


@pytest.fixture(autouse=True)
def by_score(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Order by what the scorer says alone, of which these tests can tell who comes first."""
    if "by_both_ranks" not in request.fixturenames:
        monkeypatch.setattr("entail.arcf.next_premise.next_order", lambda scores: np.argsort(-scores))


@pytest.fixture
def by_both_ranks() -> None:
    """Leave the order as the page has it."""


@pytest.fixture
def tree(shared: Workspace) -> str:
    info = shared.corpora.add_corpus(CORPUS, author="Ada")
    return shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)


@pytest.fixture
def place(shared: Workspace, tree: str) -> Place:
    return Place(
        shared,
        shared.log.summary(tree),
        CORPUS,
        1,
        Work(value=TfidfIndex(CORPUS)),
        Screen(tree),
        Visitor("Ada"),
        suggester=proposing(),
    )


def texts(desk: Desk) -> list[str]:
    return [candidate.premise.text for candidate in desk.shown]


def press(place: Place, key: str) -> Desk:
    """Press a key at the list as it stands; return what stands there then."""
    take_press(place, KeyPress(key, 1, stamp(set_desk(place))))
    return set_desk(place)


def act(place: Place, what: Any) -> None:
    """Let somebody else act."""
    log = place.shared.log
    log.act(place.summary.id, what, author="Bob", base=log.history(place.summary.id).seq)


def evidence(place: Place) -> list[Any]:
    return list(place.shared.log.evidence(place.summary.id).values())


def test_what_comes_next_is_in_the_light_of_what_was_accepted(place: Place) -> None:
    retrieved = texts(set_desk(place))
    assert retrieved[0] != CHAIN[0]
    desk = press(place, "l")
    assert (place.screen.listing, texts(desk)[0], desk.offered) == ("next", CHAIN[0], 5)
    assert CLAIM not in texts(desk)
    first = desk.shown[0]
    assert first.retrieved == retrieved.index(CHAIN[0]) + 1
    assert first.score == 9.0
    desk = press(place, "1")
    assert texts(desk)[0] == CHAIN[1]
    assert CHAIN[0] not in texts(desk), "what stands below the node does not come next"
    take_press(place, KeyPress("shift+2", 2, stamp(desk)))
    again = set_desk(place)
    assert texts(again) == texts(desk), "a list keeps its places while its author goes down it"
    (one, two) = evidence(place)
    assert (one.retriever, one.revision, one.query) == ("mine", "mine@1", CLAIM)
    assert one.proposal == Proposal(means="next", after=(), k=5, among=AMONG)
    key = CORPUS.premises[TEXTS.index(CHAIN[0])].key
    assert two.proposal == Proposal(means="next", after=(key,), k=4, among=AMONG)
    assert [shown.key for shown in two.shown] == [candidate.premise.key for candidate in desk.shown]
    assert texts(press(place, "u"))[:1] == [CHAIN[1]]
    assert texts(press(place, "u"))[0] == CHAIN[0], "undone, it comes next again"


@pytest.mark.usefixtures("by_both_ranks")
def test_the_retriever_has_its_say_in_what_comes_next(place: Place) -> None:
    retrieved = texts(set_desk(place))
    desk = press(place, "l")
    scores = {candidate.premise.text: candidate.score for candidate in desk.shown}
    order = next_order(np.array([scores[text] for text in retrieved], dtype=np.float32))
    assert texts(desk) == [retrieved[at] for at in order]
    assert texts(desk) != sorted(texts(desk), key=lambda text: -scores[text])


def test_finish_rejects_what_was_seen_of_this_list_alone(place: Place) -> None:
    place.screen.page = place.screen.furthest = 1
    set_desk(place)
    desk = press(place, "l")
    assert (place.screen.page, place.screen.furthest) == (0, 0), "another list begins at its first page"
    press(place, "1")
    press(place, "f")
    act_of = place.shared.log.history(place.summary.id).events[-1].act
    assert isinstance(act_of, Finish)
    assert {premise.text for premise in act_of.premises} == set(texts(desk)) - {CHAIN[0]}
    assert evidence(place)[-1].proposal.means == "next"


def test_a_digit_meant_for_another_list_does_nothing(place: Place) -> None:
    before = stamp(set_desk(place))
    press(place, "l")
    take_press(place, KeyPress("1", 5, before))
    assert place.screen.notice is not None
    assert place.screen.notice[0] == "stale"
    assert len(place.shared.log.history(place.summary.id).events) == 1


def test_a_chain_is_drafted_when_asked_for_and_decided_one_by_one(place: Place) -> None:
    place.screen.turn_to("draft")
    desk = set_desk(place)
    assert desk.offer is not None
    assert (desk.offer.work, desk.shown, desk.evidence) == (None, (), None)
    desk = press(place, "d")
    assert texts(desk) == CHAIN
    assert desk.offer is not None
    assert desk.offer.draft is not None
    assert (desk.offer.draft.stopped, desk.offer.waiting) == ("bare prefix", 3)
    desk = press(place, "1")
    assert texts(desk) == CHAIN, "the others keep their keys"
    assert desk.offer is not None
    assert (desk.offer.waiting, desk.offer.departed) == (2, ())
    desk = press(place, "2")
    desk = press(place, "shift+3")
    assert desk.offer is not None
    assert (desk.offer.waiting, desk.offer.departed) == (0, ())
    history = place.shared.log.history(place.summary.id)
    assert [type(event.act) for event in history.events[1:]] == [Accept, Accept, Reject]
    assert [history.tree.nodes[child].text for child in history.tree.root.children] == CHAIN[:2]
    told = evidence(place)
    assert [one.proposal for one in told] == [Proposal(means="draft", after=(), k=60)] * 3
    assert [[shown.rank for shown in one.shown] for one in told] == [[1, 2, 3]] * 3
    # Anew, it goes on from what is there now, without what was rejected.
    desk = press(place, "d")
    assert CHAIN[2] not in texts(desk)
    assert not set(CHAIN[:2]) & set(texts(desk))


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (Edit(node="n1", text="snow freezes"), "the sentence was reworded"),
        (Write(node="n1", text="my own words"), "a premise was added beside it"),
        (
            Reject(node="n1", premise=CORPUS.premises[TEXTS.index(CHAIN[0])]),
            "proposal 1 was rejected, in whose light those behind it were chosen",
        ),
    ],
)
def test_a_draft_stays_when_the_node_changes_and_says_so(place: Place, what: Any, words: str) -> None:
    press(place, "d")
    act(place, what)
    desk = set_desk(place)
    assert desk.offer is not None
    assert texts(desk) == CHAIN
    assert desk.offer.departed == (words,)
    place.screen.seen = place.shared.log.history(place.summary.id).seq
    desk = press(place, "2")
    assert place.shared.log.history(place.summary.id).tree.root.children, "it can still be accepted"
    desk = press(place, "d")
    assert desk.offer is not None
    assert desk.offer.departed == ()


def test_a_draft_belongs_to_what_was_there_when_it_was_asked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggester_module, "WAIT", 0.01)
    go, asked = threading.Event(), threading.Event()

    def slow(prefix: list[str], candidate: list[str]) -> float:
        asked.set()
        assert go.wait(60)
        return by(prefix, candidate)

    place = replace(place, suggester=proposing(scorer_of(slow)))
    desk = press(place, "d")
    assert asked.wait(60)
    assert (desk.shown, desk.evidence) == ((), None)
    act(place, Accept(node="n1", premise=CORPUS.premises[4]))
    go.set()
    monkeypatch.setattr(suggester_module, "WAIT", 30)
    desk = set_desk(place)
    assert texts(desk) == CHAIN
    assert desk.offer is not None
    assert desk.offer.departed == ("a premise was added beside it",)
    assert desk.evidence is not None
    assert desk.evidence.proposal == Proposal(means="draft", after=(), k=60)


def test_each_node_has_its_own_draft_and_one_that_is_gone_has_none(place: Place) -> None:
    press(place, "d")
    press(place, "1")
    place.screen.select("n2")
    desk = set_desk(place)
    assert desk.offer is not None
    assert desk.offer.work is None
    assert CLAIM not in texts(press(place, "d")), "what stands above it explains nothing"
    press(place, "u")
    assert place.screen.selected == "n1"
    assert texts(set_desk(place)) == CHAIN


@pytest.mark.parametrize("listing", ["next", "draft"])
def test_scores_that_are_no_numbers_are_told_and_asked_for_again_only_by_hand(
    place: Place, listing: str
) -> None:
    calls, healed = [], []

    def nonsense(prefix: list[str], candidate: list[str]) -> float:
        calls.append(prefix)
        return by(prefix, candidate) if healed else float("nan")

    place = replace(place, suggester=proposing(scorer_of(nonsense)))
    press(place, "d")
    place.screen.turn_to(listing)
    for _ in range(3):
        desk = set_desk(place)
        assert desk.offer is not None
        assert desk.offer.work is not None
        assert "no numbers" in str(desk.offer.work.error)
        assert (desk.shown, desk.looked_at, desk.evidence) == ((), (), None)
    asked = len(calls)
    set_desk(place)
    assert len(calls) == asked
    healed.append(True)
    assert not set_desk(place).shown
    assert place.suggester is not None
    place.suggester.again()
    assert texts(set_desk(place))[0] == CHAIN[0]


def test_nothing_is_shown_or_rejected_until_it_is_known_what(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggester_module, "WAIT", 0.01)
    place = replace(place, suggester=proposing(loaded=False))
    for key in ("l", "f", "1", "d", "f"):
        desk = press(place, key)
        assert (desk.shown, desk.looked_at, desk.evidence) == ((), (), None)
    assert len(place.shared.log.history(place.summary.id).events) == 1


def test_a_premise_that_no_model_can_read_whole(place: Place) -> None:
    long = Corpus.of("long", [*TEXTS, "snow " * 500])
    info = place.shared.corpora.add_corpus(long, author="Ada")
    tree = place.shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    short = Scorer("mine", "mine@1", ScorerForm(), FakeScorer(by, longest=40))
    place = replace(
        place,
        summary=place.shared.log.summary(tree),
        corpus=long,
        building=Work(value=TfidfIndex(long)),
        screen=Screen(tree),
        suggester=proposing(short),
    )
    assert len(press(place, "l").shown) == 6
    act(place, Accept(node="n1", premise=long.premises[-1]))
    place.screen.seen = 2
    desk = set_desk(place)
    assert desk.offer is not None
    assert desk.offer.told is not None
    assert desk.offer.told.dropped == 1
    desk = press(place, "d")
    assert desk.offer is not None
    assert desk.offer.draft is not None
    assert desk.offer.draft.dropped == 1


def test_two_authors_may_decide_on_the_same_proposal(place: Place) -> None:
    desk = press(place, "d")
    act(place, Accept(node="n1", premise=desk.shown[0].premise))
    desk.run(Command("accept", desk.shown[0].premise.key))
    assert place.screen.notice is not None
    assert place.screen.notice[0] in ("conflict", "error")
    desk = set_desk(place)
    place.screen.seen = desk.history.seq
    assert desk.shown[0].in_tree == "n2"
    assert len(press(place, "2").history.tree.root.children) == 2


def test_keys_of_lists_mean_nothing_without_a_scorer(place: Place) -> None:
    place = replace(place, suggester=None)
    before = texts(set_desk(place))
    for key in ("l", "d"):
        assert texts(press(place, key)) == before
    assert (place.screen.listing, place.screen.drafts) == ("retrieved", {})
    place.screen.turn_to("draft")  # it was here a moment ago
    assert texts(set_desk(place)) == before


@pytest.fixture
def with_scorer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what puts scorers in reach of the app."""

    def put(*listed: ListedScorer, score: Any = by, longest: int = 1000) -> None:
        monkeypatch.setattr("entail.ui.direction_arrows.gaussian_names", dict)
        monkeypatch.setattr(suggester_module, "WARM_AFTER", 0)
        monkeypatch.setattr(suggester_module, "list_scorers", lambda: list(listed))
        here = {one.name: f"{one.name}@1" for one in listed}
        monkeypatch.setattr("entail.arcf.listing.scorer_revisions", lambda: here)
        monkeypatch.setattr(
            "entail.arcf.scorer.load_scorer",
            lambda name, **told: Scorer(name, f"{name}@1", ScorerForm(), FakeScorer(score, longest=longest)),
        )

    return put


def on_tree(app: AppTest, tree: str) -> AppTest:
    app.text_input(key="sidebar_name").set_value("Ada").run()
    app.session_state["tree"] = tree
    app.session_state["retriever"] = "tfidf"
    return settled(app.switch_page("pages/Trees.py").run())


def told(app: AppTest) -> AppTest:
    """Run the page again until nothing is proposed any more, as the page itself does in a browser."""
    for _ in range(60):
        app = app.run()
        assert not app.exception
        if "hourglass" not in said(app):
            return app
        time.sleep(0.05)
    raise AssertionError("still in the making")


def rows(app: AppTest) -> list[str]:
    """Return the candidates on the page with their looks."""
    return [str(block.body) for block in app.get("html") if 'class="entail-sentence' in str(block.body)]


def turn(app: AppTest, tree: str, before: str, listing: str) -> AppTest:
    return told(app.segmented_control(key=f"list-{tree}-{before}").set_value(listing))


@pytest.mark.parametrize(
    "listed",
    [
        [],
        [ListedScorer("single", ScorerForm(scheme="single-fact"), "1")],
        [ListedScorer("broken", ScorerForm(), "", "expected int, found words")],
    ],
)
def test_without_a_scorer_of_chains_nothing_shows(
    app: AppTest, tree: str, with_scorer: Callable[..., None], listed: list[ListedScorer]
) -> None:
    with_scorer(*listed)
    app = on_tree(app, tree)
    assert not [one for one in app.segmented_control if str(one.key).startswith("list-")]
    assert len(rows(app)) == 5
    assert "entail-proposed" not in "".join(rows(app))


def test_proposals_on_the_page(
    app: AppTest, shared: Workspace, tree: str, with_scorer: Callable[..., None]
) -> None:
    with_scorer(LISTED)
    app = told(on_tree(app, tree))
    retrieved = rows(app)
    app = turn(app, tree, "retrieved", "next")
    assert (
        "The 5 that TF-IDF ranks first, ordered by its ranks and by how well they come next, as the first"
        in said(app)
    )
    assert "next 1 · 9.000 · retrieved" in said(app)
    accept = next(b for b in app.button if str(b.key).startswith("accept-"))
    app = told(accept.click())
    assert "in the light of the premise here, says mine" in said(app)
    app = turn(app, tree, "next", "draft")
    assert "It goes on from the premise here" in said(app)
    assert not rows(app)
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "A chain drafted by mine, going on from the premise here" in said(app)
    assert "It stopped by itself: the explanation as it is scores 5.00" in said(app)
    assert [row.count("entail-proposed") for row in rows(app)] == [1, 1]
    app = told(next(b for b in app.button if str(b.key).startswith("accept-")).click())
    assert [row.count("entail-proposed") for row in rows(app)] == [0, 1], "what is decided is grey no more"
    app = told([b for b in app.button if str(b.key).startswith("reject-")][1].click())
    assert "Every proposal is decided" in said(app)
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "going on from the 2 premises here" in said(app)
    assert rows(app)
    assert CHAIN[2] not in "".join(rows(app)), "what was rejected is not proposed again"
    app = told(app.segmented_control(key="view").set_value("History"))
    assert "proposed 1st to come next by mine, before any premise" in said(app)
    assert "proposed 1st in a chain by mine, after 1 premise, 2 shown" in said(app)
    app = turn(app, tree, "draft", "retrieved")
    assert len(rows(app)) == len(retrieved)
    assert len(shared.log.history(tree).tree.root.children) == 2


def test_the_page_says_what_a_scorer_did_not_read(
    app: AppTest, shared: Workspace, tree: str, with_scorer: Callable[..., None]
) -> None:
    """A row of 14 has room for a sentence of 4, a candidate and one premise: of two the older goes."""
    with_scorer(LISTED, longest=14)
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "next")
    assert "content_cut" not in said(app)
    for _ in range(2):
        app = told(next(b for b in app.button if str(b.key).startswith("accept-")).click())
    assert "longer than the scorer reads: the oldest 1 premise was left out" in said(app)
    app = turn(app, tree, "next", "draft")
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "longer than the scorer reads: the oldest 4 premises were left out" in said(app)


@pytest.mark.parametrize(("ends", "says"), [(1, "1 candidate is longer"), (2, "2 candidates are longer")])
def test_the_page_says_which_candidates_a_scorer_did_not_read_whole(
    app: AppTest, shared: Workspace, with_scorer: Callable[..., None], ends: int, says: str
) -> None:
    with_scorer(LISTED, longest=24)
    long = [f"{'snow ' * 20}{number}" for number in range(ends)]
    info = shared.corpora.add_corpus(Corpus.of("long", [*TEXTS, *long]), author="Ada")
    tree = shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "next")
    assert f"{says} than half of what the scorer reads: the end was left out" in said(app)
    assert "oldest" not in said(app)
    app = turn(app, tree, "next", "draft")
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "A chain drafted by mine" in said(app)
    assert f"{says} than half of what the scorer reads" in said(app)


def test_a_scorer_that_fails_is_told_and_the_page_goes_on(
    app: AppTest, tree: str, with_scorer: Callable[..., None]
) -> None:
    with_scorer(LISTED, score=lambda prefix, candidate: float("nan"))
    app = told(on_tree(app, tree))
    assert len(rows(app)) == 5
    app = turn(app, tree, "retrieved", "next")
    assert "No proposals: this sentence: 2 of 2 scores are no numbers" in said(app)
    assert app.button(key="propose_again")
    app = turn(app, tree, "next", "retrieved")
    assert len(rows(app)) == 5


def test_of_several_scorers_one_is_picked_and_may_go(
    app: AppTest, tree: str, with_scorer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_scorer(LISTED, ListedScorer("rival", ScorerForm(), "1"))
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "next")
    field = app.selectbox(key="proposed_by")
    assert (field.value, field.options) == ("mine", ["mine", "rival"])
    app = told(field.set_value("rival"))
    assert "says rival" in said(app)
    monkeypatch.setattr(suggester_module, "list_scorers", lambda: [LISTED])
    app = told(app)
    assert "says mine" in said(app)
    assert "proposed_by" not in app.session_state


def test_tfidf_proposes_nothing_and_hostile_premises_stay_text(
    app: AppTest, shared: Workspace, with_scorer: Callable[..., None]
) -> None:
    with_scorer(LISTED)
    hostile = "snow <script>alert(1)</script> is **cold**"
    info = shared.corpora.add_corpus(Corpus.of("bad", [hostile, "snow is ice"]), author="Ada")
    tree = shared.log.create(Create(hypothesis="<b>snow</b>"), author="Ada", corpus_id=info.id)
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "draft")
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert len(rows(app)) == 2
    assert "<script>" not in "".join(rows(app))
