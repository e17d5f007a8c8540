"""What tells directions and builds chains, on the Models page: since when, one click back, another one."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from entail.cards.known import OWN_DEV, KnownBeside
from entail.errors import EntailError
from entail.evaluation.measured import Beside
from entail.pointers import Pointer
from entail.roles import (
    SHIPPED,
    InUse,
    OwnRole,
    history,
    in_use,
    known,
    put_in_use,
    require_no_worse,
    take_back,
    usable,
)
from entail.ui.models_job import figures_table
from entail.ui.models_promote_button import draw_back, draw_promote
from entail.ui.models_promotion import NOTICE, clock
from entail.ui.models_promotion_splits import candidate_of
from entail.ui.resources import retriever_label
from entail.ui.words import label

SCORER = "models_scorer"
"""Key of the scorer that could be put in use, in the session."""

_ASKED = "models_scorer_asked"
_SHOWN = 50
_DOES: Mapping[OwnRole, str] = {"direction": "tells directions", "chains": "builds chains"}
_WHERE: Mapping[OwnRole, str] = {
    "direction": "the Direction page, the arrows of the Trees page, `POST /direction` and `entail evaluate "
    "direction`",
    "chains": "the Chains page, what the Trees page proposes, `POST /chain` and `entail rank`",
}


def draw_roles(author: str | None, *, asked: str | None) -> None:
    """Draw what is in use for directions and chains, each with one click back, and scorers to be put in use.

    Args:
        author: Who is at work.
        asked: What a link from a training asks to put in use.
    """
    st.markdown("##### What tells directions and builds chains")
    try:
        with st.container(border=True):
            for role in SHIPPED:
                _draw_line(role, author)
        made = sorted((move for role in SHIPPED for move in history(role)), key=lambda move: -move.number)
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return
    st.caption(
        "Whoever has not picked another one by hand has it at their next look. Another encoder of Gaussians "
        "is promoted from the list of encoders below, another scorer here."
    )
    _draw_scorers(author, asked)
    if made:
        with st.expander(f"What was put in use for them ({len(made)})", icon=":material/history:"):
            st.markdown("\n".join(f"- {in_words(move)}" for move in made[:_SHOWN]))


def draw_role_promotion(role: OwnRole, name: str, author: str | None) -> None:
    """Draw what is known of something and of what is in use for its role, and the button."""
    now, revision = in_use(role), usable(role).get(name)
    if revision is None:
        st.info("Only what is here and can be loaded can be promoted.", icon=":material/block:")
        return
    if (now.name, now.revision) == (name, revision):
        st.info(f"It is what {_DOES[role]} already.", icon=":material/check_circle:")
        return
    found = candidate_of(name)
    beside = found.evaluation if found is not None else None
    if beside is not None and (beside.candidate, beside.active) != (revision, now.revision):
        beside = None  # figures beside what was in use when it was made
    if now.name is not None:
        st.markdown(
            f"**{label(retriever_label(name))}** beside **{label(retriever_label(now.name))}**, in use now"
        )
        _draw_figures(name, now, beside)
    _draw_button(role, name, revision, now, beside, author)


def in_words(move: Pointer) -> str:
    """Return a move of a role's pointer as Markdown."""
    does = "directions" if move.role == "direction" else "chains"
    if move.encoder is None:
        what = f"took back the last promotion for {does}: what ships is in use"
    else:
        verb = "went back to" if move.rolled_back else "promoted"
        what = f"{verb} **{label(retriever_label(move.encoder))}** for {does}"
    return f":gray[{clock(move.at)}] **{label(move.by)}** {what}"


def _draw_line(role: OwnRole, author: str | None) -> None:
    now = in_use(role)
    title, which, back = st.columns([4, 5, 3], vertical_alignment="center")
    title.markdown(f"**{'Directions' if role == 'direction' else 'Chains'}**")
    pointer = now.pointer if now.notice is None else None
    if pointer is not None:
        since = (
            f"{'put back' if pointer.rolled_back else 'promoted'} by {label(pointer.by)}, {clock(pointer.at)}"
        )
    else:
        since = "comes with entail, the default" if now.name == SHIPPED[role] else "the first that is here"
    icon = "arrow_forward" if role == "direction" else "link"
    called = label(retriever_label(now.name)) if now.name is not None else "none is here"
    which.markdown(f":material/{icon}: {called}" + (f"  \n:gray[{since}]" if now.name is not None else ""))
    if now.notice is not None:
        which.warning(label(now.notice))
    if now.pointer is None:
        return
    draw_back(
        back,
        "Back to what was before",
        number=now.number,
        author=author,
        on_click=_back,
        args=(role, author, now.number),
    )


