"""The buttons that put something in use and take it back, whatever it is in use for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from entail.errors import PromotionError
from entail.settings import is_demo
from entail.ui.author import asks_who
from entail.ui.demo import closed
from entail.ui.words import label


def draw_promote(
    words: str,
    *,
    does: str,
    check: Callable[[], object],
    promote: Callable[[bool], None],
    author: str | None,
    key: str,
    stands: tuple[str, int],
) -> None:
    """Draw what promoting does, why it should not be, and the button.

    Args:
        words: What is promoted, for whom.
        does: What that changes, as Markdown.
        check: Raises `PromotionError` where one has to insist.
        promote: Does it; told whether one insisted.
        author: Who is at work.
        key: Of the button.
        stands: The candidate's revision and the move in force: one insists on this alone.
    """
    refused = None
    try:
        check()
    except PromotionError as error:
        refused = str(error)
    st.markdown(f"**What promoting does.** {does}")
    anyway = False
    if refused is not None:
        st.warning(label(refused[:1].upper() + refused[1:] + "."), icon=":material/front_hand:")
        anyway = st.checkbox("I know. Promote it anyway.", key=f"anyway-{stands[0]}-{stands[1]}")
    if closed("nothing can be promoted"):
        return
    if author is None:
        st.caption(f":material/person: {asks_who()}")
    st.button(
        words,
        icon=":material/publish:",
        type="primary",
        disabled=author is None or (refused is not None and not anyway),
        on_click=promote,
        args=(anyway,),
        key=key,
    )


def draw_back(
    where: DeltaGenerator,
    words: str,
    *,
    number: int,
    author: str | None,
    on_click: Callable[..., None],
    args: Sequence[Hashable],
) -> None:
    """Draw the button that takes a promotion back, by the number of its move."""
    where.button(
        words,
        icon=":material/undo:",
        on_click=on_click,
        args=tuple(args),
        disabled=author is None or is_demo(),
        key=f"back-{number}",
        width="stretch",
        help="Takes the last promotion back, for everybody." if author is not None else asks_who(),
    )
