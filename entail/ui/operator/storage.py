"""Disk space and clean-up, database and backups, licences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import streamlit as st

from entail.operations.cleaning import Removable, clean, list_removable
from entail.operations.doctor import LITTLE_SPACE
from entail.operations.licences import Licence, data_licences, encoder_licences, package_licences
from entail.operations.storage import back_up, backups, in_words, measure_storage
from entail.runtime.tasks import TaskGroup
from entail.settings import MAX_UPLOAD_MB
from entail.trees.installation.backup import Backup
from entail.trees.installation.health import counts
from entail.trees.store import schema
from entail.ui.components.elements import draw_table, show_errors
from entail.ui.frame.author import ask_name
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import ago, label
from entail.ui.shared.waiting import draw_result, start_task

_SHOWN = 12
_BACKUPS_SHOWN = 10
_KINDS = {"encoder": "Encoders", "sample": "Data", "corpus": "Data", "package": "Packages"}

CHECKS = TaskGroup("operator", failure="the check failed")
"""Checks and backups of the Operator page."""


def draw_storage(shared: Workspace) -> None:
    """Draw disk usage, and the items that can be removed."""
    room = measure_storage()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        st.metric("Free", in_words(room.free), width="content")
        st.metric("Disk", in_words(room.total), width="content")
        st.metric("Used by entail", in_words(sum(item.size for item in room.kept)), width="content")
    st.progress(1 - room.free / room.total, text=f"Disk of {label(room.folder)}")
    if room.free < LITTLE_SPACE:
        st.warning("Low disk space: trainings and backups may fail.", icon=":material/hard_drive:")
    draw_table(
        [
            {
                "what": usage.what,
                "size": in_words(usage.size),
                "can be rebuilt": usage.again,
                "where": usage.where,
            }
            for usage in room.kept
        ]
    )
    st.subheader("Clean up")
    st.caption(
        "Lists only files that entail can rebuild; trees, corpora, encoders, backups and results of jobs "
        "stay. On the command line: `entail clean`."
    )
    message, failures = st.session_state.pop("cleaned", ("", ()))
    if message:
        st.success(message, icon=":material/delete_sweep:")
    for failure in failures:
        st.warning(label(failure, longest=300))
    _draw_removable(list_removable(jobs(), corpora=shared.corpora), shared)


def _draw_removable(items: Sequence[Removable], shared: Workspace) -> None:
    if not items:
        st.info("There is nothing to clean up.", icon=":material/check:")
        return
    selection = st.dataframe(
        [
            {"what": f"{item.kind}: {item.what}", "size": in_words(item.size), "cost": item.cost}
            for item in items
        ],
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={"what": st.column_config.TextColumn(width="large")},
        # The key holds the listed ids: a selection never carries over to other rows.
        key=f"removable-{sha256(' '.join(item.id for item in items).encode()).hexdigest()[:12]}",
    )
    selected = [items[row] for row in selection["selection"]["rows"] if row < len(items)]
    size = in_words(sum(item.size for item in selected))
    if st.button(
        f"Remove {len(selected)} ({size}) …" if selected else "Remove …",
        icon=":material/delete:",
        disabled=not selected,
        key="remove",
        help=None if selected else "Select rows by the boxes on their left.",
    ):
        _confirm(selected, shared)


@st.dialog("Remove for good?")
def _confirm(items: Sequence[Removable], shared: Workspace) -> None:
    for item in items[:_SHOWN]:
        st.markdown(
            f"**{item.kind}: {label(item.what, longest=120)}** {in_words(item.size)}  \n"
            f":gray[Cost: {label(item.cost)}]"
        )
    if len(items) > _SHOWN:
        st.caption(f"and {len(items) - _SHOWN} more")
    with st.container(horizontal=True):
        if st.button("Remove", type="primary", key="remove_confirmed"):
            _remove(items, shared)
        if st.button("Cancel", key="remove_not"):
            st.rerun()


def _remove(items: Sequence[Removable], shared: Workspace) -> None:
    if not st.session_state.get("author"):
        ask_name("storage")
        return
    with show_errors():
        result = clean([item.id for item in items], jobs=jobs(), corpora=shared.corpora)
        names = {item.id: item.what for item in items}
        st.session_state["cleaned"] = (
            f"Removed {len(result.removed)}, freed {in_words(result.size)}.",
            [f"Not removed: {names.get(id_, id_)}: {reason}" for id_, reason in result.kept.items()],
        )
        st.rerun()


def draw_database(shared: Workspace) -> None:
    """Draw kind, size, schema revision and rows of the database, and its backups."""
    database = shared.database
    rows, size, revision = counts(database)
    metrics = {
        "Kind": "SQLite" if database.file is not None else "PostgreSQL",
        "Size": in_words(size),
        "Schema revision": revision or "none",
        "Trees": f"{rows['trees']:,}",
        "Acts": f"{rows['events']:,}",
    }
    with st.container(horizontal=True, gap="large"):
        for name, value in metrics.items():
            st.metric(name, value, width="content")
    st.caption(f"{label(database.url)} · this version of entail uses schema revision {schema.REVISION}")
    if database.read_only:
        st.warning(f"The database is read-only: {label(database.remedy)}.", icon=":material/lock:")
    with st.expander("Rows by table"):
        draw_table([{"table": name, "rows": count} for name, count in rows.items()])
    st.subheader("Backup")
    st.caption(
        "A snapshot of trees, corpora, authors and the encoders in the data folder. `entail restore FILE` "
        "restores it into SQLite or PostgreSQL. Copy it to another disk."
    )
    st.button(
        "Back up now",
        type="primary",
        icon=":material/save:",
        key="back_up",
        on_click=start_task,
        args=(CHECKS, "backup", lambda report: back_up(progress=report)),
        kwargs={"slot": "backup"},
    )
    backup = draw_result(CHECKS, "backup", Backup, waiting="Writing the backup …", slot="backup")
    if backup is not None:
        st.success(f"Wrote {label(backup.file.name)} ({in_words(backup.size)}).")
    for file in backups()[:_BACKUPS_SHOWN]:
        _draw_backup(file)


def _draw_backup(file: Path) -> None:
    stat = file.stat()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/inventory_2: {label(file.name)} :gray[{in_words(stat.st_size)}, "
            f"{ago(datetime.fromtimestamp(stat.st_mtime, UTC))}]",
            width="stretch",
        )
        if stat.st_size <= MAX_UPLOAD_MB * 2**20:
            draw_download("Download", file.name, file.read_bytes)
        else:
            st.caption("Too large to download here; copy it from the folder `backups` of the data folder.")


def draw_licences(shared: Workspace) -> None:
    """Draw the licences of encoders, data and packages; first those to review."""
    infos = shared.corpora.corpora(archived=None)
    corpora = [(corpus.name, corpus.version, corpus.licence) for corpus in infos]
    licences = [*encoder_licences(), *data_licences(corpora), *_package_licences()]
    unclear = [licence for licence in licences if licence.look]
    st.caption("As stated by packages, cards and owners. On the command line: `entail doctor --licences`.")
    if unclear:
        st.warning(
            f"{len(unclear)} of {len(licences)} need a review before you redistribute them: no licence is "
            "stated, or it has terms of its own.",
            icon=":material/gavel:",
        )
        _draw_licences(unclear)
    for title in dict.fromkeys(_KINDS.values()):
        st.subheader(title)
        _draw_licences([licence for licence in licences if _KINDS[licence.kind] == title])
    draw_download(
        "Download as CSV",
        "licences.csv",
        lambda: ({"what": licence.kind, **_cells(licence)} for licence in licences),
    )


def _cells(licence: Licence) -> dict[str, object]:
    return {"name": licence.name, "version": licence.version, "licence": licence.licence}


def _draw_licences(licences: Sequence[Licence]) -> None:
    draw_table([_cells(licence) for licence in licences], height="content" if len(licences) < _SHOWN else 420)


@st.cache_data(show_spinner="Reading installed packages …", ttl=3600)
def _package_licences() -> list[Licence]:
    return package_licences()
