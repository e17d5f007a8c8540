"""What lies on the disk, and what of it can go because it can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import streamlit as st

from entail.errors import EntailError
from entail.operations.cleaning import Removable, clean, removable
from entail.operations.storage import in_words, look_at_room
from entail.trees.doctor import LITTLE_SPACE
from entail.ui.author import asks_who
from entail.ui.resources import Workspace, jobs
from entail.ui.words import label


def draw_room(shared: Workspace) -> None:
    """Draw what takes room, and a list to pick from what shall go."""
    room = look_at_room()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        st.metric("Free", in_words(room.free), width="content")
        st.metric("Disk", in_words(room.total), width="content")
        st.metric("Kept here", in_words(sum(kept.size for kept in room.kept)), width="content")
    st.progress(1 - room.free / room.total, text=f"The disk of {label(room.folder)}")
    if room.free < LITTLE_SPACE:
        st.warning("There is little room left: trainings and backups may fail.", icon=":material/hard_drive:")
    st.dataframe(
        [
            {
                "what": kept.what,
                "size": in_words(kept.size),
                "can be made again": kept.again,
                "where": kept.where,
            }
            for kept in room.kept
        ],
        hide_index=True,
        width="stretch",
        height="content",
    )
    st.subheader("Clean up")
    st.caption(
        "Only what can be made again is listed: never trees, corpora, encoders, backups, or what jobs were "
        "set to and came to. The same on the command line: `entail clean`."
    )
    _draw_notice()
    _draw_removable(removable(jobs(), corpora=shared.corpora), shared)


def _draw_notice() -> None:
    done: tuple[str, Sequence[str]] | None = st.session_state.pop("cleaned", None)
    if done is None:
        return
    said, kept = done
    st.success(said, icon=":material/delete_sweep:")
    for line in kept:
        st.warning(label(line, longest=300))


def _draw_removable(things: Sequence[Removable], shared: Workspace) -> None:
    if not things:
        st.info("There is nothing to clean up.", icon=":material/check:")
        return
    picked = st.dataframe(
        [
            {
                "what": f"{thing.kind}: {thing.what}",
                "size": in_words(thing.size),
                "removing it costs": thing.cost,
            }
            for thing in things
        ],
        hide_index=True,
        width="stretch",
        on_select="rerun",
        selection_mode="multi-row",
        column_config={"what": st.column_config.TextColumn(width="large")},
        # What is listed in the key: a selection never carries over to other rows.
        key=f"removable-{sha256(' '.join(thing.id for thing in things).encode()).hexdigest()[:12]}",
    )
    chosen = [things[row] for row in picked["selection"]["rows"] if row < len(things)]
    total = in_words(sum(thing.size for thing in chosen))
    if st.button(
        f"Remove {len(chosen)} ({total}) …" if chosen else "Remove …",
        icon=":material/delete:",
        disabled=not chosen,
        key="remove",
        help=None if chosen else "Pick rows first: the boxes at their left.",
    ):
        _confirm(chosen, shared)


@st.dialog("Remove for good?")
def _confirm(chosen: Sequence[Removable], shared: Workspace) -> None:
    for thing in chosen[:12]:
        st.markdown(
            f"**{thing.kind}: {label(thing.what, longest=120)}** {in_words(thing.size)}  \n"
            f":gray[Removing it costs: {label(thing.cost)}]"
        )
    if len(chosen) > 12:
        st.caption(f"and {len(chosen) - 12} more")
    with st.container(horizontal=True):
        if st.button("Remove", type="primary", key="remove_confirmed"):
            _remove(chosen, shared)
        if st.button("Keep", key="remove_not"):
            st.rerun()


def _remove(chosen: Sequence[Removable], shared: Workspace) -> None:
    if not st.session_state.get("author"):
        st.warning(asks_who())
        return
    try:
        done = clean([thing.id for thing in chosen], jobs=jobs(), corpora=shared.corpora)
    except EntailError as error:
        st.error(label(str(error)))
        return
    words = {thing.id: thing.what for thing in chosen}
    st.session_state["cleaned"] = (
        f"{len(done.removed)} removed, {in_words(done.size)} given back.",
        [f"{words.get(name, name)} stays: {why}" for name, why in done.kept.items()],
    )
    st.rerun()
