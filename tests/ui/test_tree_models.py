"""Models behind the authoring screen: proposals, judged like other candidates, and the check of a step."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm
from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.index.lexical import TfidfIndex
from entail.judge.steps import StepVerdict
from entail.memory import CACHE
from entail.runtime.chains import SCORERS
from entail.trees.log.acts import Accept, Edit, Finish, Proposal, Reject, Write
from entail.ui.shared.resources import Workspace
from entail.ui.trees import models as models_module
from entail.ui.trees.models import Offer, Suggester, current_check, describe_step, explain_step
from entail.ui.trees.page import TreePage
from tests.arcf.conftest import FakeScorer
from tests.ui.conftest import accepts, buttons, html, on_tree, page_of, press, redrawn, said, settled

CLAIM = "snow is cold"
TEXTS = ["snow is ice", "ice is cold", "cold snow", "ice is frozen water", "iron is hard", "snow is cold"]
CORPUS = Corpus.of("six", TEXTS)
CHAIN = ["ice is frozen water", "snow is ice", "ice is cold"]
"""Explanation that the scorer of these tests prefers, in its order."""

AMONG = TfidfIndex(CORPUS).manifest.revision


def by_chain(prefix: list[str], candidate: list[str]) -> float:
    """The next of `CHAIN` is best; with all of it in the prefix, the explanation as it is."""
    before, words = " ".join(prefix), " ".join(candidate)
    left = [text for text in CHAIN if f"{text}." not in before]
    if not candidate:
        return 5.0 if not left else -5.0
    return 9.0 - left.index(words) if words in left else -len(words) / 100


def suggester_of(score: Any = by_chain, *, loaded: bool = True) -> Suggester:
    """Return a suggester whose scorer is in memory, or is loading for ever."""
    scorer = Scorer("mine", "mine@1", ScorerForm(), FakeScorer(score))
    make: Callable[[Any], Any] = (lambda _: scorer) if loaded else (lambda _: threading.Event().wait())
    with CACHE.lock:
        CACHE.entries.clear()
    SCORERS.get_or_start(("mine", "mine@1"), make, wait=10 if loaded else 0)
    return Suggester("mine", "mine@1")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for proposals as long as it takes, and order them by the scorer alone."""
    monkeypatch.setattr(models_module, "WAIT", 30)
    monkeypatch.setattr("entail.arcf.chains.next_premise.next_order", lambda scores: np.argsort(-scores))


@pytest.fixture
def context(shared: Workspace) -> TreePage:
    return page_of(shared, CORPUS, CLAIM, suggester=suggester_of())


def texts(session: TreePage) -> list[str]:
    return [candidate.premise.text for candidate in session.shown]


def offer_of(session: TreePage) -> Offer:
    assert session.offer is not None
    return session.offer


def undecided(session: TreePage) -> int:
    return sum(not candidate.is_decided for candidate in offer_of(session).candidates)


def evidence(context: TreePage) -> list[Any]:
    return list(context.shared.log.evidence(context.summary.id).values())


def test_the_next_premise_depends_on_what_was_accepted(context: TreePage) -> None:
    retrieved = texts(redrawn(context))
    assert retrieved[0] != CHAIN[0]
    session = press(context, "l")
    assert (context.screen.listing, texts(session)[0], len(texts(session))) == ("next", CHAIN[0], 5)
    assert CLAIM not in texts(session)
    assert (session.shown[0].retrieved, session.shown[0].score) == (retrieved.index(CHAIN[0]) + 1, 9.0)
    session = press(context, "1")
    assert texts(session)[0] == CHAIN[1]
    assert CHAIN[0] not in texts(session), "it is below the node"
    assert texts(press(context, "shift+2")) == texts(session), "a rejection keeps the list"
    first, second = evidence(context)
    assert (first.retriever, first.revision, first.query) == ("mine", "mine@1", CLAIM)
    assert first.proposal == Proposal(means="next", after=(), k=5, among=AMONG)
    key = CORPUS.premises[TEXTS.index(CHAIN[0])].key
    assert second.proposal == Proposal(means="next", after=(key,), k=4, among=AMONG)
    assert [entry.key for entry in second.shown] == [candidate.premise.key for candidate in session.shown]
    assert [texts(press(context, "u"))[0] for _ in range(2)] == [CHAIN[1], CHAIN[0]]


def test_keys_act_on_the_list_on_the_screen_alone(context: TreePage) -> None:
    context.screen.page = context.screen.furthest = 1
    before = context.with_candidates().stamp
    session = press(context, "l")
    assert (context.screen.page, context.screen.furthest) == (0, 0), "another list begins at its first page"
    press(context, "1", before)
    assert context.screen.notice is not None
    assert context.screen.notice[0] == "stale"
    press(context, "1")
    press(context, "f")
    create, accept, finish = context.shared.log.history(context.summary.id).events
    assert (create.act.kind, accept.act.kind) == ("create", "accept")
    assert isinstance(finish.act, Finish)
    assert {premise.text for premise in finish.act.premises} == set(texts(session)) - {CHAIN[0]}
    assert evidence(context)[-1].proposal.means == "next"


