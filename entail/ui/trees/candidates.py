"""Candidates of a node, ten at a time, with buttons to accept and reject."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from entail.trees.log.tree import Tree
from entail.trees.log.wording import quote
from entail.trees.review.commands import PAGE, Command
from entail.trees.review.provenance import ordinal, ranked
from entail.trees.review.suggestions import Candidate
from entail.ui.shared.resources import retriever_name, revisions
from entail.ui.shared.text import label, marked, words_of
from entail.ui.trees.direction_panel import describe_verdict
from entail.ui.trees.screen import AuthoringSession
from entail.ui.trees.suggester import Offer

if TYPE_CHECKING:
    from entail.gausscse.verdict import Verdict

_NO_VERDICTS: Mapping[str, Verdict] = MappingProxyType({})


def draw_candidates(
    session: AuthoringSession,
    *,
    total: int,
    gold: Mapping[str, str],
    revision: str,
    verdicts: Mapping[str, Verdict] = _NO_VERDICTS,
) -> None:
    """Draw the candidates on the screen.

    Args:
        session: Session with the candidates.
        total: Number of premises in the corpus.
        gold: Premises of reference trees at this node, by folded text.
        revision: Revision of the corpus.
        verdicts: Entailment between candidate and node, by premise key.
    """
    screen, tree = session.screen, session.history.tree
    total = total if session.offered is None else session.offered
    if (
        not session.shown and not session.pool and session.evidence is not None
    ):  # a failed search has its own message
        st.info(
            "No candidates in this corpus. Search with your own words, write a premise (key **w**), or add "
            "premises "
            "on the Corpora page.",
            icon=":material/search_off:",
        )
    query_words = words_of(screen.query or tree.node(screen.selected).text)
    provenance = _provenance(session)
    for index, candidate in enumerate(session.shown):
        _draw(
            session,
            tree,
            index,
            candidate,
            query_words,
            gold,
            revision,
            provenance.get(candidate.premise.key),
            verdicts.get(candidate.premise.key),
        )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            "Previous",
            icon=":material/chevron_left:",
            disabled=screen.page == 0,
            on_click=session.run,
            args=(Command("page", step=-1),),
            key=f"previous-{screen.tree_id}",
            help="Key p",
        )
        first = screen.page * PAGE + 1
        st.caption(f"{first} to {first + len(session.shown) - 1} of {total:,}" if session.shown else "")
        st.button(
            "Next",
            icon=":material/chevron_right:",
            icon_position="right",
            disabled=len(session.shown) < PAGE,
            on_click=session.run,
            args=(Command("page", step=1),),
            key=f"next-{screen.tree_id}",
            help="Key n",
        )
    open_ = [c for c in session.looked_at if c.judgement is None and c.in_tree is None]
    st.button(
        f"Reject the remaining {len(open_)}",
        icon=":material/done_all:",
        on_click=session.run,
        args=(Command("finish"),),
        disabled=not open_ or session.is_locked,
        width="stretch",
        key=f"finish-{screen.tree_id}",
        help="Key f. Rejects the candidates that you have seen here and not judged.",
    )


def _draw(
    session: AuthoringSession,
    tree: Tree,
    index: int,
    candidate: Candidate,
    query_words: frozenset[str],
    gold: Mapping[str, str],
    revision: str,
    provenance: tuple[str, str] | None,
    verdict: Verdict | None,
) -> None:
    screen, premise = session.screen, candidate.premise
    digit = str((index + 1) % 10)
    # The key has a hash of the content, so a click acts only on what it was drawn for.
    key = f"{screen.tree_id}-{screen.selected}-{premise.key}-{revision}"
    below = candidate.in_tree is not None and candidate.in_tree in tree.node(screen.selected).children
    rejected = candidate.judgement is not None and not candidate.judgement.accepted
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{key}"):
        st.button(
            digit,
            icon=":material/check:",
            key=f"accept-{key}",
            disabled=below or session.is_locked,
            on_click=session.run,
            args=(Command("accept", premise.key),),
            help=f"Accept (key {digit})",
            width=62,
        )
        with st.container(gap=None):
            open_ = session.offer is not None and session.offer.means == "draft" and not (below or rejected)
            style = "entail-sentence entail-proposed" if open_ else "entail-sentence"
            st.html(f'<div class="{style}">{marked(premise.text, query_words)}</div>')
            notes = _notes(candidate, tree, below, rejected, gold, session.offer)
            if verdict is not None:
                notes.insert(1, describe_verdict(verdict))
            if provenance:
                notes.append(label(provenance[0]))
            st.caption(" · ".join(notes), help=provenance[1] if provenance else None)
        st.button(
            "",
            icon=":material/close:",
            key=f"reject-{key}",
            disabled=below or rejected or session.is_locked,
            on_click=session.run,
            args=(Command("reject", premise.key),),
            help=f"Reject (key Shift+{digit})",
        )


def _provenance(session: AuthoringSession) -> dict[str, tuple[str, str]]:
    """Return the ranking behind each judgement on the screen, by premise key: in short, and in full."""
    judged = {c.premise.key: c.judgement for c in session.shown if c.judgement is not None}
    if not judged:
        return {}
    evidence = session.log.evidence(session.screen.tree_id, seqs={j.seq for j in judged.values()})
    available = revisions()
    provenance: dict[str, tuple[str, str]] = {}
    for key, judgement in judged.items():
        recorded = evidence.get(judgement.seq)
        if recorded is None:
            continue
        words = ranked(recorded, key, available, called=retriever_name)
        at = session.history.event(judgement.seq).at.astimezone()
        verdict = "Accepted" if judgement.accepted else "Rejected"
        rank = next((shown.rank for shown in recorded.shown if shown.key == key), None)
        provenance[key] = (
            f"Was #{rank} ({retriever_name(recorded.retriever)})" if rank is not None else words,
            f"{verdict} by {label(judgement.author)}, {at:%d %b %Y %H:%M}: {label(words)} "
            f"({label(recorded.revision)}), corpus version {recorded.corpus_version}, query "
            f"{label(quote(recorded.query))}.",
        )
    return provenance


def _notes(
    candidate: Candidate,
    tree: Tree,
    below: bool,
    rejected: bool,
    gold: Mapping[str, str],
    offer: Offer | None,
) -> list[str]:
    name = "rank" if offer is None else "next" if offer.means == "next" else "proposal"
    notes = [f"{name} {candidate.rank} · {candidate.score:.3f}"]
    if candidate.retrieved is not None:
        notes.append(f"retrieved {ordinal(candidate.retrieved)}")
    if below:
        notes.append(":green[:material/check: accepted here]")
    elif candidate.in_tree is not None:
        notes.append(
            f":blue[:material/account_tree: already in the tree{_parent_of(candidate.in_tree, tree)}]"
        )
    if rejected and candidate.judgement is not None:
        notes.append(f":violet[:material/close: rejected by {label(candidate.judgement.author)}]")
    if candidate.premise.folded in gold:
        notes.append(":orange[:material/star: in the reference tree]")
    return notes


def _parent_of(node_id: str, tree: Tree) -> str:
    parent = tree.node(node_id).parent
    return f", under {label(quote(tree.node(parent).text, longest=60))}" if parent is not None else ""
