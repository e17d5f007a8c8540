"""Candidates of a node, ten at a time, with buttons to accept and reject."""

from __future__ import annotations

import streamlit as st

from entail.data.text import quote
from entail.trees.review.commands import PAGE, Command
from entail.trees.review.provenance import ordinal
from entail.trees.review.suggestions import Candidate
from entail.ui.shared.resources import reference_premises
from entail.ui.shared.text import label, marked, words_of
from entail.ui.shared.waiting import draw_progress
from entail.ui.trees.page import TreePage


def draw_candidates(page: TreePage) -> None:
    """Draw the candidates on the screen; those in reference trees at this node are marked."""
    screen = page.screen
    if page.index is None and page.offer is None:
        _draw_building(page)
        return
    if not page.shown and page.evidence is not None:
        # A failed search has its own message.
        st.info(
            "No candidates in this corpus. Search with your own words, write a premise (key **w**), or add "
            "premises on the Corpora page.",
            icon=":material/search_off:",
        )
    gold = reference_premises(page.summary.corpus_id).get(page.node.folded, {})
    for index, candidate in enumerate(page.shown):
        _draw_row(page, candidate, digit=str((index + 1) % 10), is_gold=candidate.premise.folded in gold)
    _draw_paging(page)
    unjudged = page.unjudged
    st.button(
        f"Reject the remaining {len(unjudged) or ''}",
        icon=":material/done_all:",
        on_click=page.run,
        args=(Command("finish"),),
        disabled=not unjudged or page.is_locked,
        width="stretch",
        key=f"finish-{screen.tree_id}",
        help="Key f. Rejects the candidates that you have seen here and not judged.",
    )


def _draw_building(page: TreePage) -> None:
    """Draw the reason why there are no candidates yet."""
    if not len(page.corpus):
        st.info("This tree has no corpus. Write your own premises (key **w**).", icon=":material/edit_note:")
        return
    draw_progress(page.building)
    st.caption(
        "Choose another retriever meanwhile. The active one is set on the Models page."
        if page.ranking.problem is not None
        else "You can edit the tree meanwhile. Each premise is encoded only once."
    )


def _draw_row(page: TreePage, candidate: Candidate, *, digit: str, is_gold: bool) -> None:
    screen, is_child = page.screen, candidate.is_child
    # The key has a hash of the content, so a click acts only on what it was drawn for.
    key = f"{screen.tree_id}-{screen.selected}-{candidate.premise.key}-{page.corpus.hash[:8]}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{key}"):
        st.button(
            digit,
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
            st.html(f'<div class="entail-sentence{style}" title="{_rank(page, candidate)}">{text}</div>')
            if notes := _notes(page, candidate, is_gold=is_gold):
                st.caption(notes)
        st.button(
            "",
            icon=":material/close:",
            key=f"reject-{key}",
            disabled=candidate.is_decided or page.is_locked,
            on_click=page.run,
            args=(Command("reject", candidate.premise.key),),
            help=f"Reject (key Shift+{digit})",
        )


def _draw_paging(page: TreePage) -> None:
    first = page.screen.page * PAGE + 1
    total = len(page.corpus if page.offer is None else page.offer.candidates)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        _draw_turn(page, "Previous", -1, "left", disabled=first == 1)
        st.caption(f"{first} to {first + len(page.shown) - 1} of {total:,}" if page.shown else "")
        _draw_turn(page, "Next", 1, "right", disabled=len(page.shown) < PAGE)


def _draw_turn(page: TreePage, title: str, step: int, side: str, *, disabled: bool) -> None:
    st.button(
        title,
        icon=f":material/chevron_{side}:",
        icon_position="right" if step > 0 else "left",
        disabled=disabled,
        on_click=page.run,
        args=(Command("page", step=step),),
        key=f"{title.lower()}-{page.screen.tree_id}",
        help=f"Key {title[0].lower()}",
    )


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
