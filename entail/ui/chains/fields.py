"""Fields of the Chains page: premises, question and scorer, their link, and the user's edits of a chain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from entail.arcf.chains.chain import corpus_facts
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.scoring.scorer import Scorer, list_scorers
from entail.data.bundled import SAMPLE_NAME
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import TFIDF
from entail.runtime.chains import (
    GROUNDS,
    Builder,
    DeferredScorer,
    defer_scorer,
    take_builder,
    take_scorer,
)
from entail.runtime.tasks import finish
from entail.ui.shared.active import draw_notice, sync_with_active
from entail.ui.shared.link import Link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

PARTS = ("facts", "question", "answer", "by", "k", "length")
LINK = Link("chains", (*PARTS, "picks", "alone"), called={"facts": "corpus", "by": "scorer"})

LONGEST = 2000
"""Most characters of a question or an answer."""

DEFAULT_K, DEFAULT_LENGTH = 60, 9
"""Neighbours of each premise, and most premises of a chain, of a first visit."""

_PICKS = "chains_by_hand"


@dataclass(frozen=True)
class Picks:
    """A user's edits of one chain: premises chosen by hand, and whether it continues by itself after them."""

    uids: tuple[str, ...] = ()
    alone: bool = True

    def to_address(self) -> dict[str, str]:
        """Return the edits as parts of a link."""
        picks = {"picks": ",".join(self.uids)} if self.uids else {}
        return picks | ({} if self.alone else {"alone": "0"})

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
class Source:
    """Question and premises of a chain."""

    facts: FactTables
    question: Question

    @property
    def about(self) -> str:
        """Key of the user's edits."""
        content = f"{self.facts.digest}\n{self.question.stem}\n{self.question.answer}"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pick_source(shared: Workspace) -> Source | None:
    """Draw the fields for premises and question; return None while one is missing."""
    infos = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
    if not infos:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return None
    names = {key: f"{info.name} ({info.count:,} premises)" for key, info in infos.items()}
    sample = next((key for key, info in infos.items() if info.name == SAMPLE_NAME), next(iter(infos)))
    info = infos[LINK.pick("facts", "Premises", names, sample)]
    corpus = shared.corpora.corpus(info.id, version=info.version)
    facts = finish(GROUNDS.get_or_start(("corpus", corpus.name, corpus.hash), lambda _: corpus_facts(corpus)))
    left, right = st.columns([3, 2])
    stem = LINK.enter(
        "question", "Question", EXAMPLE.stem, longest=LONGEST, draw=left.text_area, height=80
    ).split()
    answer = LINK.enter(
        "answer", "Correct answer", EXAMPLE.answer, longest=LONGEST, draw=right.text_area, height=80
    ).split()
    if not stem or not answer:
        st.info("Enter a question and its correct answer.", icon=":material/edit:")
        return None
    question = Question("question", " ".join(stem), " ".join(answer), {})
    if (question.stem, question.answer) == (EXAMPLE.stem, EXAMPLE.answer):
        st.caption("Our own example, in no training set, chosen from 9 for its chain. Enter yours.")
    return Source(facts, question)


def pick_builder(facts: FactTables) -> tuple[Builder, int] | None:
    """Draw the fields of the scorer; return a builder, and most premises of a chain.

    Returns:
        None while the scorer is loaded or the premises are prepared.
    """
    listed = list_scorers()
    usable = {entry.name: entry for entry in listed if entry.problem is None}
    draw_notice("chains")
    first = sync_with_active("chains", "chains_by", list(usable)) or TFIDF
    names = {name: model_label(name) for name in usable}
    names[TFIDF] = "TF-IDF (keywords, baseline)"
    left, middle, right = st.columns([3, 1, 1], vertical_alignment="bottom")
    by = LINK.pick("by", "Scorer", names, first, draw=left.selectbox)
    k = middle.number_input(
        "Neighbours (k)",
        min_value=1,
        max_value=1000,
        key=LINK.init_number("k", DEFAULT_K, least=1, most=1000),
        help="Higher values make more premises visible at each step, and take longer. The paper uses 290.",
    )
    length = right.number_input(
        "Max. premises (L)",
        min_value=1,
        max_value=20,
        key=LINK.init_number("length", DEFAULT_LENGTH, least=1, most=20),
        help="A trained scorer may stop earlier, from three premises on.",
    )
    for entry in listed:
        if entry.problem is not None:
            st.warning(
                f"{label(entry.name)} cannot be used: {label(entry.problem)}", icon=":material/warning:"
            )
    if not usable:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                ":material/info: No trained scorer: chains use TF-IDF, which cannot tell when an "
                "explanation is complete. Train one with the method ARCF or `entail train arcf`."
            )
            st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
    scorer: Scorer | DeferredScorer | None = None
    if by != TFIDF:
        scorer = defer_scorer(usable[by], facts, k=k) or await_value(
            take_scorer(by, usable[by].revision), waiting="Loading the scorer …"
        )
        if scorer is None:
            return None
    builder = await_value(take_builder(facts, scorer, k=k), waiting="Preparing the premises …")
    return None if builder is None else (builder, length)