def test_a_chain_is_drafted_on_request_and_judged_one_by_one(context: TreePage) -> None:
    context.screen.turn_to("draft")
    session = redrawn(context)
    assert (offer_of(session).task, session.shown, session.evidence) == (None, (), None)
    session = press(context, "d")
    draft: Any = offer_of(session).task.value
    assert (texts(session), draft.stopped, undecided(session)) == (CHAIN, "bare prefix", 3)
    session = press(context, "1")
    assert (texts(session), undecided(session)) == (CHAIN, 2)
    press(context, "2")
    session = press(context, "shift+3")
    assert undecided(session) == 0
    history = context.shared.log.history(context.summary.id)
    assert [type(event.act) for event in history.events[1:]] == [Accept, Accept, Reject]
    assert [history.tree.nodes[child].text for child in history.tree.root.children] == CHAIN[:2]
    assert [record.proposal for record in evidence(context)] == [Proposal(means="draft", after=(), k=60)] * 3
    assert [[entry.rank for entry in record.shown] for record in evidence(context)] == [[1, 2, 3]] * 3
    session = press(context, "d")
    assert not set(CHAIN) & set(texts(session)), "a new draft continues without what was judged"


@pytest.mark.parametrize(
    ("what", "stays"),
    [
        (Edit(node="n1", text="snow freezes"), False),
        (Write(node="n1", text="my own words"), True),
        (Reject(node="n1", premise=CORPUS.premises[TEXTS.index(CHAIN[0])]), True),
    ],
)
def test_a_draft_stays_until_its_sentence_is_edited(context: TreePage, what: Any, stays: bool) -> None:
    press(context, "d")
    context.shared.log.act(context.summary.id, what, author="Bob", base=1)
    assert texts(redrawn(context)) == (CHAIN if stays else [])
    press(context, "2")
    assert len(context.shared.log.history(context.summary.id).tree.root.children) == (
        stays + isinstance(what, Write)
    )


def test_each_node_has_its_own_draft(context: TreePage) -> None:
    press(context, "d")
    press(context, "1")
    context.screen.select("n2")
    assert offer_of(redrawn(context)).task is None
    assert CLAIM not in texts(press(context, "d")), "the node above explains nothing"
    press(context, "u")
    assert context.screen.selected == "n1"
    assert texts(redrawn(context)) == CHAIN


@pytest.mark.parametrize("listing", ["next", "draft"])
def test_failed_proposals_are_repeated_only_by_hand(context: TreePage, listing: str) -> None:
    calls, healed = [], []

    def nonsense(prefix: list[str], candidate: list[str]) -> float:
        calls.append(prefix)
        return by_chain(prefix, candidate) if healed else float("nan")

    context = replace(context, suggester=(suggester := suggester_of(nonsense)))
    press(context, "d")
    context.screen.turn_to(listing)
    session = redrawn(context)
    assert "not finite" in str(offer_of(session).task.error)
    assert (session.shown, session.candidates, session.evidence) == ((), (), None)
    count = len(calls)
    healed.append(True)
    assert not redrawn(context).shown
    assert len(calls) == count
    suggester.retry()
    assert texts(redrawn(context))[0] == CHAIN[0]


def test_nothing_is_shown_or_rejected_while_the_scorer_loads(
    context: TreePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_module, "WAIT", 0.01)
    context = replace(context, suggester=suggester_of(loaded=False))
    for key in ("l", "f", "1", "d", "f"):
        session = press(context, key)
        assert (session.shown, session.candidates, session.evidence) == ((), (), None)
    assert len(context.shared.log.history(context.summary.id).events) == 1


def test_without_a_scorer_there_is_one_list(context: TreePage) -> None:
    context = replace(context, suggester=None)
    before = texts(redrawn(context))
    assert [texts(press(context, key)) for key in ("l", "d")] == [before] * 2
    assert (context.screen.listing, context.screen.drafts) == ("retrieved", {})
    context.screen.turn_to("draft")  # the scorer was there a moment ago
    assert texts(redrawn(context)) == before


