"""An encoder on this machine: brought into memory, how much it takes and where, how fast it is, let go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from entail.progress import Meter, ProgressCallback
from entail.ui.authoring import draw_progress
from entail.ui.demo import closed
from entail.ui.models_encoder_list import Row, megabytes
from entail.ui.resources import retriever_label, shelf
from entail.ui.words import label
from entail.ui.works import Works

if TYPE_CHECKING:
    from entail.encoders.biencoder import BiEncoder
    from entail.encoders.throughput import Throughput


@st.cache_resource(show_spinner=False)
def encoder_works() -> Works:
    """Return what the process does with encoders: fetched, loaded, measured."""
    return Works(64, failure="it could not be done")


def draw_memory(row: Row) -> None:
    """Draw whether an encoder is in memory, what it takes there, and how fast it is."""
    if row.entry.problem is not None:
        st.info("It cannot be loaded, so there is nothing to measure.", icon=":material/block:")
        return
    if closed("encoders are loaded as searches need them, and nothing is measured"):
        return
    encoder = shelf().held(row.name)
    if encoder is None:
        _draw_absent(row)
    else:
        _draw_present(row, encoder)
    _draw_throughput(row)


def load(name: str, report: ProgressCallback) -> str:
    """Bring an encoder into memory and let it encode a first text, which takes longer than those after it.

    Raises:
        EncoderError: If it cannot be loaded safely.
        SettingsError: If its device is not there.
    """
    meter = Meter(3, f"loading {retriever_label(name)}", unit="steps", report=report, interval=0)
    meter.add(0)
    encoder = shelf().encoder(name)
    revision = encoder.revision
    meter.add(1)
    encoder.load()
    meter.add(1)
    encoder.encode_queries(["a text"])
    meter.add(1)
    return revision


def _draw_absent(row: Row) -> None:
    place = ("load", row.name, row.entry.revision)
    work = encoder_works().look(place)
    if work is not None and not work.done.is_set():
        draw_progress(work, waiting=f"Loading {label(retriever_label(row.name))} …")
        return
    if work is not None and work.error is not None:
        st.error(label(str(work.error)), icon=":material/error:")
    st.markdown("**Not in memory.** It is loaded by itself when somebody searches with it.")
    st.button(
        "Load it now",
        icon=":material/memory:",
        on_click=_begin,
        args=(place, lambda report: load(row.name, report)),
        key=f"load-{row.name}",
    )


def _draw_present(row: Row, encoder: BiEncoder) -> None:
    from entail.encoders.device import device_in_words

    memory = encoder.memory
    cells = st.columns(3)
    cells[0].metric("Runs on", encoder.device, border=True, help=device_in_words(encoder.device))
    if memory is not None:
        cells[1].metric("Its own weights", megabytes(memory.own), border=True)
        cells[2].metric(
            "Shared base",
            megabytes(memory.shared) if memory.shared else "none",
            border=True,
            help="Held once for every encoder in memory that stands on the same base.",
        )
    st.caption(f"On {label(device_in_words(encoder.device))}.")
    st.button(
        "Release",
        icon=":material/eject:",
        on_click=_release,
        args=(row.name,),
        key=f"release-{row.name}",
        help="Gives its memory back, and that of its indexes. Nothing on the disk changes.",
    )
    if row.ranks:
        st.caption(
            f"It ranks for {label(', '.join(row.ranks))}: released, it comes back with the next search "
            "there, which then waits some seconds longer."
        )


def _draw_throughput(row: Row) -> None:
    from entail.encoders.throughput import TOKENS

    place = ("throughput", row.name, row.entry.revision)
    work = encoder_works().look(place)
    st.markdown(f"**Speed on this machine**, texts of {TOKENS} tokens, all different")
    if work is not None and not work.done.is_set():
        draw_progress(work, waiting=f"Measuring {label(retriever_label(row.name))} …")
        return
    if work is not None and work.error is not None:
        st.error(label(str(work.error)), icon=":material/error:")
    found: Throughput | None = work.value if work is not None else None  # type: ignore[assignment]  # made below
    if found is not None:
        st.metric("Claims encoded a second", f"{found.rate:,.0f}", border=True, width=240)
        st.caption(
            f"{found.texts:,} in {found.seconds:.1f} s on {label(found.machine)}, "
            f"{found.at.astimezone():%d %b %Y %H:%M:%S}, with whatever else the machine was at."
        )
    st.button(
        "Measure" if found is None else "Measure again",
        icon=":material/speed:",
        on_click=_measure,
        args=(place, row.name),
        key=f"measure-{row.name}",
        help="Loads it if need be and encodes for about two seconds.",
    )


def _measure(place: tuple[object, ...], name: str) -> None:
    from entail.encoders.throughput import measure_throughput

    encoder_works().drop(lambda other: other == place)
    _begin(place, lambda report: measure_throughput(shelf().encoder(name), progress=report))


def _begin(place: tuple[object, ...], make: Callable[[ProgressCallback], object]) -> None:
    encoder_works().take(place, make, wait=0)


def _release(name: str) -> None:
    shelf().release(name)
    st.toast(f"{label(retriever_label(name))} is no longer in memory.", icon=":material/eject:")
