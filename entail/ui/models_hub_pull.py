"""An encoder from the Hub into the models folder."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from entail.errors import HubError
from entail.hub.names import check_repo, check_revision
from entail.hub.pull import Pulled, pull_encoder
from entail.progress import ProgressCallback
from entail.ui.models_encoders import open_encoder
from entail.ui.models_hub_work import begin_button, outcome, pick_repo, size, take_up
from entail.ui.words import label

_Form = Literal["adapter", "merged"]
_FORMS: dict[_Form | None, str] = {
    None: "As it is there; of both, the adapter",
    "merged": "The whole model",
}
_DONE = "hub_pull_done"


def draw_pull(author: str | None) -> None:
    """Draw what is to be pulled, how far it is, and what came."""
    left, right = st.columns(2, gap="large")
    with left:
        repo = pick_repo("Name on the Hub", key="hub_pull_repo")
        revision = st.text_input(
            "Revision",
            key="hub_revision",
            max_chars=200,
            placeholder="main",
            help="A branch, a tag or a commit",
        ).strip()
    with right:
        name = st.text_input(
            "Name here",
            key="hub_pull_name",
            max_chars=96,
            placeholder=repo.rpartition("/")[2] if repo else "As it is called there",
        ).strip()
        form: _Form | None = st.radio(
            "Form", list(_FORMS), format_func=_FORMS.__getitem__, key="hub_pull_form"
        )
    st.caption(
        "Weights as safetensors, configuration, vocabulary and card of one commit; every file is checked "
        "against what the Hub says of it, and no code comes along."
    )
    wrong = _wrong(revision, name)
    if wrong:
        st.caption(f":red[{label(wrong)}]")
    asked = ("pull", repo, revision, name, form)

    def pull(report: ProgressCallback) -> Pulled:
        assert repo is not None
        return pull_encoder(repo, revision=revision or None, name=name or None, form=form, progress=report)

    begin_button(
        "Pull",
        key="hub_pull",
        icon=":material/cloud_download:",
        author=author,
        ready=repo is not None and not wrong,
        on_click=partial(take_up, _DONE, asked, pull),
    )
    done = outcome(_DONE, asked, Pulled, waiting="Asking the Hub …")
    if done is not None:
        _draw_pulled(done)


def _wrong(revision: str, name: str) -> str:
    """Return what is wrong with the fields, before anything is asked."""
    try:
        if revision:
            check_revision(revision)
        if name:
            check_repo(f"x/{name}")
    except HubError as error:
        return str(error).replace("x/", "")
    return ""


def _draw_pulled(done: Pulled) -> None:
    left = f" Not taken: {', '.join(label(name) for name in done.left_out)}." if done.left_out else ""
    st.success(
        f"**{label(done.name)}** came from {label(done.repo)} at commit `{done.commit[:12]}`: "
        f"{len(done.files)} files, {size(sum(done.files.values()))}.{left}",
        icon=":material/cloud_done:",
    )
    if done.entry is None:
        st.caption("A scorer or a judge: Chains, Trees and Claims take it where it is of use.")
        return
    st.button(
        "Look at it",
        icon=":material/arrow_forward:",
        on_click=open_encoder,
        args=(done.name,),
        key="hub_open",
    )