def test_proposals_on_the_page(app: AppTest, shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = page_of(shared, CORPUS, CLAIM).summary.id
    listed = [ListedScorer("broken", ScorerForm(), "", "expected int, found words")]
    for module in ("ui.trees.models", "arcf.scoring.scorer"):
        monkeypatch.setattr(f"entail.{module}.list_scorers", lambda: listed)
    monkeypatch.setattr(
        "entail.runtime.chains.load_scorer",
        lambda name, **_: Scorer(name, f"{name}@1", ScorerForm(), FakeScorer(by_chain)),
    )

    def rows() -> list[str]:
        return html(app, 'class="entail-sentence')

    def turn(before: str, listing: str) -> AppTest:
        return settled(app.segmented_control(key=f"list-{tree}-{before}").set_value(listing).run())

    app = on_tree(app, tree)
    assert not [widget for widget in app.segmented_control if str(widget.key).startswith("list-")]
    listed.append(ListedScorer("mine", ScorerForm(), "mine@1"))
    app = settled(app.run())
    retrieved = len(rows())
    app = turn("retrieved", "next")
    assert "next 1 · 9.000 · retrieved" in rows()[0]
    app = settled(buttons(app, "accept-")[0].click().run())
    app = turn("next", "draft")
    assert not rows()
    app = settled(app.button(key=f"draft-{tree}-n1").click().run())
    assert [row.count("entail-proposed") for row in rows()] == [1, 1]
    app = settled(buttons(app, "accept-")[0].click().run())
    assert [row.count("entail-proposed") for row in rows()] == [0, 1]
    app = settled(buttons(app, "reject-")[1].click().run())
    assert app.success
    app = settled(app.button(key=f"draft-{tree}-n1").click().run())
    assert rows()
    assert CHAIN[2] not in "".join(rows()), "a rejected premise is not proposed again"
    app = turn("draft", "retrieved")
    assert len(rows()) == retrieved
    assert len(shared.log.history(tree).tree.root.children) == 2


# --- the check of a step ---

STEP = "ba be bi bo"
HOLDS, FAILS = StepVerdict(0.95, "holds"), StepVerdict(0.1, "not yet", missing=("bo",), idle=(0,))


@pytest.fixture
def four(shared: Workspace) -> TreePage:
    return page_of(shared, Corpus.of("four", ["ba be bi", "ba be da", "ba du", "bo fa fe"]), STEP)


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a check of steps available to the app."""
    CACHE.entries.clear()

    def put(verdict: Callable[..., StepVerdict]) -> None:
        check = SimpleNamespace(check=lambda steps: [verdict(*step) for step in steps])
        monkeypatch.setattr("entail.ui.trees.models.list_verifiers", lambda: ["mine"])
        monkeypatch.setattr("entail.ui.trees.models.load_verifier", lambda name: check)

    return put


def test_a_verdict_appears_when_ready_and_an_accept_does_not_wait_for_it(
    app: AppTest, four: TreePage, verifier: Any
) -> None:
    go, log, tree_id = threading.Event(), four.shared.log, four.summary.id
    read = []

    def slow(premises: Sequence[str], conclusion: str) -> StepVerdict:
        assert go.wait(60)
        read.append((premises, conclusion))
        return FAILS

    verifier(slow)
    app = on_tree(app, tree_id)
    assert len(accepts(app)) == 4
    assert "Checking the step" not in said(app), "the node has no premises yet"
    app = accepts(app)[0].click().run()
    assert [event.act.kind for event in log.history(tree_id).events] == ["create", "accept"]
    go.set()
    app = settled(app.run())
    assert describe_step(FAILS) in said(app)
    assert all(line in said(app) for line in explain_step(FAILS, ["ba be bi"]))
    check = current_check()
    assert check is not None
    tasks = check.start_all(log.history(tree_id).tree)
    assert {id: task.value for id, task in tasks.items()} == {"n1": FAILS}
    assert read == [(("ba be bi",), STEP)]


def test_a_failed_check_leaves_the_page_and_is_not_repeated(
    app: AppTest, four: TreePage, verifier: Any
) -> None:
    calls = []

    def fail(premises: Sequence[str], conclusion: str) -> StepVerdict:
        calls.append(conclusion)
        raise EncoderError("the weights are broken")

    verifier(fail)
    app = settled(accepts(on_tree(app, four.summary.id))[0].click().run())
    app = settled(app.run())
    assert "the weights are broken" in said(app)
    assert len(accepts(app)) == 3
    assert calls == [STEP]


def test_all_steps_are_listed_the_least_supported_first(app: AppTest, four: TreePage, verifier: Any) -> None:
    log, tree_id = four.shared.log, four.summary.id
    log.act(tree_id, Write(node="n1", text="du fa"), author="Ada", base=1)
    log.act(tree_id, Write(node="n2", text="fo fu"), author="Ada", base=2)
    verifier(lambda premises, conclusion: HOLDS if conclusion == STEP else FAILS)
    app = on_tree(app, tree_id)
    app = settled(app.segmented_control(key="view").set_value("Steps").run())
    steps = buttons(app, "step-")
    assert [button.label for button in steps] == ["du fa", STEP]
    app = settled(steps[0].click().run())
    assert "# du fa" in said(app)
