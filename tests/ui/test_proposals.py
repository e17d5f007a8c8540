"""Proposals on the authoring screen: what comes next, a drafted chain; judged like any other, told apart."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.chains.next_premise import next_order
from entail.arcf.scoring.form import ScorerForm
from entail.arcf.scoring.listing import ListedScorer
from entail.arcf.scoring.scorer import Scorer
from entail.data.records import Corpus
from entail.index.lexical import TfidfIndex
from entail.trees.log.acts import Accept, Create, Edit, Finish, Proposal, Reject, Write
from entail.trees.review.commands import Command
from entail.ui.components.keyboard import KeyPress
from entail.ui.frame.author import Visitor
from entail.ui.shared.resources import Workspace
from entail.ui.shared.tasks import Task, task_cache
from entail.ui.trees import suggester as suggester_module
from entail.ui.trees.authoring import TreeContext, handle_key, load_session, stamp
from entail.ui.trees.screen import AuthoringSession, Screen
from entail.ui.trees.suggester import Suggester
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
    found = Suggester(LISTED, names=("mine",))
    waits = threading.Event()
    made = (lambda report: scorer or scorer_of()) if loaded else (lambda report: waits.wait())
    task_cache.clear()
    suggester_module.LOADING.get_or_start(found._key, made, wait=10 if loaded else 0)
    return found


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for proposals as long as it takes."""
    monkeypatch.setattr(suggester_module, "WAIT", 30)


