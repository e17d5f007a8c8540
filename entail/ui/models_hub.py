"""To the Hugging Face Hub and from there: encoders, and a team's trees."""

from __future__ import annotations

import streamlit as st

from entail.encoders.hub import OFFICIAL, has_token
from entail.errors import EntailError
from entail.ui.demo import closed
from entail.ui.models_hub_pull import draw_pull
from entail.ui.models_hub_push import draw_push
from entail.ui.models_hub_trees import draw_push_trees
from entail.ui.resources import Workspace
from entail.ui.words import label

PUSH, TREES, PULL = "Push an encoder", "Push trees", "Pull an encoder"
"""What can be done."""

_HOW = (
    "Set `HF_TOKEN` for the process that serves these pages, or run `hf auth login` on its machine as its "
    "user; to push, the token has to allow writing. No page takes a token: it would pass through the browser."
)


def draw_hub(shared: Workspace, author: str | None) -> None:
    """Draw whether there is a token, and what can be pushed and pulled."""
    if closed("nothing is pushed to the Hub or pulled from there"):
        return
    _draw_token()
    what = st.segmented_control(
        "What",
        (PUSH, TREES, PULL),
        default=PUSH,
        required=True,
        label_visibility="collapsed",
        key="hub_what",
        persist_state="session",
    )
    if what == TREES:
        draw_push_trees(shared, author)
    elif what == PULL:
        draw_pull(author)
    else:
        draw_push(author)


def _draw_token() -> None:
    """Say whether there is a token; what it is nobody is shown, nor does the page ever hold it."""
    from huggingface_hub import constants

    endpoint = constants.ENDPOINT.rstrip("/")
    where = "" if endpoint == OFFICIAL else f" The Hub here is {label(endpoint)}."
    try:
        there = has_token()
    except EntailError as error:
        st.error(label(str(error)), icon=":material/key_off:")
        return
    if there:
        st.caption(
            ":material/key: There is a token for the Hub. The Hub's own client reads it for each request; it "
            f"is never shown.{where}"
        )
    else:
        with st.expander(
            "No token for the Hub: previews and public encoders need none, a push does",
            icon=":material/key_off:",
        ):
            st.markdown(f"{_HOW}{where}")
