"""What a training would learn from, shown before it is started."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd
import streamlit as st

from entail.jobs.method import Method, Preview
from entail.ui.models_form import spoken
from entail.ui.words import label
from entail.ui.works import Work, Works


@st.cache_resource(show_spinner=False)
def _previews() -> Works:
    return Works(4, failure="what it would learn from could not be read")


def draw_preview(
    how: Method,
    source: Any,  # noqa: ANN401 - the method's own
    config: Any,  # noqa: ANN401 - the method's own
) -> None:
    """Draw the button, and what these settings would learn from these data, once that is read."""
    if how.preview is None:
        return
    asked: tuple[str, float] | None = st.session_state.get("training_preview")
    these = f"{how.name} {source!r} {config!r}"
    if st.button("Preview what it learns from", icon=":material/visibility:", key="preview_training"):
        # With the time, so that what was decided since is looked at, too.
        asked = st.session_state["training_preview"] = (these, time.time())
    if asked is None or asked[0] != these:
        return
    preview = how.preview
    work: Work[Preview] = _previews().take(asked, lambda report: preview(source, config))
    if work.error is not None:
        st.error(label(str(work.error)), icon=":material/error:")
    elif work.value is None:
        _wait(work)
    else:
        _draw(work.value)


@st.fragment(run_every=0.5)
def _wait(work: Work[Preview]) -> None:
    if work.done.is_set():
        st.rerun()
    st.progress(0.0, text="Reading what it would learn from; what is on the Hub is fetched first …")


def _draw(preview: Preview) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, gap="large"):
            for name, count in preview.counts.items():
                st.metric(spoken(name), f"{count:,}", width="content")
        for reason, count in preview.left_out.items():
            st.caption(f":material/filter_alt_off: Left out: {count:,} {label(reason)}.")
        if not preview.rows:
            return
        names = preview.header or tuple(map(str, range(1, len(preview.rows[0]) + 1)))
        st.dataframe(pd.DataFrame(list(preview.rows), columns=_distinct(names)), hide_index=True, height=260)
        st.caption(f"The first {len(preview.rows):,} pairs that are there from the start.")


def _distinct(names: tuple[str, ...]) -> list[str]:
    """Return names of which none stands twice, as a table wants them."""
    return [name + " " * names[:place].count(name) for place, name in enumerate(names)]
