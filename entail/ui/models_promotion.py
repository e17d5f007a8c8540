"""Which encoder ranks for which corpus, since when and by whom; one click back."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from entail.encoders.catalogue import PACKAGED
from entail.errors import EntailError
from entail.evaluation.measured import Beside
from entail.pointers import Pointer
from entail.promotion import Active, active, beneath, moves, roll_back
from entail.ui.demo import closed
from entail.ui.models_promote_button import draw_back
from entail.ui.resources import Workspace, retriever_label
from entail.ui.words import label

NOTICE = "models_notice"
"""What the last promotion or roll back came to, in the session: (whether it went well, words)."""

_SHOWN = 50


def draw_active(shared: Workspace, author: str | None) -> None:
    """Draw what ranks for every corpus, with one click back to what did before."""
    st.markdown("##### What ranks now")
    draw_notice()
    try:
        with st.container(border=True):
            for corpus in shared.corpora.corpora():
                _draw_line(corpus.name, active(corpus.name), corpus.name, author)
            _draw_line("All corpora without one of their own", active(), None, author)
        made = moves()
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return
    st.caption(
        "Trees pages with “Ranked by: Active” follow within seconds, of everybody, with no restart; who "
        "chose a retriever by hand keeps it."
    )
    closed("nothing can be promoted or rolled back")
    if made:
        with st.expander(f"What was promoted and rolled back ({len(made)})", icon=":material/history:"):
            st.markdown("\n".join(f"- {in_words(move)}" for move in made[:_SHOWN]))


def draw_notice() -> None:
    """Draw what the last move came to, once."""
    went, words = st.session_state.pop(NOTICE, (True, ""))
    if words:
        (st.success if went else st.error)(
            label(words), icon=":material/check:" if went else ":material/error:"
        )


def _draw_line(title: str, now: Active, corpus: str | None, author: str | None) -> None:
    own = now.pointer if now.pointer is not None and now.pointer.corpus == corpus else None
    name, encoder, back = st.columns([4, 5, 3], vertical_alignment="center")
    name.markdown(f"**{label(title, longest=80)}**")
    encoder.markdown(
        f":material/sort: {label(retriever_label(now.encoder))}  \n:gray[{_since(now, corpus, own)}]"
    )
    try:
        now.check()
    except EntailError as error:
        encoder.error(label(str(error)))
    if own is None:
        return
    earlier = beneath(own)
    without = PACKAGED if corpus is None else active().encoder
    to = str(earlier.encoder) if earlier is not None else without
    draw_back(
        back,
        f"Back to {label(retriever_label(to), longest=40)}",
        number=own.number,
        author=author,
        on_click=_back,
        args=(corpus, author, own.number),
    )


def _since(now: Active, corpus: str | None, own: Pointer | None) -> str:
    if now.pointer is None:
        return "comes with entail, the default"
    if own is None and corpus is not None:
        return "as all corpora without one of their own"
    return f"{_done(now.pointer)} by {label(now.pointer.by)}, {clock(now.pointer.at)}"


def _done(move: Pointer) -> str:
    return "put back" if move.rolled_back else "promoted"


def in_words(move: Pointer) -> str:
    """Return a move of a pointer as Markdown."""
    where = f"for **{label(move.corpus)}**" if move.corpus else "for all corpora without one of their own"
    if move.encoder is None:
        what = f"took back the last promotion {where}: it has none of its own any more"
    else:
        verb = "went back to" if move.rolled_back else "promoted"
        what = f"{verb} **{label(retriever_label(move.encoder))}** {where}"
    told = ""
    if move.evaluation and not move.rolled_back:
        try:
            told = f". {label(str(Beside.from_json(move.evaluation)))}"
        except (TypeError, KeyError):  # of another version
            told = ""
    elif not move.rolled_back:
        told = ". It was not compared"
    return f":gray[{clock(move.at)}] **{label(move.by)}** {what}{told}"


def clock(at: datetime) -> str:
    """Return a time as a person here reads it."""
    return f"{at.astimezone():%d %b %Y %H:%M}"


def _back(corpus: str | None, author: str | None, number: int) -> None:
    if author is None:
        return
    try:
        roll_back(corpus, by=author, number=number)
    except EntailError as error:
        st.session_state[NOTICE] = (False, str(error))
        return
    where = f"for {corpus}" if corpus else "for all corpora without one of their own"
    now = active(corpus).encoder
    st.session_state[NOTICE] = (True, f"{retriever_label(now)} ranks again {where}.")
