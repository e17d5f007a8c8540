"""Choice between retrieved candidates and a scorer's proposals, and the text above the proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.data.text import count_of
from entail.trees.review.commands import Command
from entail.ui.components.elements import pick_view
from entail.ui.components.inbox import widget_value
from entail.ui.shared.active import draw_notice
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.text import label
from entail.ui.trees.screen import LISTS, AuthoringSession, draw_wait
from entail.ui.trees.suggester import BY_KEY, Offer, Suggester

if TYPE_CHECKING:
    from entail.arcf.chains.next_premise import Draft
    from entail.arcf.scoring.premises import StepScores
    from entail.runtime.tasks import Task
    from entail.ui.trees.authoring import TreeContext

_ENDS = {
    "bare prefix": "It looks complete: no premise improves it.",
    "nothing visible": "Stopped: no related premise is left.",
    "length": "Stopped: the limit of premises is reached.",
}


def draw_lists(suggester: Suggester | None, session: AuthoringSession) -> None:
    """Draw the choice of list and scorer; nothing if no scorer is available."""
    if suggester is None:
        return
    draw_notice("chains")
    screen = session.screen
    # The key names the list, so that a change by keyboard shows in the field.
    key = f"list-{screen.tree_id}-{screen.listing}"
    pick_view(
        "List",
        list(LISTS),
        default=screen.listing,
        format_func=LISTS.get,
        key=key,
        on_change=lambda: screen.turn_to(str(widget_value(key) or screen.listing)),
        help="Key l. Retrieved: the retriever's ranking. Next premise: re-ranked by what you accepted. "
        "Chain: a whole draft (key d).",
    )
    if session.offer is not None and len(suggester.names) > 1:
        st.selectbox(
            "Proposed by",
            suggester.names,
            format_func=model_label,
            key=BY_KEY,
            persist_state="session",
            help="Scorer that re-ranks and drafts. A newly chosen one loads in the background.",
        )


def draw_proposals(context: TreeContext, session: AuthoringSession) -> bool:
    """Draw the text above the proposals; return whether there are candidates to draw."""
    offer, suggester = session.offer, context.suggester
    if offer is None or suggester is None:
        return True
    children = session.node.children
    if offer.task is None:
        start = f" It continues from {_premises_in_words(len(children))} here." if children else ""
        st.caption(
            f"A chain of premises, each chosen after the ones before it.{start} You accept or reject each "
            "one."
        )
        _draw_button(session, "Draft a chain")
    elif offer.task.error is not None:
        st.info(f"No proposals: {label(str(offer.task.error), longest=300)}", icon=":material/link_off:")
        st.button("Try again", icon=":material/refresh:", key="propose_again", on_click=suggester.retry)
    elif offer.draft is not None:
        _draw_draft(session, offer, offer.draft, suggester.name)
        return bool(offer.candidates)
    elif offer.scores is not None:
        _draw_next(offer, offer.scores, suggester.name, context.ranking.name)
        return True
    elif offer.retry is not None:
        draw_wait(session.screen, offer.retry, lambda task: _describe_wait(offer, suggester, task))
    return False


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


def _draw_next(offer: Offer, scores: StepScores, scorer: str, retriever: str) -> None:
    accepted = " by what you accepted" if offer.proposal is not None and offer.proposal.after else ""
    st.caption(
        f"Top {len(offer.candidates)} of {label(model_name(retriever))}, re-ranked by "
        f"{label(model_name(scorer))}{accepted}."
    )
    best = max((candidate.score for candidate in offer.candidates), default=None)
    if scores.stop_score is not None and best is not None and scores.stop_score >= best:
        st.info("Looks complete: no candidate improves it.", icon=":material/flag:")
    _draw_truncation(scores.dropped, truncated=len(scores.cut))


def _draw_draft(session: AuthoringSession, offer: Offer, draft: Draft, scorer: str) -> None:
    count = len(offer.proposal.after) if offer.proposal is not None else 0
    start = f", continuing from {_premises_in_words(count)} here" if count else ""
    name, end = label(model_name(scorer)), _ENDS[draft.stopped]
    if offer.candidates:
        st.caption(f"A chain drafted by {name}{start}. {end}")
    else:
        st.info(f"{name} proposes nothing{start}. {end}", icon=":material/flag:")
    _draw_truncation(draft.dropped, truncated=len(draft.cut))
    if offer.changes:
        st.warning(
            f"The tree has changed since the draft: {label('; '.join(offer.changes))}.",
            icon=":material/update:",
        )
    elif offer.candidates and not offer.undecided:
        st.success("Every proposal is judged.", icon=":material/done_all:")
    if offer.changes or not offer.undecided:
        _draw_button(session, "Draft again")


def _draw_truncation(dropped: int, *, truncated: int) -> None:
    parts = []
    if dropped:
        parts.append("the start of the sentence" if dropped < 0 else count_of(dropped, "older premise"))
    if truncated:
        parts.append(f"the end of {count_of(truncated, 'candidate')}")
    for part in parts:
        st.caption(f":material/content_cut: Truncated: the scorer did not read {part}.")


def _describe_wait(offer: Offer, suggester: Suggester, task: Task[Any] | None) -> str:
    if suggester.model is None:
        return f"Loading {label(model_name(suggester.name))}"
    if task is None or task.progress is None:
        return "Drafting the chain" if offer.means == "draft" else "Ranking candidates"
    done = task.progress.done
    return label(task.progress.what.capitalize()) + (f": {count_of(done, 'premise')} so far" if done else "")


def _premises_in_words(count: int) -> str:
    return "the premise" if count == 1 else f"the {count} premises"
