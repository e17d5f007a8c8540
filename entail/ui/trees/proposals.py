"""Choice between retrieved candidates and a scorer's proposals, and the text above the proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.trees.log.wording import count_of
from entail.trees.review.commands import Command
from entail.ui.components.inbox import widget_value
from entail.ui.shared.active import draw_notice
from entail.ui.shared.resources import retriever_name
from entail.ui.shared.text import label
from entail.ui.trees.screen import AuthoringSession, Screen
from entail.ui.trees.suggester import BY_KEY, LISTS, Offer, Suggester

if TYPE_CHECKING:
    from entail.arcf.chains.next_premise import Draft
    from entail.ui.trees.authoring import TreeContext


def draw_lists(suggester: Suggester | None, session: AuthoringSession) -> None:
    """Draw the choice of list and scorer; nothing if no scorer is available."""
    if suggester is None:
        return
    draw_notice("chains")
    screen = session.screen
    # The key names the list, so that a change by keyboard shows in the field.
    key = f"list-{screen.tree_id}-{screen.listing}"
    st.segmented_control(
        "List",
        list(LISTS),
        default=screen.listing,
        format_func=LISTS.__getitem__,
        key=key,
        on_change=_turn_to,
        args=(screen, key),
        required=True,
        label_visibility="collapsed",
        help="Key l. Retrieved: the retriever's ranking. Next premise: re-ranked by what you accepted. "
        "Chain: a whole draft (key d).",
    )
    if session.offer is not None and len(suggester.names) > 1:
        st.selectbox(
            "Proposed by",
            suggester.names,
            key=BY_KEY,
            persist_state="session",
            help="Scorer that re-ranks and drafts. A newly chosen one loads in the background.",
        )


def draw_proposed(context: TreeContext, session: AuthoringSession) -> bool:
    """Draw the text above the proposals; return whether there are candidates to draw."""
    offer, suggester = session.offer, context.suggester
    if offer is None or suggester is None:
        return True
    if offer.task is None:
        _draw_ask(session)
        return False
    if offer.task.error is not None:
        st.info(f"No proposals: {label(str(offer.task.error), longest=300)}", icon=":material/link_off:")
        st.button("Try again", icon=":material/refresh:", key="propose_again", on_click=suggester.retry)
        return False
    if offer.task.value is None:
        _draw_wait(session.screen, offer, suggester)
        return False
    if offer.draft is not None:
        _draw_draft(session, offer, offer.draft, suggester.name)
        return bool(offer.candidates)
    _draw_next(session, offer, suggester.name, context.ranking.name)
    return True


def _turn_to(screen: Screen, key: str) -> None:
    screen.turn_to(str(widget_value(key) or screen.listing))


def _draw_ask(session: AuthoringSession) -> None:
    count = len(session.history.tree.node(session.screen.selected).children)
    start = f" It continues from {_those(count)} here." if count else ""
    st.caption(
        f"A chain of premises, each chosen after the ones before it.{start} You accept or reject each one."
    )
    _draw_button(session, "Draft a chain")


def _draw_button(session: AuthoringSession, text: str) -> None:
    st.button(
        text,
        icon=":material/link:",
        key=f"draft-{session.screen.tree_id}-{session.screen.selected}",
        type="primary",
        on_click=session.run,
        args=(Command("draft"),),
        help="Key d",
        width="stretch",
    )


def _draw_next(session: AuthoringSession, offer: Offer, scorer: str, retriever: str) -> None:
    scores, proposal = offer.scores, offer.proposal
    assert scores is not None  # set by `offer_next`
    assert proposal is not None
    by = f"by {label(retriever_name(scorer))}"
    ranked = f"Top {len(offer.candidates)} of {label(retriever_name(retriever))}"
    st.caption(f"{ranked}, re-ranked {by}" + (" by what you accepted." if proposal.after else "."))
    best = max((candidate.score for candidate in offer.candidates), default=None)
    if scores.bare is not None and best is not None and scores.bare >= best:
        st.info("Looks complete: no candidate improves it.", icon=":material/flag:")
    _draw_truncation(scores.dropped, cut=len(scores.cut))


def _draw_draft(session: AuthoringSession, offer: Offer, draft: Draft, scorer: str) -> None:
    proposal = offer.proposal
    assert proposal is not None  # set by `offer_draft`
    count = len(proposal.after)
    start = f", continuing from {_those(count)} here" if count else ""
    name = label(retriever_name(scorer))
    if not offer.candidates:
        st.info(f"{name} proposes nothing{start}. {describe_end(draft)}", icon=":material/flag:")
    else:
        st.caption(f"A chain drafted by {name}{start}. {describe_end(draft)}")
    _draw_truncation(draft.dropped, cut=len(draft.cut))
    if offer.changes:
        st.warning(
            f"The tree has changed since the draft: {label('; '.join(offer.changes))}.",
            icon=":material/update:",
        )
    elif offer.candidates and not offer.undecided:
        st.success("Every proposal is judged.", icon=":material/done_all:")
    if offer.changes or not offer.undecided:
        _draw_button(session, "Draft again")


def describe_end(draft: Draft) -> str:
    """Return the reason why a chain ended."""
    if draft.stopped == "bare prefix":
        return "It looks complete: no premise improves it."
    if draft.stopped == "nothing visible":
        return "Stopped: no related premise is left."
    return "Stopped: the limit of premises is reached."


def _draw_truncation(dropped: int, *, cut: int = 0) -> None:
    if dropped < 0:
        st.caption(":material/content_cut: Truncated: the scorer did not read the start of the sentence.")
    elif dropped:
        st.caption(
            f":material/content_cut: Truncated: the scorer did not read {count_of(dropped, 'older premise')}."
        )
    if cut:
        st.caption(
            f":material/content_cut: Truncated: the scorer did not read the end of "
            f"{count_of(cut, 'candidate')}."
        )


@st.fragment(run_every=0.4)
def _draw_wait(screen: Screen, offer: Offer, suggester: Suggester) -> None:
    task = offer.retry() if offer.retry is not None else None
    if task is not None and task.done.is_set() and screen.dialog is None:
        st.rerun()
    if suggester.scorer is None:
        what = f"Loading {label(retriever_name(suggester.name))}"
    elif task is not None and task.progress is not None:
        done = task.progress.done
        what = label(task.progress.what.capitalize()) + (
            f": {count_of(done, 'premise')} so far" if done else ""
        )
    else:
        what = "Drafting the chain" if offer.means == "draft" else "Ranking candidates"
    st.caption(f":material/hourglass_empty: {what} …")


def _those(count: int) -> str:
    return "the premise" if count == 1 else f"the {count} premises"
