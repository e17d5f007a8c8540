"""Candidates of a node: choice of list and ranking, state of proposals, and rows to accept and reject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from entail.data.text import count_of, quote
from entail.index.factory import LEXICAL
from entail.registry.roles import list_usable
from entail.runtime.tasks import Task
from entail.trees.review.commands import PAGE, Command
from entail.trees.review.provenance import ordinal
from entail.trees.review.suggestions import Candidate
from entail.ui.components.elements import announce, pick_view
from entail.ui.components.inbox import widget_value
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import reference_premises, retrievers
from entail.ui.shared.text import label, marked, spoken, words_of
from entail.ui.shared.waiting import draw_progress
from entail.ui.trees.models import (
    ACTIVE,
    KEYWORDS_KEY,
    RERANKS_KEY,
    RETRIEVER_KEY,
    Offer,
    Ranking,
    Suggester,
    keyword_index,
    ranking_of,
)
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import LISTS, Screen

_ENDS = {
    "bare prefix": "It looks complete: no premise improves it.",
    "nothing visible": "Stopped: no related premise is left.",
    "length": "Stopped: the limit of premises is reached.",
}


@st.fragment(run_every=0.4)
def draw_wait(screen: Screen, tasks: Iterable[Task[Any]], words: str) -> None:
    """Poll tasks and rerun the page when all are finished; not below an open dialog."""
    if screen.dialog is None and all(task.done.is_set() for task in tasks):
        st.rerun()
    st.caption(f":material/hourglass_empty: {words} …")


def draw_order(page: TreePage) -> None:
    """Draw the list and its ranking as one button, which opens their fields."""
    name = model_name(page.ranking.name)
    title = name if page.offer is None else f"{LISTS[page.screen.listing]} · {name}"
    with st.popover(title, icon=":material/sort:", help="Ranking and list of the candidates", key="ranking"):
        if page.suggester is not None:
            _draw_lists(page.screen)
        if list_usable("reranker"):
            st.toggle(
                "Re-rank the first candidates",
                key=RERANKS_KEY,
                persist_state="session",
                help="Reads the first candidates together with the sentence and re-orders them.",
            )
        _draw_retriever(page.ranking)


def _draw_lists(screen: Screen) -> None:
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


def _draw_retriever(ranking: Ranking) -> None:
    now = ranking.active if ranking.choice == ACTIVE else ranking_of(ACTIVE, ranking.corpus).active

    def display_name(choice: str) -> str:
        if choice != ACTIVE:
            return model_label(choice)
        return f"Active: {model_label(now.encoder) if now is not None else 'unknown'}"

    if ranking.choice == ACTIVE:  # the browser keeps the label of the choice, so a new one has to be set
        st.session_state[RETRIEVER_KEY] = ACTIVE
    st.selectbox(
        "Ranked by",
        [ACTIVE, *retrievers()],
        format_func=display_name,
        key=RETRIEVER_KEY,
        persist_state="session",
    )
    if ranking.base not in LEXICAL:
        st.toggle(
            "Include keyword match (BM25)",
            value=True,
            key=KEYWORDS_KEY,
            persist_state="session",
            help="Ranks premises higher that share rare words with the sentence.",
        )


def draw_candidates(page: TreePage) -> None:
    """Draw the candidates on the screen, or why there are none; those in reference trees are marked."""
    announce(f"Saved: {page.history.describe(page.history.events[-1], with_author=True)}")
    if page.offer is not None and page.suggester is not None:
        if not _draw_proposals(page, page.offer, page.suggester):
            return
    elif not len(page.corpus):
        st.info("This tree has no corpus. Write your own premises (key **w**).", icon=":material/edit_note:")
        return
    elif page.index is None or page.index is not page.building.value:  # it may be built by now
        is_waiting = page.index is None
        draw_progress(
            page.building,
            key="encoding",
            until=lambda: is_waiting and keyword_index(page.corpus, page.building),
            can_cancel=not page.is_locked,
        )
        if page.index is None:
            st.caption("You can edit the tree meanwhile, or choose another retriever.")
            return
        st.caption("Ranked by keywords until the premises are encoded.")
    if not page.shown and page.evidence is not None:  # a failed search has its own message
        st.info(
            "No candidates. Search with your own words, or write a premise.", icon=":material/search_off:"
        )
    gold = reference_premises(page.summary.corpus_id).get(page.node.folded, {})
    for index, candidate in enumerate(page.shown):
        _draw_row(page, candidate, digit=str((index + 1) % 10), is_gold=candidate.premise.folded in gold)
    _draw_paging(page)
    st.button(
        f"Reject the remaining {len(page.unjudged) or ''}",
        icon=":material/done_all:",
        on_click=page.run,
        args=(Command("finish"),),
        disabled=not page.unjudged or page.is_locked,
        width="stretch",
        key=f"finish-{page.screen.tree_id}",
        help="Key f. Rejects the candidates that you have seen here and not judged.",
    )


def _draw_proposals(page: TreePage, offer: Offer, suggester: Suggester) -> bool:
    """Draw the text above the proposals; return whether there are candidates to draw."""
    task, name = offer.task, label(model_name(suggester.name))
    if task is None:
        count = len(page.node.children)
        start = f" It continues from the {count_of(count, 'premise')} here." if count else ""
        st.caption(f"A chain of premises, each chosen after those before it.{start} You judge each one.")
        _draw_button(page, "Draft a chain")
        return False
    if task.error is not None:
        st.info(f"No proposals: {label(str(task.error), longest=300)}", icon=":material/link_off:")
        st.button("Try again", icon=":material/refresh:", key="propose_again", on_click=suggester.retry)
    elif offer.proposal is None or task.value is None:  # a task may end after the page was made
        draw_wait(
            page.screen, [task], "Drafting the chain" if offer.means == "draft" else "Ranking candidates"
        )
    elif offer.means == "draft":
        st.caption(f"A chain drafted by {name}. {_ENDS[task.value.stopped]}")
        if all(candidate.is_decided for candidate in offer.candidates):
            st.success("Every proposal is judged.", icon=":material/done_all:")
            _draw_button(page, "Draft again")
    else:
        accepted = " by what you accepted" if page.node.children else ""
        retriever = label(model_name(page.ranking.name))
        st.caption(f"Top {len(offer.candidates)} of {retriever}, re-ranked by {name}{accepted}.")
        best, stop = max((c.score for c in offer.candidates), default=None), task.value.stop_score
        if stop is not None and best is not None and stop >= best:
            st.info("Looks complete: no candidate improves it.", icon=":material/flag:")
    return offer.proposal is not None and (offer.means == "next" or bool(offer.candidates))


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


def _draw_row(page: TreePage, candidate: Candidate, *, digit: str, is_gold: bool) -> None:
    screen, is_child = page.screen, candidate.is_child
    # The key has a hash of the content, so a click acts only on what it was drawn for.
    key = f"{screen.tree_id}-{screen.selected}-{candidate.premise.key}-{page.corpus.hash[:8]}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{key}"):
        st.button(
            spoken(
                "" if is_child else digit, f"{'Take out' if is_child else 'Accept'}: {candidate.premise.text}"
            ),
            icon=":material/undo:" if is_child else ":material/check:",
            key=f"{'withdraw' if is_child else 'accept'}-{key}",
            disabled=page.is_locked or (is_child and not page.may_withdraw(candidate)),
            on_click=page.run,
            args=(Command("withdraw" if is_child else "accept", candidate.premise.key),),
            help="Take it out of the tree again" if is_child else f"Accept (key {digit})",
            width=56,
        )
        with st.container(gap=None):
            proposed = page.offer is not None and page.offer.means == "draft"
            style = " entail-proposed" if proposed and not candidate.is_decided else ""
            text = marked(candidate.premise.text, words_of(screen.query or page.node.text))
            rank = _rank(page, candidate)
            st.html(f'<div class="entail-sentence{style}" dir="auto" title="{rank}">{text}</div>')
            if notes := _notes(page, candidate, is_gold=is_gold):
                st.caption(notes)
        st.button(
            spoken("", f"Reject: {candidate.premise.text}"),
            icon=":material/close:",
            key=f"reject-{key}",
            disabled=candidate.is_decided or page.is_locked,
            on_click=page.run,
            args=(Command("reject", candidate.premise.key),),
            help=f"Reject (key Shift+{digit})",
        )


def _draw_paging(page: TreePage) -> None:
    first, count = page.screen.page * PAGE + 1, len(page.shown)
    total = len(page.corpus if page.offer is None else page.offer.candidates)
    turns = (("Previous", -1, "left", first == 1), ("Next", 1, "right", count < PAGE))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        for title, step, side, is_end in turns:
            st.button(
                title,
                icon=f":material/chevron_{side}:",
                icon_position="right" if step > 0 else "left",
                disabled=is_end,
                on_click=page.run,
                args=(Command("page", step=step),),
                key=f"{title.lower()}-{page.screen.tree_id}",
                help=f"Key {title[0].lower()}",
            )
            if step < 0:
                st.caption(f"{first} to {first + count - 1} of {total:,}" if count else "")


def _rank(page: TreePage, candidate: Candidate) -> str:
    means = page.offer.means if page.offer is not None else "retrieved"
    name = {"retrieved": "rank", "next": "next", "draft": "proposal"}[means]
    retrieved = f" · retrieved {ordinal(candidate.retrieved)}" if candidate.retrieved is not None else ""
    return f"{name} {candidate.rank} · {candidate.score:.3f}{retrieved}"


def _notes(page: TreePage, candidate: Candidate, *, is_gold: bool) -> str:
    notes = []
    if candidate.is_child:
        notes.append(":green[:material/check: accepted here]")
    elif candidate.in_tree is not None:
        above = page.tree.ancestors(candidate.in_tree)
        under = f", under {label(quote(above[0].text, longest=60))}" if above else ""
        notes.append(f":blue[:material/account_tree: already in the tree{under}]")
    if candidate.judgement is not None and candidate.is_rejected:
        notes.append(f":violet[:material/close: rejected by {label(candidate.judgement.author)}]")
    if is_gold:
        notes.append(":orange[:material/star: in the reference tree]")
    return " · ".join(notes)
