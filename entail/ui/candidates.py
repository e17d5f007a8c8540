"""The ranked premises of a node, ten at a time, each with its accept and reject."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from entail.trees.provenance import ordinal, ranked
from entail.trees.suggestions import Candidate
from entail.trees.tree import Tree
from entail.trees.wording import quote
from entail.ui.commands import PAGE, Command
from entail.ui.direction_panel import arrow_in_words
from entail.ui.resources import retriever_name, revisions
from entail.ui.screen import Desk
from entail.ui.suggester import Offer
from entail.ui.words import label, marked, words_of

if TYPE_CHECKING:
    from entail.gausscse.verdict import Verdict

_NO_ARROWS: Mapping[str, Verdict] = MappingProxyType({})


def draw_candidates(
    desk: Desk,
    *,
    total: int,
    gold: Mapping[str, str],
    revision: str,
    arrows: Mapping[str, Verdict] = _NO_ARROWS,
) -> None:
    """Draw the candidates on the screen.

    Args:
        desk: What is on the screen.
        total: Premises of the corpus.
        gold: What reference trees accept here, by folded text.
        revision: Of the corpus.
        arrows: What a candidate does to the node, by key.
    """
    screen, tree = desk.screen, desk.history.tree
    total = total if desk.offered is None else desk.offered
    if not desk.shown and not desk.pool and desk.evidence is not None:  # a failed search says so itself
        st.info(
            "No candidates: the corpus holds nothing else for this sentence. Search with your own words, "
            "write a premise yourself (key **w**), or add facts on the Corpora page.",
            icon=":material/search_off:",
        )
    query_words = words_of(screen.query or tree.node(screen.selected).text)
    provenance = _provenance(desk)
    for place, candidate in enumerate(desk.shown):
        _draw(
            desk,
            tree,
            place,
            candidate,
            query_words,
            gold,
            revision,
            provenance.get(candidate.premise.key),
            arrows.get(candidate.premise.key),
        )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            "Previous",
            icon=":material/chevron_left:",
            disabled=screen.page == 0,
            on_click=desk.run,
            args=(Command("page", step=-1),),
            key=f"previous-{screen.tree_id}",
            help="Key p",
        )
        first = screen.page * PAGE + 1
        st.caption(f"{first} to {first + len(desk.shown) - 1} of {total:,}" if desk.shown else "")
        st.button(
            "Next",
            icon=":material/chevron_right:",
            icon_position="right",
            disabled=len(desk.shown) < PAGE,
            on_click=desk.run,
            args=(Command("page", step=1),),
            key=f"next-{screen.tree_id}",
            help="Key n",
        )
    open_ = [c for c in desk.looked_at if c.judgement is None and c.in_tree is None]
    st.button(
        f"Finish: none of the other {len(open_)} shown explains this",
        icon=":material/done_all:",
        on_click=desk.run,
        args=(Command("finish"),),
        disabled=not open_ or desk.closed,
        width="stretch",
        key=f"finish-{screen.tree_id}",
        help="Key f. The candidates that you have seen here and not accepted become rejections.",
    )


def _draw(
    desk: Desk,
    tree: Tree,
    place: int,
    candidate: Candidate,
    query_words: frozenset[str],
    gold: Mapping[str, str],
    revision: str,
    provenance: tuple[str, str] | None,
    arrow: Verdict | None,
) -> None:
    screen, premise = desk.screen, candidate.premise
    digit = str((place + 1) % 10)
    # A hash of content in the key: a click can only ever act on what it was drawn for.
    key = f"{screen.tree_id}-{screen.selected}-{premise.key}-{revision}"
    below = candidate.in_tree is not None and candidate.in_tree in tree.node(screen.selected).children
    rejected = candidate.judgement is not None and not candidate.judgement.accepted
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row-{key}"):
        st.button(
            digit,
            icon=":material/check:",
            key=f"accept-{key}",
            disabled=below or desk.closed,
            on_click=desk.run,
            args=(Command("accept", premise.key),),
            help=f"Accept (key {digit})",
            width=62,
        )
        with st.container(gap=None):
            open_ = desk.offer is not None and desk.offer.means == "draft" and not (below or rejected)
            look = "entail-sentence entail-proposed" if open_ else "entail-sentence"
            st.html(f'<div class="{look}">{marked(premise.text, query_words)}</div>')
            notes = _notes(candidate, tree, below, rejected, gold, desk.offer)
            if arrow is not None:
                notes.insert(1, arrow_in_words(arrow))
            if provenance:
                notes.append(f"{label(provenance[0])} then")
            st.caption(" · ".join(notes), help=provenance[1] if provenance else None)
        st.button(
            "",
            icon=":material/close:",
            key=f"reject-{key}",
            disabled=below or rejected or desk.closed,
            on_click=desk.run,
            args=(Command("reject", premise.key),),
            help=f"Reject (key Shift+{digit})",
        )


def _provenance(desk: Desk) -> dict[str, tuple[str, str]]:
    """Return who ranked the candidates that are judged, by key: in short, and with all that was recorded."""
    judged = {c.premise.key: c.judgement for c in desk.shown if c.judgement is not None}
    if not judged:
        return {}
    evidence = desk.log.evidence(desk.screen.tree_id, seqs={j.seq for j in judged.values()})
    here = revisions()
    told: dict[str, tuple[str, str]] = {}
    for key, judgement in judged.items():
        then = evidence.get(judgement.seq)
        if then is None:
            continue
        words = ranked(then, key, here, called=retriever_name)
        at = desk.history.event(judgement.seq).at.astimezone()
        verdict = "Accepted" if judgement.accepted else "Rejected"
        told[key] = (
            words,
            f"{verdict} by {label(judgement.author)}, {at:%d %b %Y %H:%M}: {label(words)} "
            f"({label(then.revision)}), corpus version {then.corpus_version}, searched "
            f"{label(quote(then.query))}.",
        )
    return told


def _notes(
    candidate: Candidate,
    tree: Tree,
    below: bool,
    rejected: bool,
    gold: Mapping[str, str],
    offer: Offer | None,
) -> list[str]:
    place = "rank" if offer is None else "next" if offer.means == "next" else "proposal"
    notes = [f"{place} {candidate.rank} · {candidate.score:.3f}"]
    if candidate.retrieved is not None:
        notes.append(f"retrieved {ordinal(candidate.retrieved)}")
    if below:
        notes.append(":green[:material/check: accepted here]")
    elif candidate.in_tree is not None:
        notes.append(f":blue[:material/account_tree: already in the tree ({candidate.in_tree})]")
    if rejected and candidate.judgement is not None:
        notes.append(f":violet[:material/close: rejected by {label(candidate.judgement.author)}]")
    if candidate.premise.folded in gold:
        notes.append(":orange[:material/star: premise in the reference tree]")
    return notes
