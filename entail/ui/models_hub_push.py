"""An encoder to the Hub: which, as what, what would be sent, then the push."""

from __future__ import annotations

from functools import partial

import streamlit as st

from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.encoders.cross import CrossParts
from entail.hub.cross import cross_encoders
from entail.hub.push import push_encoder
from entail.hub.staging import Form
from entail.ui.models_hub_work import draw_plan, draw_plan_and_push, pick_private, pick_repo
from entail.ui.resources import retriever_label

_FORMS: dict[Form, str] = {
    "adapter": "The adapter: small, needs its base",
    "merged": "The whole model: loads anywhere",
    "both": "Both: the whole model, the adapter in adapter/",
}


def draw_push(author: str | None) -> None:
    """Draw which encoder is to be pushed as what, what that would send, and the button that sends it."""
    entries: dict[str, EncoderEntry | CrossParts] = {
        entry.name: entry for entry in catalogue() if entry.kind == "folder" and entry.problem is None
    }
    entries |= cross_encoders()
    if not entries:
        st.info(
            "There is no encoder of your own to push yet: train one, or pull one. The packaged encoder is on "
            "the Hub already.",
            icon=":material/cloud_upload:",
        )
        return
    left, right = st.columns(2, gap="large")
    with left:
        name = st.selectbox(
            "Encoder", list(entries), format_func=retriever_label, key="hub_encoder", persist_state="session"
        )
        entry = entries[name]
        form = None if isinstance(entry, CrossParts) else _pick_form(entry)
        revision = entry.revision
        if form is None:
            st.caption("A scorer or a judge, which reads two texts together: it goes as it lies here.")
    with right:
        repo = pick_repo("Name on the Hub", key="hub_repo")
        private = pick_private(key="hub_private")
    if repo is None:
        st.caption("Give it a name on the Hub to see what would be pushed.")
        return
    # With the revision: weights trained anew under the same name are another push.
    asked = (name, revision, repo, form, private)
    draw_plan_and_push(
        partial(push_encoder, name, repo, form=form, private=private),
        asked,
        key="hub",
        author=author,
        help="Lays all files out and makes the card.",
        waiting="Laying the files out …",
        sure="" if private else f"Everybody may see {name}, and its licence allows it",
        draw=draw_plan,
    )


def _pick_form(entry: EncoderEntry) -> Form:
    forms: tuple[Form, ...] = ("adapter", "merged", "both") if entry.base is not None else ("merged",)
    picked: Form = st.radio("Form", forms, format_func=_FORMS.__getitem__, key=f"hub_form-{entry.name}")
    return picked
