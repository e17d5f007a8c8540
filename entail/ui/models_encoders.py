"""The encoders in reach: what they are, what is known of them, which is active for which corpus."""

from __future__ import annotations

import streamlit as st

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import EncoderError, EntailError
from entail.ui.authoring import draw_progress
from entail.ui.demo import closed
from entail.ui.models_encoder_details import draw_about, draw_card, draw_figures
from entail.ui.models_encoder_list import Row, draw_list, rows
from entail.ui.models_measure import draw_memory, encoder_works
from entail.ui.models_promotion import draw_active
from entail.ui.models_promotion_candidate import draw_promotion
from entail.ui.models_roles import draw_role_promotion, draw_roles
from entail.ui.resources import Workspace, retriever_label
from entail.ui.words import label
from entail.ui.works import Work

PICKED = "models_encoder"
"""Key of the encoder that is picked, in the session."""

_TYPED = "models_typed"
_VIEWS = ("About", "Figures", "Card", "Memory and speed", "Promote")


def open_encoder(name: str, view: str = "About") -> None:
    """Show an encoder at the next run of the Models page: a handler for links from elsewhere."""
    st.session_state["models_view"] = "Encoders"
    st.session_state[PICKED] = name
    st.session_state["models_encoder_view"] = view


def draw_encoders(shared: Workspace, author: str | None) -> None:
    """Draw what is in use now, the encoders in reach, and the one that is picked."""
    asked = st.query_params.pop("candidate", None)  # a link from a training that is done
    draw_active(shared, author)
    draw_roles(author, asked=asked)
    st.markdown("##### Encoders in reach")
    found = rows(shared, _typed())
    names = [row.name for row in found]
    if asked in names:
        st.session_state[PICKED], st.session_state["models_encoder_view"] = asked, "Promote"
    if st.session_state.get(PICKED) not in names:  # at first, or because it is gone
        st.session_state[PICKED] = names[0]
    picked = str(st.session_state[PICKED])
    draw_list(found, picked=picked, key="models_list", on_pick=_pick)
    _draw_fetch()
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.selectbox("Encoder", names, format_func=retriever_label, key=PICKED, persist_state="session")
    with right:
        view = st.segmented_control(
            "Of it",
            _VIEWS,
            default="About",
            required=True,
            label_visibility="collapsed",
            key="models_encoder_view",
            persist_state="session",
        )
    _draw_encoder(shared, author, next(row for row in found if row.name == picked), view or "About")


def _draw_encoder(shared: Workspace, author: str | None, row: Row, view: str) -> None:
    with st.container(border=True):
        if row.entry.problem is not None:
            st.error(f"It cannot be loaded. {label(row.entry.problem)}", icon=":material/gpp_bad:")
            st.caption(
                "Weights are read from safetensors alone, and no code that comes with a model is ever run: a "
                "pickle, or a model with code of its own, could do anything on this machine."
            )
        try:
            if view == "Figures":
                draw_figures(row)
            elif view == "Card":
                draw_card(row)
            elif view == "Memory and speed":
                draw_memory(row)
            elif view == "Promote" and row.entry.gaussian is not None:
                draw_role_promotion("direction", row.name, author)
            elif view == "Promote":
                draw_promotion(shared, author, row)
            else:
                draw_about(row)
        except EntailError as error:
            st.error(label(str(error)), icon=":material/error:")


def _draw_fetch() -> None:
    """Draw the field for a model of the Hub, and how its way here goes."""
    with st.expander("A model from the Hugging Face Hub", icon=":material/cloud_download:"):
        if closed("nothing is brought from the Hub"):
            return
        with st.form("models_hub_form", border=False):
            id_ = st.text_input(
                "Hub id",
                placeholder="organisation/model, or organisation/model@revision",
                key="models_hub_id",
                max_chars=200,
            )
            asked = st.form_submit_button("Bring it here", icon=":material/download:")
        st.caption(
            "Needs the network. Only safetensors, configuration and vocabulary are fetched, into the Hub's "
            "own cache; to keep a copy under models/, pull it in the view “Hub”."
        )
        if asked:
            _fetch(id_.strip())
        for name, work in _fetching():
            if not work.done.is_set():
                draw_progress(work, waiting=f"Bringing {label(name)} here …")
            elif work.error is not None:
                st.error(label(str(work.error)), icon=":material/cloud_off:")


def _fetch(name: str) -> None:
    try:
        entry = _on_hub(name)
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return
    typed: list[str] = st.session_state.setdefault(_TYPED, [])
    if entry.name not in typed:
        typed.append(entry.name)
    encoder_works().take(("fetch", entry.name), lambda _: fetch(resolve(entry.name)), wait=1.0)
    st.rerun()


def _on_hub(name: str) -> EncoderEntry:
    """Return the entry of a Hub id; other names, and places on this machine, are refused.

    Raises:
        EncoderError: If it is no Hub id.
    """
    from entail.hub.names import check_repo, check_revision

    repo, at, revision = name.partition("@")
    check_repo(repo)
    if at:
        check_revision(revision)
    entry = resolve(name)
    if entry.kind != "hub":
        raise EncoderError(f"{name!r} is here already: pick it in the list")
    return entry


def _fetching() -> list[tuple[str, Work[object]]]:
    names: list[str] = st.session_state.get(_TYPED, [])
    looked = ((name, encoder_works().look(("fetch", name))) for name in names)
    return [(name, work) for name, work in looked if work is not None]


def _typed() -> list[EncoderEntry]:
    return [work.value for _, work in _fetching() if isinstance(work.value, EncoderEntry)]


def _pick(name: str) -> None:
    st.session_state[PICKED] = name