@pytest.fixture(autouse=True)
def by_score(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Order by what the scorer says alone, of which these tests can tell who comes first."""
    if "by_both_ranks" not in request.fixturenames:
        monkeypatch.setattr("entail.arcf.chains.next_premise.next_order", lambda scores: np.argsort(-scores))


@pytest.fixture
def by_both_ranks() -> None:
    """Leave the order as the page has it."""


@pytest.fixture
def tree(shared: Workspace) -> str:
    info = shared.corpora.add_corpus(CORPUS, author="Ada")
    return shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)


@pytest.fixture
def context(shared: Workspace, tree: str) -> TreeContext:
    return TreeContext(
        shared,
        shared.log.summary(tree),
        CORPUS,
        1,
        Task(value=TfidfIndex(CORPUS)),
        Screen(tree),
        Visitor("Ada"),
        suggester=proposing(),
    )


def texts(session: AuthoringSession) -> list[str]:
    return [candidate.premise.text for candidate in session.shown]


def press(context: TreeContext, key: str) -> AuthoringSession:
    """Press a key at the list as it stands; return what stands there then."""
    handle_key(context, KeyPress(key, 1, stamp(load_session(context))))
    return load_session(context)


def act(context: TreeContext, what: Any) -> None:
    """Let somebody else act."""
    log = context.shared.log
    log.act(context.summary.id, what, author="Bob", base=log.history(context.summary.id).seq)


def evidence(context: TreeContext) -> list[Any]:
    return list(context.shared.log.evidence(context.summary.id).values())


def test_what_comes_next_is_in_the_light_of_what_was_accepted(context: TreeContext) -> None:
    retrieved = texts(load_session(context))
    assert retrieved[0] != CHAIN[0]
    session = press(context, "l")
    assert (context.screen.listing, texts(session)[0], session.offered) == ("next", CHAIN[0], 5)
    assert CLAIM not in texts(session)
    first = session.shown[0]
    assert first.retrieved == retrieved.index(CHAIN[0]) + 1
    assert first.score == 9.0
    session = press(context, "1")
    assert texts(session)[0] == CHAIN[1]
    assert CHAIN[0] not in texts(session), "what stands below the node does not come next"
    handle_key(context, KeyPress("shift+2", 2, stamp(session)))
    again = load_session(context)
    assert texts(again) == texts(session), "a list keeps its places while its author goes down it"
    (one, two) = evidence(context)
    assert (one.retriever, one.revision, one.query) == ("mine", "mine@1", CLAIM)
    assert one.proposal == Proposal(means="next", after=(), k=5, among=AMONG)
    key = CORPUS.premises[TEXTS.index(CHAIN[0])].key
    assert two.proposal == Proposal(means="next", after=(key,), k=4, among=AMONG)
    assert [shown.key for shown in two.shown] == [candidate.premise.key for candidate in session.shown]
    assert texts(press(context, "u"))[:1] == [CHAIN[1]]
    assert texts(press(context, "u"))[0] == CHAIN[0], "undone, it comes next again"


@pytest.mark.usefixtures("by_both_ranks")
def test_the_retriever_has_its_say_in_what_comes_next(context: TreeContext) -> None:
    retrieved = texts(load_session(context))
    session = press(context, "l")
    scores = {candidate.premise.text: candidate.score for candidate in session.shown}
    order = next_order(np.array([scores[text] for text in retrieved], dtype=np.float32))
    assert texts(session) == [retrieved[at] for at in order]
    assert texts(session) != sorted(texts(session), key=lambda text: -scores[text])


def test_finish_rejects_what_was_seen_of_this_list_alone(context: TreeContext) -> None:
    context.screen.page = context.screen.furthest = 1
    load_session(context)
    session = press(context, "l")
    assert (context.screen.page, context.screen.furthest) == (0, 0), "another list begins at its first page"
    press(context, "1")
    press(context, "f")
    act_of = context.shared.log.history(context.summary.id).events[-1].act
    assert isinstance(act_of, Finish)
    assert {premise.text for premise in act_of.premises} == set(texts(session)) - {CHAIN[0]}
    assert evidence(context)[-1].proposal.means == "next"


def test_a_digit_meant_for_another_list_does_nothing(context: TreeContext) -> None:
    before = stamp(load_session(context))
    press(context, "l")
    handle_key(context, KeyPress("1", 5, before))
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "stale"
    assert len(context.shared.log.history(context.summary.id).events) == 1


def test_a_chain_is_drafted_when_asked_for_and_decided_one_by_one(context: TreeContext) -> None:
    context.screen.turn_to("draft")
    session = load_session(context)
    assert session.offer is not None
    assert (session.offer.task, session.shown, session.evidence) == (None, (), None)
    session = press(context, "d")
    assert texts(session) == CHAIN
    assert session.offer is not None
    assert session.offer.draft is not None
    assert (session.offer.draft.stopped, session.offer.undecided) == ("bare prefix", 3)
    session = press(context, "1")
    assert texts(session) == CHAIN, "the others keep their keys"
    assert session.offer is not None
    assert (session.offer.undecided, session.offer.changes) == (2, ())
    session = press(context, "2")
    session = press(context, "shift+3")
    assert session.offer is not None
    assert (session.offer.undecided, session.offer.changes) == (0, ())
    history = context.shared.log.history(context.summary.id)
    assert [type(event.act) for event in history.events[1:]] == [Accept, Accept, Reject]
    assert [history.tree.nodes[child].text for child in history.tree.root.children] == CHAIN[:2]
    told = evidence(context)
    assert [one.proposal for one in told] == [Proposal(means="draft", after=(), k=60)] * 3
    assert [[shown.rank for shown in one.shown] for one in told] == [[1, 2, 3]] * 3
    # Anew, it goes on from what is there now, without what was rejected.
    session = press(context, "d")
    assert CHAIN[2] not in texts(session)
    assert not set(CHAIN[:2]) & set(texts(session))


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (Edit(node="n1", text="snow freezes"), "the sentence was edited"),
        (Write(node="n1", text="my own words"), "added 1 premise"),
        (
            Reject(node="n1", premise=CORPUS.premises[TEXTS.index(CHAIN[0])]),
            "rejected proposal 1, on which later ones are based",
        ),
    ],
)
def test_a_draft_stays_when_the_node_changes_and_says_so(context: TreeContext, what: Any, words: str) -> None:
    press(context, "d")
    act(context, what)
    session = load_session(context)
    assert session.offer is not None
    assert texts(session) == CHAIN
    assert session.offer.changes == (words,)
    context.screen.version = context.shared.log.history(context.summary.id).seq
    session = press(context, "2")
    assert context.shared.log.history(context.summary.id).tree.root.children, "it can still be accepted"
    session = press(context, "d")
    assert session.offer is not None
    assert session.offer.changes == ()


def test_a_draft_belongs_to_what_was_there_when_it_was_asked_for(
    context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggester_module, "WAIT", 0.01)
    go, asked = threading.Event(), threading.Event()

    def slow(prefix: list[str], candidate: list[str]) -> float:
        asked.set()
        assert go.wait(60)
        return by(prefix, candidate)

    context = replace(context, suggester=proposing(scorer_of(slow)))
    session = press(context, "d")
    assert asked.wait(60)
    assert (session.shown, session.evidence) == ((), None)
    act(context, Accept(node="n1", premise=CORPUS.premises[4]))
    go.set()
    monkeypatch.setattr(suggester_module, "WAIT", 30)
    session = load_session(context)
    assert texts(session) == CHAIN
    assert session.offer is not None
    assert session.offer.changes == ("added 1 premise",)
    assert session.evidence is not None
    assert session.evidence.proposal == Proposal(means="draft", after=(), k=60)


def test_each_node_has_its_own_draft_and_one_that_is_gone_has_none(context: TreeContext) -> None:
    press(context, "d")
    press(context, "1")
    context.screen.select("n2")
    session = load_session(context)
    assert session.offer is not None
    assert session.offer.task is None
    assert CLAIM not in texts(press(context, "d")), "what stands above it explains nothing"
    press(context, "u")
    assert context.screen.selected == "n1"
    assert texts(load_session(context)) == CHAIN


@pytest.mark.parametrize("listing", ["next", "draft"])
def test_scores_that_are_no_numbers_are_told_and_asked_for_again_only_by_hand(
    context: TreeContext, listing: str
) -> None:
    calls, healed = [], []

    def nonsense(prefix: list[str], candidate: list[str]) -> float:
        calls.append(prefix)
        return by(prefix, candidate) if healed else float("nan")

    context = replace(context, suggester=proposing(scorer_of(nonsense)))
    press(context, "d")
    context.screen.turn_to(listing)
    for _ in range(3):
        session = load_session(context)
        assert session.offer is not None
        assert session.offer.task is not None
        assert "no numbers" in str(session.offer.task.error)
        assert (session.shown, session.looked_at, session.evidence) == ((), (), None)
    asked = len(calls)
    load_session(context)
    assert len(calls) == asked
    healed.append(True)
    assert not load_session(context).shown
    assert context.suggester is not None
    context.suggester.retry()
    assert texts(load_session(context))[0] == CHAIN[0]


def test_nothing_is_shown_or_rejected_until_it_is_known_what(
    context: TreeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggester_module, "WAIT", 0.01)
    context = replace(context, suggester=proposing(loaded=False))
    for key in ("l", "f", "1", "d", "f"):
        session = press(context, key)
        assert (session.shown, session.looked_at, session.evidence) == ((), (), None)
    assert len(context.shared.log.history(context.summary.id).events) == 1


def test_a_premise_that_no_model_can_read_whole(context: TreeContext) -> None:
    long = Corpus.of("long", [*TEXTS, "snow " * 500])
    info = context.shared.corpora.add_corpus(long, author="Ada")
    tree = context.shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    short = Scorer("mine", "mine@1", ScorerForm(), FakeScorer(by, max_length=40))
    context = replace(
        context,
        summary=context.shared.log.summary(tree),
        corpus=long,
        building=Task(value=TfidfIndex(long)),
        screen=Screen(tree),
        suggester=proposing(short),
    )
    assert len(press(context, "l").shown) == 6
    act(context, Accept(node="n1", premise=long.premises[-1]))
    context.screen.version = 2
    session = load_session(context)
    assert session.offer is not None
    assert session.offer.scores is not None
    assert session.offer.scores.dropped == 1
    session = press(context, "d")
    assert session.offer is not None
    assert session.offer.draft is not None
    assert session.offer.draft.dropped == 1


def test_two_authors_may_decide_on_the_same_proposal(context: TreeContext) -> None:
    session = press(context, "d")
    act(context, Accept(node="n1", premise=session.shown[0].premise))
    session.run(Command("accept", session.shown[0].premise.key))
    assert context.screen.notice is not None
    assert context.screen.notice[0] in ("conflict", "error")
    session = load_session(context)
    context.screen.version = session.history.seq
    assert session.shown[0].in_tree == "n2"
    assert len(press(context, "2").history.tree.root.children) == 2


def test_keys_of_lists_mean_nothing_without_a_scorer(context: TreeContext) -> None:
    context = replace(context, suggester=None)
    before = texts(load_session(context))
    for key in ("l", "d"):
        assert texts(press(context, key)) == before
    assert (context.screen.listing, context.screen.drafts) == ("retrieved", {})
    context.screen.turn_to("draft")  # it was here a moment ago
    assert texts(load_session(context)) == before


@pytest.fixture
def with_scorer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what puts scorers in reach of the app."""

    def put(*listed: ListedScorer, score: Any = by, max_length: int = 1000) -> None:
        monkeypatch.setattr("entail.ui.trees.direction_hints.gaussian_names", dict)
        monkeypatch.setattr(suggester_module, "WARM_AFTER", 0)
        monkeypatch.setattr(suggester_module, "list_scorers", lambda: list(listed))
        here = {one.name: f"{one.name}@1" for one in listed}
        monkeypatch.setattr("entail.arcf.scoring.listing.scorer_revisions", lambda: here)
        monkeypatch.setattr(
            "entail.arcf.scoring.scorer.load_scorer",
            lambda name, **told: Scorer(
                name, f"{name}@1", ScorerForm(), FakeScorer(score, max_length=max_length)
            ),
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
    assert "Top 5 of TF-IDF, re-ranked by mine" in said(app)
    assert "next 1 · 9.000 · retrieved" in said(app)
    accept = next(b for b in app.button if str(b.key).startswith("accept-"))
    app = told(accept.click())
    assert "re-ranked by mine by what you accepted" in said(app)
    app = turn(app, tree, "next", "draft")
    assert "It continues from the premise here" in said(app)
    assert not rows(app)
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "A chain drafted by mine, continuing from the premise here" in said(app)
    assert "It looks complete" in said(app)
    assert [row.count("entail-proposed") for row in rows(app)] == [1, 1]
    app = told(next(b for b in app.button if str(b.key).startswith("accept-")).click())
    assert [row.count("entail-proposed") for row in rows(app)] == [0, 1], "what is decided is grey no more"
    app = told([b for b in app.button if str(b.key).startswith("reject-")][1].click())
    assert "Every proposal is judged" in said(app)
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "continuing from the 2 premises here" in said(app)
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
    with_scorer(LISTED, max_length=14)
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "next")
    assert "content_cut" not in said(app)
    for _ in range(2):
        app = told(next(b for b in app.button if str(b.key).startswith("accept-")).click())
    assert "did not read 1 older premise" in said(app)
    app = turn(app, tree, "next", "draft")
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "did not read 4 older premises" in said(app)


@pytest.mark.parametrize(("ends", "says"), [(1, "the end of 1 candidate."), (2, "the end of 2 candidates.")])
def test_the_page_says_which_candidates_a_scorer_did_not_read_whole(
    app: AppTest, shared: Workspace, with_scorer: Callable[..., None], ends: int, says: str
) -> None:
    with_scorer(LISTED, max_length=24)
    long = [f"{'snow ' * 20}{number}" for number in range(ends)]
    info = shared.corpora.add_corpus(Corpus.of("long", [*TEXTS, *long]), author="Ada")
    tree = shared.log.create(Create(hypothesis=CLAIM), author="Ada", corpus_id=info.id)
    app = turn(told(on_tree(app, tree)), tree, "retrieved", "next")
    assert says in said(app)
    assert "older" not in said(app)
    app = turn(app, tree, "next", "draft")
    app = told(app.button(key=f"draft-{tree}-n1").click())
    assert "A chain drafted by mine" in said(app)
    assert says in said(app)


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
    assert "re-ranked by rival" in said(app)
    monkeypatch.setattr(suggester_module, "list_scorers", lambda: [LISTED])
    app = told(app)
    assert "re-ranked by mine" in said(app)
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
