"""The database: what it is, what it holds, and copies of it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from entail.operations.backups import back_up, backups
from entail.operations.storage import in_words
from entail.settings import MAX_UPLOAD_MB
from entail.trees import schema
from entail.trees.backup import Backup
from entail.trees.health import counts
from entail.ui.operator_machine import checks
from entail.ui.resources import Workspace
from entail.ui.words import ago, label


def draw_database(shared: Workspace) -> None:
    """Draw kind, size, revision and rows, and the button that makes a copy."""
    database = shared.database
    rows, size, revision = counts(database)
    with st.container(horizontal=True, gap="large"):
        kind = "SQLite" if database.file is not None else "PostgreSQL"
        st.metric("Kind", kind, width="content")
        st.metric("Size", in_words(size), width="content")
        st.metric(
            "Tables of revision",
            revision or "none",
            width="content",
            help=f"This version has {schema.REVISION}, and brings older ones up to it when it starts.",
        )
        st.metric("Trees", f"{rows['trees']:,}", width="content")
        st.metric("Acts", f"{rows['events']:,}", width="content")
    st.caption(label(database.url))
    if database.read_only:
        st.warning(f"It can only be read: {label(database.remedy)}.", icon=":material/lock:")
    with st.expander("Rows by table"):
        st.dataframe(
            [{"table": name, "rows": count} for name, count in rows.items()],
            hide_index=True,
            height="content",
        )
    st.subheader("Backup")
    st.caption(
        "A copy of this moment, whoever works on meanwhile: trees, corpora, authors, and the encoders in the "
        "data folder. `entail restore FILE` brings it back, into SQLite or PostgreSQL. Keep it elsewhere: "
        "a copy on the same disk goes with it."
    )
    _draw_backup()


def _draw_backup() -> None:
    if st.button("Back up now", type="primary", icon=":material/save:", key="back_up"):
        st.session_state["backup"] = secrets.token_hex(4)
    if "backup" in st.session_state:
        place = ("backup", str(st.session_state["backup"]))
        work = checks().take(place, lambda report: back_up(progress=report), wait=2.5)
        if not work.done.is_set():
            st.progress(work.progress.fraction if work.progress else 0.0, text="Writing the backup …")
            st.fragment(_again, run_every=1.0)(place)
        elif work.error is not None:
            st.error(label(str(work.error)))
        elif isinstance(work.value, Backup):
            st.success(f"Wrote {label(work.value.file.name)} ({in_words(work.value.size)}).")
    for file in backups()[:10]:
        _draw_file(file)


def _again(place: tuple[str, str]) -> None:
    work = checks().look(place)
    if work is None or work.done.is_set():
        st.rerun()


def _draw_file(file: Path) -> None:

    about = file.stat()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/inventory_2: {label(file.name)} :gray[{in_words(about.st_size)}, "
            f"{ago(datetime.fromtimestamp(about.st_mtime, UTC))}]",
            width="stretch",
        )
        if about.st_size <= MAX_UPLOAD_MB * 2**20:
            st.download_button(
                "Download",
                data=file.read_bytes,
                file_name=file.name,
                mime="application/zip",
                icon=":material/download:",
                key=f"download-{file.name}",
                on_click="ignore",
            )
        else:
            st.caption("Too large for the browser: fetch it from the folder `backups` of the data folder.")
