"""Proposals of a scorer on the authoring screen: which list is shown, what is said of what is proposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.ui.commands import Command
from entail.ui.in_use import draw_notice
from entail.ui.inbox import held
from entail.ui.resources import retriever_name
from entail.ui.screen import Desk, Screen
from entail.ui.suggester import BY_KEY, LISTS, Offer, Suggester
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.arcf.next_premise import Draft
    from entail.ui.authoring import Place


def draw_lists(suggester: Suggester | None, desk: Desk) -> None:
    """Draw which list is shown, and by what is proposed; nothing where no scorer is in reach."""
    if suggester is None:
        return
    draw_notice("chains")
    screen = desk.screen
    # Its key names what is shown: where a key changed that, it is another field, which stands there.
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
        help="Key l. What retrieval brings; the same, ordered by how well it goes on from what is accepted "
        "here; a whole chain, drafted (key d).",
    )
    if desk.offer is not None and len(suggester.names) > 1:
        st.selectbox(
            "Proposed by",
            suggester.names,
            key=BY_KEY,
            persist_state="session",
            help="A scorer of chains; another one is loaded behind the page.",
        )


def draw_proposed(place: Place, desk: Desk) -> bool:
    """Draw what is said of the proposals above them; return whether there are any to be drawn."""
    offer, suggester = desk.offer, place.suggester
    if offer is None or suggester is None:
        return True
    if offer.work is None:
        _draw_ask(desk)
        return False
    if offer.work.error is not None:
        st.info(f"No proposals: {label(str(offer.work.error), longest=300)}", icon=":material/link_off:")
        st.button("Try again", icon=":material/refresh:", key="propose_again", on_click=suggester.again)
        return False
    if offer.work.value is None:
        _draw_wait(desk.screen, offer, suggester)
        return False
    if offer.draft is not None:
        _draw_draft(desk, offer, offer.draft, suggester.name)
        return bool(offer.candidates)
    _draw_next(desk, offer, suggester.name, place.ranking.name)
    return True


def _turn_to(screen: Screen, key: str) -> None:
    screen.turn_to(str(held(key) or screen.listing))


def _draw_ask(desk: Desk) -> None:
    count = len(desk.history.tree.node(desk.screen.selected).children)
    begins = f"It goes on from {_those(count)} here. " if count else ""
    st.caption(
        f"A chain: premises one after another, each chosen in the light of the ones before. {begins}You "
        "accept or reject each; none is in the tree before."
    )
    _draw_button(desk, "Draft a chain")


def _draw_button(desk: Desk, words: str) -> None:
    st.button(
        words,
        icon=":material/link:",
        key=f"draft-{desk.screen.tree_id}-{desk.screen.selected}",
        type="primary",
        on_click=desk.run,
        args=(Command("draft"),),
        help="Key d",
        width="stretch",
    )


def _draw_next(desk: Desk, offer: Offer, scorer: str, retriever: str) -> None:
    told, proposal = offer.told, offer.proposal
    assert told is not None  # as `offer_next` makes it
    assert proposal is not None
    count = len(proposal.after)
    light = f"in the light of {_those(count)} here" if count else "as the first premise"
    st.caption(
        f"The {len(offer.candidates)} that {label(retriever_name(retriever))} ranks first, ordered by its "
        f"ranks and by how well they come next, {light}, says {label(retriever_name(scorer))}."
    )
    best = max((candidate.score for candidate in offer.candidates), default=None)
    if told.bare is not None and best is not None and told.bare >= best:
        st.info(
            f"It would stop here: the explanation as it is scores {told.bare:.2f}, the best candidate "
            f"{best:.2f}.",
            icon=":material/flag:",
        )
    _draw_unread(told.dropped, cut=len(told.cut))


def _draw_draft(desk: Desk, offer: Offer, draft: Draft, scorer: str) -> None:
    proposal = offer.proposal
    assert proposal is not None  # as `offer_draft` makes it
    count = len(proposal.after)
    begun = f", going on from {_those(count)} here" if count else ""
    who = label(retriever_name(scorer))
    if not offer.candidates:
        st.info(f"{who} proposes nothing{begun}. {why_it_ended(draft)}", icon=":material/flag:")
    else:
        st.caption(f"A chain drafted by {who}{begun}. {why_it_ended(draft)}")
    _draw_unread(draft.dropped, cut=len(draft.cut))
    if offer.departed:
        st.warning(
            f"The tree has changed since it was drafted: {label('; '.join(offer.departed))}.",
            icon=":material/update:",
        )
    elif offer.candidates and not offer.waiting:
        st.success("Every proposal is decided.", icon=":material/done_all:")
    if offer.departed or not offer.waiting:
        _draw_button(desk, "Draft anew from what is here now")


def why_it_ended(draft: Draft) -> str:
    """Say why a chain ended where it did."""
    if draft.stopped == "bare prefix" and draft.bare is not None and draft.best is not None:
        return (
            f"It stopped by itself: the explanation as it is scores {draft.bare:.2f}, the best premise that "
            f"is left {draft.best:.2f}."
        )
    if draft.stopped == "nothing visible":
        return "It ended since no other premise is near any of it."
    return "It ended at its greatest length."


def _draw_unread(dropped: int, *, cut: int = 0) -> None:
    if dropped < 0:
        st.caption(
            ":material/content_cut: The sentence is longer than the scorer reads: its beginning was left out."
        )
    elif dropped:
        st.caption(
            f":material/content_cut: Sentence and premises are longer than the scorer reads: the oldest "
            f"{_premises(dropped)} {'was' if dropped == 1 else 'were'} left out."
        )
    if cut:
        candidates = "1 candidate is" if cut == 1 else f"{cut} candidates are"
        st.caption(
            f":material/content_cut: {candidates} longer than half of what the scorer reads: the end was "
            "left out, and sentence and premises have the other half."
        )


@st.fragment(run_every=0.4)
def _draw_wait(screen: Screen, offer: Offer, suggester: Suggester) -> None:
    work = offer.ask() if offer.ask is not None else None
    if work is not None and work.done.is_set() and screen.dialog is None:
        st.rerun()
    if suggester.scorer is None:
        what = f"Loading {label(retriever_name(suggester.name))}"
    elif work is not None and work.progress is not None:
        done = work.progress.done
        what = label(work.progress.what.capitalize()) + (f": {_premises(done)} so far" if done else "")
    else:
        what = "Drafting the chain" if offer.means == "draft" else "Looking at what comes next"
    st.caption(f":material/hourglass_empty: {what} …")


def _those(count: int) -> str:
    return "the premise" if count == 1 else f"the {count} premises"


def _premises(count: int) -> str:
    return "1 premise" if count == 1 else f"{count} premises"
