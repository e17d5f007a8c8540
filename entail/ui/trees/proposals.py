"""Choice of the list of candidates, and what stands above a list that a model proposed or re-ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.data.text import count_of
from entail.registry.roles import list_usable
from entail.trees.review.commands import Command
from entail.ui.components.elements import pick_view
from entail.ui.components.inbox import widget_value
from entail.ui.shared.active import draw_notice
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.text import label
from entail.ui.trees.models import RERANKS_KEY, SCORER_KEY, Offer, Suggester
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import LISTS, draw_wait

if TYPE_CHECKING:
    from entail.arcf.chains.next_premise import Draft
    from entail.arcf.scoring.premises import StepScores
    from entail.runtime.tasks import Task

_ENDS = {
    "bare prefix": "It looks complete: no premise improves it.",
    "nothing visible": "Stopped: no related premise is left.",
    "length": "Stopped: the limit of premises is reached.",
}


def draw_lists(page: TreePage) -> None:
    """Draw the choice of list and scorer, and the switch of the re-ranking, of what is installed."""
    if page.suggester is not None:
        draw_notice("chains")
        screen = page.screen
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
        if page.offer is not None and len(page.suggester.names) > 1:
            st.selectbox(
                "Proposed by",
                page.suggester.names,
                format_func=model_label,
                key=SCORER_KEY,
                persist_state="session",
                help="Scorer that re-ranks and drafts. A newly chosen one loads in the background.",
            )
    if list_usable("reranker"):
        st.toggle(
            "Re-rank the first candidates",
            key=RERANKS_KEY,
            persist_state="session",
            help="Reads the first candidates together with the sentence and re-orders them within a second.",
        )


def draw_reranking(page: TreePage) -> None:
    """Draw the state of the re-ranking, and redraw the page when the list is read."""
    if page.reading is None:
        return
    if (error := page.reading().error) is not None:
        st.caption(f":material/info: Not re-ranked: {label(str(error), longest=200)}")
    elif not any(candidate.retrieved for candidate in page.candidates):
        draw_wait(page.screen, page.reading, lambda _: "Re-ranking")


def draw_proposals(page: TreePage) -> bool:
    """Draw the text above the proposals; return whether there are candidates to draw."""
    offer, suggester = page.offer, page.suggester
    if offer is None or suggester is None:
        return True
    if offer.start is None:
        count = len(page.node.children)
        start = f" It continues from {_premises(count)} here." if count else ""
        st.caption(f"A chain of premises, each chosen after those before it.{start} You judge each one.")
        _draw_button(page, "Draft a chain")
    elif offer.error is not None:
        st.info(f"No proposals: {label(str(offer.error), longest=300)}", icon=":material/link_off:")
        st.button("Try again", icon=":material/refresh:", key="propose_again", on_click=suggester.retry)
    elif offer.value is None:
        draw_wait(page.screen, offer.start, lambda task: _describe_wait(offer, suggester, task))
    elif offer.means == "draft":
        _draw_draft(page, offer, suggester)
    else:
        _draw_next(page, offer, suggester)
    return offer.value is not None and (offer.means == "next" or bool(offer.candidates))


def _draw_button(page: TreePage, text: str) -> None:
    st.button(
        text,
        icon=":material/link:",
        key=f"draft-{page.screen.tree_id}-{page.screen.selected}",
        type="primary",
        on_click=page.run,
        args=(Command("draft"),),
        help="Key d",
        width="stretch",
    )


def _draw_next(page: TreePage, offer: Offer, suggester: Suggester) -> None:
    scores: StepScores = offer.value
    accepted = " by what you accepted" if page.node.children else ""
    retriever, scorer = (label(model_name(name)) for name in (page.ranking.name, suggester.name))
    st.caption(f"Top {len(offer.candidates)} of {retriever}, re-ranked by {scorer}{accepted}.")
    best = max((candidate.score for candidate in offer.candidates), default=None)
    if scores.stop_score is not None and best is not None and scores.stop_score >= best:
        st.info("Looks complete: no candidate improves it.", icon=":material/flag:")


def _draw_draft(page: TreePage, offer: Offer, suggester: Suggester) -> None:
    draft: Draft = offer.value
    count = len(offer.proposal.after) if offer.proposal is not None else 0
    start = f", continuing from {_premises(count)} here" if count else ""
    name, end = label(model_name(suggester.name)), _ENDS[draft.stopped]
    is_judged = all(candidate.is_decided for candidate in offer.candidates)
    if offer.candidates:
        st.caption(f"A chain drafted by {name}{start}. {end}")
    else:
        st.info(f"{name} proposes nothing{start}. {end}", icon=":material/flag:")
    if offer.changes:
        changes = label("; ".join(offer.changes))
        st.warning(f"The tree has changed since the draft: {changes}.", icon=":material/update:")
    elif offer.candidates and is_judged:
        st.success("Every proposal is judged.", icon=":material/done_all:")
    if offer.changes or is_judged:
        _draw_button(page, "Draft again")


def _describe_wait(offer: Offer, suggester: Suggester, task: Task[Any]) -> str:
    if suggester.model is None:
        return f"Loading {label(model_name(suggester.name))}"
    if task.progress is None:
        return "Drafting the chain" if offer.means == "draft" else "Ranking candidates"
    done = task.progress.done
    return label(task.progress.what.capitalize()) + (f": {count_of(done, 'premise')} so far" if done else "")


def _premises(count: int) -> str:
    return "the premise" if count == 1 else f"the {count} premises"
