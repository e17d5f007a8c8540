"""Link of the Chains page, the user's edits of a chain, and the fields that say how chains are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.arcf.scoring.listing import list_scorers
from entail.ui.chains.tasks import TFIDF, take_builder, take_scorer
from entail.ui.shared.active import draw_notice, sync_with_active
from entail.ui.shared.link import Link
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress

if TYPE_CHECKING:
    from entail.arcf.scoring.listing import ListedScorer
    from entail.data.worldtree.tables import FactTables
    from entail.ui.chains.tasks import Builder

PARTS = ("by", "k", "length")
"""Parts of the link that belong to these fields."""

LINK = Link(
    "chains",
    ("facts", "file", "row", "question", "answer", *PARTS, "picks", "alone"),
    called={"facts": "corpus or release", "row": "question", "by": "scorer"},
)
_PICKS = "chains_by_hand"
_SCHEMES = {"arcf": "chains", "single-fact": "single premises"}


@dataclass(frozen=True)
class Picks:
    """A user's edits of one chain.

    Attributes:
        uids: Premises chosen by hand, in order.
        alone: Whether the chain continues by itself after them.
    """

    uids: tuple[str, ...] = ()
    alone: bool = True

    def to_address(self) -> dict[str, str]:
        """Return the edits as parts of a link."""
        return {
            **({"picks": ",".join(self.uids)} if self.uids else {}),
            **({} if self.alone else {"alone": "0"}),
        }

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Picks:
        """Return the edits in the parts of a link.

        >>> Picks.of({"picks": "u1,u2", "alone": "0"})
        Picks(uids=('u1', 'u2'), alone=False)
        """
        uids = tuple(uid for uid in values.get("picks", "").split(",") if uid)
        return cls(uids, values.get("alone") != "0")


def load_link() -> None:
    """Take over a new address."""
    if LINK.load_from_url():
        st.session_state.pop(_PICKS, None)


def load_picks(about: str) -> Picks:
    """Return the edits of the chain of a question over some premises."""
    stored: tuple[str, Picks] | None = st.session_state.get(_PICKS)
    if stored is None:
        stored = st.session_state[_PICKS] = (about, Picks.of(LINK.values))
    return stored[1] if stored[0] == about else Picks()


def store_picks(about: str, picks: Picks) -> None:
    """Store the edits of a chain; called before a run."""
    st.session_state[_PICKS] = (about, picks)


@dataclass(frozen=True)
class Choice:
    """Values of the fields.

    Attributes:
        builder: Builder of chains.
        length: Most premises of a chain.
        scorers: Trained scorers that can be used.
    """

    builder: Builder
    length: int
    scorers: tuple[ListedScorer, ...]


def draw_fields(facts: FactTables) -> Choice | None:
    """Draw the fields; return None while the scorer is loaded or the premises are prepared."""
    listed = list_scorers()
    usable = {one.name: one for one in listed if one.problem is None}
    draw_notice("chains")
    chains = [name for name, one in usable.items() if one.form.scheme == "arcf"]
    first = sync_with_active("chains", "chains_by", chains) or TFIDF
    names = [*usable, TFIDF]
    left, middle, right = st.columns([3, 1, 1], vertical_alignment="bottom")
    by = left.selectbox(
        "Scorer",
        names,
        format_func=lambda name: _scorer_label(usable.get(name)),
        key=LINK.init_widget("by", names, first),
    )
    k = middle.number_input(
        "Neighbours (k)",
        min_value=1,
        max_value=1000,
        key=LINK.init_number("k", 60, least=1, most=1000),
        help="Higher values make more premises visible at each step, and take longer. The paper uses 290.",
    )
    length = right.number_input(
        "Max. premises (L)",
        min_value=1,
        max_value=20,
        key=LINK.init_number("length", 9, least=1, most=20),
        help="A trained scorer may stop earlier, from three premises on.",
    )
    for one in listed:
        if one.problem is not None:
            st.warning(f"{label(one.name)} cannot be used: {label(one.problem)}", icon=":material/warning:")
    if not usable:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                ":material/info: No trained scorer: chains use TF-IDF, which cannot tell when an "
                "explanation is complete. Train one with the method ARCF or `entail train arcf`."
            )
            st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
    scorer = None
    if by != TFIDF:
        loading = take_scorer(usable[by])
        if loading.value is None:
            draw_progress(loading, waiting="Loading the scorer …")
            return None
        scorer = loading.value
    building = take_builder(facts, scorer, k=int(k))
    if building.value is None:
        draw_progress(building, waiting="Preparing the premises …")
        return None
    return Choice(building.value, int(length), tuple(usable.values()))


def _scorer_label(listed: ListedScorer | None) -> str:
    if listed is None:
        return "TF-IDF (keywords, baseline)"
    return f"{listed.name} ({_SCHEMES.get(listed.form.scheme, listed.form.scheme)})"
