"""The licences of everything that is installed, trained and read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import streamlit as st

from entail.operations.licences import (
    Licence,
    data_licences,
    encoder_licences,
    package_licences,
)
from entail.ui.resources import Workspace

_KINDS = {"encoder": "Encoders", "sample": "Data", "corpus": "Data", "package": "Packages"}


def draw_licences(shared: Workspace) -> None:
    """Draw encoders, data and packages with their licences, those first that somebody should look at."""
    corpora = [(corpus.name, corpus.version, corpus.licence) for corpus in shared.corpora.corpora()]
    found = [*encoder_licences(), *data_licences(corpora), *_packages()]
    odd = [one for one in found if one.look]
    st.caption(
        "As packages, cards and owners say themselves; no lawyer looked at it. The same on the command line: "
        "`entail licences`."
    )
    if odd:
        st.warning(
            f"{len(odd)} of {len(found)} to look at before they are passed on: nothing is said, or the words "
            "speak of terms.",
            icon=":material/gavel:",
        )
        _draw(odd)
    for title in dict.fromkeys(_KINDS.values()):
        st.subheader(title)
        _draw([one for one in found if _KINDS[one.kind] == title])
    st.download_button(
        "Download as CSV",
        data=lambda: as_csv(found),
        file_name="licences.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def as_csv(found: Sequence[Licence]) -> str:
    """Return licences as a table for a spreadsheet."""
    from entail.trees.formats.escaping import cell

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("what", "name", "version", "licence"))
    writer.writerows((one.kind, cell(one.name), cell(one.version), cell(one.licence)) for one in found)
    return out.getvalue()


def _draw(found: Sequence[Licence]) -> None:
    st.dataframe(
        [{"name": one.name, "version": one.version, "licence": one.licence} for one in found],
        hide_index=True,
        width="stretch",
        height="content" if len(found) < 12 else 420,
    )


@st.cache_data(show_spinner="Reading what is installed …", ttl=3600)
def _packages() -> list[Licence]:
    return package_licences()
