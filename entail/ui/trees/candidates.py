"""Candidates of a node, ten at a time, with buttons to accept and reject."""

from __future__ import annotations

import streamlit as st

from entail.data.text import quote
from entail.trees.review.commands import PAGE, Command
from entail.trees.review.provenance import describe_rank, describe_retriever, ordinal
from entail.trees.review.suggestions import Candidate
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import reference_premises, revisions
from entail.ui.shared.text import label, local, marked, words_of
from entail.ui.shared.waiting import draw_progress
from entail.ui.trees.page import TreePage

DETAILS_KEY = "candidate_details"
"""Widget key of the switch for scores and provenance."""


def draw_candidates(page: TreePage) -> None:
    """Draw the candidates on the screen; those in reference trees at this node are marked."""
    screen = page.screen
    if not page.shown and page.evidence is not None:
        # A failed search has its own message.
        st.info(
            "No candidates in this corpus. Search with your own words, write a premise (key **w**), or add "
            "premises on the Corpora page.",
            icon=":material/search_off:",
        )
    gold = reference_premises(page.summary.corpus_id).get(page.node.folded, {})
    query_words = words_of(screen.query or page.node.text)
    details = bool(st.session_state.get(DETAILS_KEY))
    provenance = _provenance(page) if details else {}
    for index, candidate in enumerate(page.shown):
        key = candidate.premise.key
        rank, notes = _rank(page, candidate), _notes(page, candidate)
        if details:
            notes.insert(0, rank)
        if candidate.premise.folded in gold:
            notes.append(":orange[:material/star: in the reference tree]")
        short, full = provenance.get(key, ("", None))
        if short:
            notes.append(label(short))
        # The widget key has a hash of the content, so a click acts only on what it was drawn for.
        _draw_row(
            page,
            candidate,
            digit=str((index + 1) % 10),
            key=f"{screen.tree_id}-{screen.selected}-{key}-{page.corpus.hash[:8]}",
            text=marked(candidate.premise.text, query_words),
            rank=rank,
            notes=" · ".join(notes),
            help_=full,
        )
    _draw_paging(page, len(page.corpus if page.offer is None else page.offer.candidates))
    open_ = page.unjudged
    st.button(
        f"Reject the remaining {len(open_)}" if open_ else "Reject the remaining",
        icon=":material/done_all:",
        on_click=page.run,
        args=(Command("finish"),),
        disabled=not open_ or page.is_locked,
        width="stretch",
        key=f"finish-{screen.tree_id}",
        help="Key f. Rejects the candidates that you have seen here and not judged.",
    )


def draw_building(page: TreePage) -> None:
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


def _draw_row(
    page: TreePage,
    candidate: Candidate,
    *,
    digit: str,
    key: str,
    text: str,
    rank: str,
    notes: str,
    help_: str | None,
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{key}"):
        withdraws = candidate.is_child
        st.button(
            digit,
            icon=":material/undo:" if withdraws else ":material/check:",
            key=f"{'withdraw' if withdraws else 'accept'}-{key}",
            disabled=page.is_locked or (withdraws and not page.may_withdraw(candidate)),
            on_click=page.run,
            args=(Command("withdraw" if withdraws else "accept", candidate.premise.key),),
            help="Take it out of the tree again" if withdraws else f"Accept (key {digit})",
            width=56,
        )
        with st.container(gap=None):
            proposed = page.offer is not None and page.offer.means == "draft"
            style = " entail-proposed" if proposed and not candidate.is_decided else ""
            st.html(f'<div class="entail-sentence{style}" title="{rank}">{text}</div>')
            if notes:
                st.caption(notes, help=help_)
        st.button(
            "",
            icon=":material/close:",
            key=f"reject-{key}",
            disabled=candidate.is_decided or page.is_locked,
            on_click=page.run,
            args=(Command("reject", candidate.premise.key),),
            help=f"Reject (key Shift+{digit})",
        )


def _draw_paging(page: TreePage, total: int) -> None:
    screen = page.screen
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            "Previous",
            icon=":material/chevron_left:",
            disabled=screen.page == 0,
            on_click=page.run,
            args=(Command("page", step=-1),),
            key=f"previous-{screen.tree_id}",
            help="Key p",
        )
        first = screen.page * PAGE + 1
        st.caption(f"{first} to {first + len(page.shown) - 1} of {total:,}" if page.shown else "")
        st.button(
            "Next",
            icon=":material/chevron_right:",
            icon_position="right",
            disabled=len(page.shown) < PAGE,
            on_click=page.run,
            args=(Command("page", step=1),),
            key=f"next-{screen.tree_id}",
            help="Key n",
        )


def _provenance(page: TreePage) -> dict[str, tuple[str, str]]:
    """Return the ranking behind each judgement on the screen, by premise key: in short, and in full."""
    judged = {c.premise.key: c.judgement for c in page.shown if c.judgement is not None}
    if not judged:
        return {}
    evidence = page.shared.log.evidence(page.screen.tree_id, seqs={j.seq for j in judged.values()})
    available = revisions()
    provenance: dict[str, tuple[str, str]] = {}
    for key, judgement in judged.items():
        recorded = evidence.get(judgement.seq)
        if recorded is None:
            continue
        retriever = describe_retriever(recorded, available, display_name=model_name)
        words = describe_rank(recorded, key, retriever)
        at = local(page.history.event(judgement.seq).at)
        rank = next((entry.rank for entry in recorded.shown if entry.key == key), None)
        provenance[key] = (
            f"Was #{rank} ({model_name(recorded.retriever)})" if rank is not None else words,
            f"{'Accepted' if judgement.accepted else 'Rejected'} by {label(judgement.author)}, "
            f"{at:%d %b %Y %H:%M}: {label(words)} ({label(recorded.revision)}), corpus version "
            f"{recorded.corpus_version}, query {label(quote(recorded.query))}.",
        )
    return provenance


def _rank(page: TreePage, candidate: Candidate) -> str:
    means = page.offer.means if page.offer is not None else "retrieved"
    name = {"retrieved": "rank", "next": "next", "draft": "proposal"}[means]
    retrieved = f" · retrieved {ordinal(candidate.retrieved)}" if candidate.retrieved is not None else ""
    return f"{name} {candidate.rank} · {candidate.score:.3f}{retrieved}"


def _notes(page: TreePage, candidate: Candidate) -> list[str]:
    notes = []
    if candidate.is_child:
        notes.append(":green[:material/check: accepted here]")
    elif candidate.in_tree is not None:
        above = page.tree.ancestors(candidate.in_tree)
        under = f", under {label(quote(above[0].text, longest=60))}" if above else ""
        notes.append(f":blue[:material/account_tree: already in the tree{under}]")
    if candidate.judgement is not None and candidate.is_rejected:
        notes.append(f":violet[:material/close: rejected by {label(candidate.judgement.author)}]")
    return notes
