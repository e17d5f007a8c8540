"""By what a chain is built: the scorer, the neighbourhood, the length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.arcf.listing import list_scorers
from entail.ui.authoring import draw_progress
from entail.ui.chains_link import begin, begin_number
from entail.ui.chains_works import TFIDF, take_builder, take_scorer
from entail.ui.in_use import draw_notice, follow
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.arcf.listing import ListedScorer
    from entail.data.worldtree_tables import FactTables
    from entail.ui.chains_works import Builder

PARTS = ("by", "k", "length")
"""What of the choice the address names."""

_SCHEMES = {"arcf": "chains of facts", "single-fact": "each fact alone"}


@dataclass(frozen=True)
class Choice:
    """What the fields say.

    Attributes:
        builder: What builds chains.
        length: Facts of a chain at most.
        scorers: The trained scorers that are here and can be used.
    """

    builder: Builder
    length: int
    scorers: tuple[ListedScorer, ...]


def pick_choice(facts: FactTables) -> Choice | None:
    """Draw the fields; None, explained, while the scorer is loaded or the facts are made ready."""
    listed = list_scorers()
    usable = {one.name: one for one in listed if one.problem is None}
    draw_notice("chains")
    chains = [name for name, one in usable.items() if one.form.scheme == "arcf"]
    first = follow("chains", "chains_by", chains) or TFIDF
    names = [*usable, TFIDF]
    left, middle, right = st.columns([3, 1, 1], vertical_alignment="bottom")
    with left:
        by = st.selectbox(
            "Built by",
            names,
            format_func=lambda name: _called(usable.get(name)),
            key=begin("by", names, first),
        )
    with middle:
        k = st.number_input(
            "Neighbours (k)",
            min_value=1,
            max_value=1000,
            key=begin_number("k", 60, least=1, most=1000),
            help="Visible are the k facts nearest to the question and to each chosen one; the paper: 290.",
        )
    with right:
        length = st.number_input(
            "Facts at most (L)",
            min_value=1,
            max_value=20,
            key=begin_number("length", 9, least=1, most=20),
            help="A chain of three or more may stop before, where the scorer learnt when one is whole.",
        )
    for one in listed:
        if one.problem is not None:
            st.warning(f"{label(one.name)} cannot be used: {label(one.problem)}", icon=":material/warning:")
    if not usable:
        _say_how()
    scorer = None
    if by != TFIDF:
        work = take_scorer(usable[by])
        if work.value is None:
            draw_progress(work, waiting="Loading the scorer …")
            return None
        scorer = work.value
    made = take_builder(facts, scorer, k=int(k))
    if made.value is None:
        draw_progress(made, waiting="Preparing the facts …")
        return None
    return Choice(made.value, int(length), tuple(usable.values()))


def _called(listed: ListedScorer | None) -> str:
    if listed is None:
        return "TF-IDF (shared words, the baseline)"
    return f"{listed.name} ({_SCHEMES.get(listed.form.scheme, listed.form.scheme)})"


def _say_how() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            ":material/info: No trained scorer is here, so this is the baseline: at each step the visible "
            "fact that shares most words with the question, the answer and the facts before. It cannot tell "
            "when an explanation is whole. Train a scorer on WorldTree by the method ARCF, as a job or by "
            "`entail train arcf`, and it stands here.",
        )
        st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
