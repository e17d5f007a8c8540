"""History of a tree: its acts, its named versions, two of them compared, and the way back to one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from entail.teams.differences import Difference
from entail.trees.log.acts import Redo, Undo
from entail.trees.review.provenance import describe_provenance
from entail.ui.components.elements import show_errors
from entail.ui.frame.author import with_mark
from entail.ui.frame.sign_in import shown_name
from entail.ui.review.curation import draw_difference
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import revisions
from entail.ui.shared.text import ago, label, local
from entail.ui.trees.page import TreePage

_LONGEST = 100
"""Acts that the history shows."""


def draw_history(page: TreePage) -> None:
    """Draw the versions, and the last hundred events with the ranking behind each judgement."""
    names = _draw_versions(page)
    history, evidence, available = page.history, page.evidence_by_seq, revisions()
    for event in reversed(history.events[-_LONGEST:]):
        words = label(history.describe(event))
        if event.seq in history.out_of_force and not isinstance(event.act, Undo | Redo):
            words = f"~~{words}~~ (undone)"
        if event.seq in names:
            words += f" :blue-badge[:material/bookmark: {label(names[event.seq])}]"
        if ranking := evidence.get(event.seq):
            provenance = describe_provenance(event.act, ranking, available, display_name=model_name)
            words += f"  \n:gray[{label(provenance)}]"
        author = with_mark(event.author, verified=event.verified)
        st.markdown(f":gray[{event.seq} · {local(event.at):%d %b %H:%M:%S}] {author}  {words}")
    if len(history.events) > _LONGEST:
        st.caption(f"{len(history.events) - _LONGEST} older acts are in the log and in every backup.")


def _draw_versions(page: TreePage) -> Mapping[int, str]:
    """Draw the choice of an act and what can be done with the tree after it; return the names by seq."""
    history, tree_id, stores = page.history, page.summary.id, page.shared
    is_stored = not stores.database.read_only  # not that of a visitor of a demo
    named = stores.versions.versions(tree_id, actor=stores.viewer) if is_stored else []
    names: dict[int, str] = {version.seq: version.name for version in reversed(named)}

    def title(seq: int) -> str:
        words = names.get(seq) or history.describe(history.event(seq))
        return f"{seq} · {words}" if seq < history.seq else f"{seq} · now"

    recent = [event.seq for event in reversed(history.events[-_LONGEST:])]
    seqs = list(dict.fromkeys([recent[0], *sorted(names, reverse=True), *recent]))
    with st.container(border=True, key="versions"):
        left, right = st.columns(2)
        seq = left.selectbox("Version", seqs, format_func=title, key=f"version-{tree_id}")
        other = right.selectbox("Compared with", seqs, format_func=title, key=f"compared-{tree_id}")
        if version := next((version for version in named if version.seq == seq), None):
            st.caption(f"Named by {label(shown_name(version.author))}, {ago(version.at)}")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            st.button(
                "Return to it",
                icon=":material/restore:",
                key="restore",
                disabled=page.is_locked or seq == history.seq,
                on_click=page.restore,
                args=(seq,),
                help="A new act, which can be undone",
            )
            if is_stored and page.author:
                _draw_name(page, page.author, seq)
        if seq != other:
            _draw_comparison(page, seq, other)
    return names


def _draw_name(page: TreePage, author: str, seq: int) -> None:
    form = st.form(f"name-version-{page.summary.id}", border=False, clear_on_submit=True)
    with form, st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.text_input("Name", max_chars=100, placeholder="First draft", key="version_name")
        if st.form_submit_button("Name it", icon=":material/bookmark_add:"):
            with show_errors():
                page.shared.versions.name(page.summary.id, name, seq=seq, actor=author)
                st.rerun()


def _draw_comparison(page: TreePage, seq: int, other: int) -> None:
    """Draw what each of two versions has and the other lacks."""
    with show_errors():
        compare = partial(page.shared.versions.compare, page.summary.id, actor=page.shared.viewer)
        sides: Mapping[int, list[Difference]] = {seq: compare(other, seq), other: compare(seq, other)}
        for side, rows in sides.items():
            st.markdown(f"**Only in version {side}** ({len(rows):,})")
            lacking = page.history.at(seq if side == other else other).tree
            for row in rows:
                draw_difference(row, lacking)