def _draw_scorers(author: str | None, asked: str | None) -> None:
    here = list(usable("chains"))
    if asked in here:
        st.session_state[SCORER] = st.session_state[_ASKED] = asked
    if len(here) < 2:
        return
    if st.session_state.get(SCORER) not in here:
        st.session_state[SCORER] = next((name for name in here if name != in_use("chains").name), here[0])
    wanted = st.session_state.get(_ASKED) == st.session_state[SCORER]
    with st.expander("Another scorer of chains", icon=":material/link:", expanded=wanted):
        picked = st.selectbox(
            "Scorer", here, format_func=retriever_label, key=SCORER, persist_state="session"
        )
        draw_role_promotion("chains", picked, author)


def _draw_figures(name: str, now: InUse, beside: Beside | None) -> None:
    if beside is not None:
        st.markdown(f"On {label(beside.split)}, of its own training:")
        st.dataframe(
            figures_table(beside), hide_index=True, key=f"role-beside-{beside.candidate}-{beside.active}"
        )
    rows = known(name, now)
    if not rows:
        st.info("Nobody has measured either of them.", icon=":material/query_stats:")
        return
    st.dataframe(
        known_table(rows, (retriever_label(str(now.name)), retriever_label(name))),
        hide_index=True,
        height="content",
        placeholder="",
        key=f"known-{name}-{now.revision}",
    )
    if any(not row.same_data for row in rows):
        st.caption(
            "○ The two were measured on different data, or only one of them was: such figures do not say "
            f"which is better. “{OWN_DEV.capitalize()}” is what the weights of each were chosen on."
        )


def known_table(rows: list[KnownBeside], names: tuple[str, str]) -> pd.DataFrame:
    """Return what is known of two as a person reads it; ● where both were measured on the same data."""
    first, second = names if names[0] != names[1] else (f"{names[0]}, in use", names[1])
    return pd.DataFrame(
        {
            "measure": [f"{'●' if row.same_data else '○'} {row.measure}" for row in rows],
            "on": [row.data for row in rows],
            first: ["" if row.first is None else f"{row.first:.3f}" for row in rows],
            second: ["" if row.second is None else f"{row.second:.3f}" for row in rows],
        }
    )


def _draw_button(
    role: OwnRole, name: str, revision: str, now: InUse, beside: Beside | None, author: str | None
) -> None:
    draw_promote(
        f"Promote {label(retriever_label(name))}",
        does=f"**{label(retriever_label(name))}** {_DOES[role]} for everybody, from their next look on: "
        f"{_WHERE[role]}. One click above takes it back.",
        check=lambda: require_no_worse(name, revision, now, beside),
        promote=lambda anyway: _put(role, name, str(author), beside, anyway, now.number),
        author=author,
        key=f"promote-{name}",
        stands=(revision, now.number),
    )


def _put(role: OwnRole, name: str, author: str, beside: Beside | None, anyway: bool, number: int) -> None:
    try:
        put_in_use(name, by=author, evaluation=beside, anyway=anyway, number=number)
    except EntailError as error:
        st.session_state[NOTICE] = (False, f"It was not promoted: {error}")
        return
    st.session_state[NOTICE] = (
        True,
        f"{retriever_label(name)} {_DOES[role]} now. One click below takes it back.",
    )


def _back(role: OwnRole, author: str | None, number: int) -> None:
    if author is None:
        return
    try:
        take_back(role, by=author, number=number)
    except EntailError as error:
        st.session_state[NOTICE] = (False, str(error))
        return
    name = in_use(role).name
    st.session_state[NOTICE] = (True, f"{retriever_label(name) if name else 'Nothing'} {_DOES[role]} again.")
