"""Fields of the Chains page: premises, question and scorer, their link, and the user's edits of a chain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from entail.arcf.chains.chain import corpus_facts
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.scoring.scorer import Scorer, list_scorers
from entail.data.worldtree.questions import Question, WorldtreeRelease, read_release
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
from entail.runtime.tasks import TaskGroup, finish
from entail.trees.store.corpora import CorpusInfo
from entail.ui.shared.active import draw_notice, sync_with_active
from entail.ui.shared.file_source import FileSource
from entail.ui.shared.link import Link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

PARTS = ("by", "k", "length")
"""Parts of the link that belong to the fields of the scorer."""

LINK = Link(
    "chains",
    ("facts", "file", "row", "question", "answer", *PARTS, "picks", "alone"),
    called={"facts": "corpus or release", "row": "question", "by": "scorer"},
)

LONGEST = 2000
"""Most characters of a question or an answer."""

DEFAULT_K, DEFAULT_LENGTH = 60, 9
"""Neighbours of each premise, and most premises of a chain, of a first visit."""

OWN = "own"
"""Row id of a question that the user enters."""

_PICKS = "chains_by_hand"
_SHOWN = 90


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
    """Question and premises of a chain, and the parts of the link that name them."""

    facts: FactTables
    question: Question
    parts: tuple[str, ...]

    @property
    def about(self) -> str:
        """Key of the user's edits."""
        content = f"{self.facts.digest}\n{self.question.stem}\n{self.question.answer}"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _is_release(path: Path) -> bool:
    return (path / "tables").is_dir() or (path.is_file() and path.suffix.lower() == ".zip")


_SOURCE = FileSource(
    link=LINK,
    part="facts",
    label="Premises",
    unit="premises",
    folder="worldtree",
    prefix="release",
    title="WorldTree: ",
    accepts=_is_release,
    read=lambda path, name, report: read_release(path, name=name),
    tasks=TaskGroup("WorldTree releases", failure="the release could not be read"),
    types=("zip",),
    upload="ZIP of a WorldTree release (2019 or 2020): tables/ and question files",
)


def pick_source(shared: Workspace) -> Source | None:
    """Draw the fields for premises and question; return None while one is missing."""
    picked = _SOURCE.pick(shared)
    if picked is None:
        return None
    if not isinstance(picked, CorpusInfo):
        return _pick_row(picked)
    corpus = shared.corpora.corpus(picked.id, version=picked.version)
    facts = finish(GROUNDS.get_or_start(("corpus", corpus.name, corpus.hash), lambda _: corpus_facts(corpus)))
    question = _enter_question(EXAMPLE.stem, EXAMPLE.answer)
    if question is None:
        return None
    if (question.stem, question.answer) == (EXAMPLE.stem, EXAMPLE.answer):
        gold = {uid: role for uid, role in EXAMPLE.gold.items() if uid in facts.positions}
        question = Question(question.id, question.stem, question.answer, gold)
        if gold:
            st.caption("Our own example, in no training set, chosen from 9 for its chain. Enter yours.")
    return Source(facts, question, ("facts", "question", "answer"))


def _pick_row(release: WorldtreeRelease) -> Source | None:
    st.caption(
        f"{label(str(release.facts))}"
        + "".join(f" · {label(reading.source)}: {label(str(reading))}" for reading in release.readings[:3])
    )
    files = {reading.source: reading for reading in release.readings}
    questions: dict[str, Question] = {}
    parts: tuple[str, ...] = ("facts", "row")
    if files:
        left, right = st.columns([1, 3])
        name = LINK.pick("file", "File", list(files), next(iter(files)), draw=left.selectbox)
        questions = {file_question.id: file_question for file_question in files[name].questions}
        parts = (*parts, "file")
    else:
        right = st.container()
        st.info("The release has no question file. Enter a question.", icon=":material/edit:")
    rows = {id_: _row_label(question) for id_, question in questions.items()} | {OWN: "My own question …"}
    with right:
        row = LINK.pick("row", "Question", rows, next(iter(rows)))
    if row != OWN:
        question = questions[row]
        st.markdown(f"{label(question.stem)} **{label(question.answer)}**")
        return Source(release.facts, question, parts)
    entered = _enter_question("", "")
    return None if entered is None else Source(release.facts, entered, (*parts, "question", "answer"))


def _row_label(question: Question) -> str:
    text = f"{question.id}: {question.stem}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _enter_question(stem: str, answer: str) -> Question | None:
    left, right = st.columns([3, 2])
    fields = ((left, "Question", "question", stem), (right, "Correct answer", "answer", answer))
    question, correct = (
        LINK.enter(part, name, default, longest=LONGEST, draw=column.text_area, height=80)
        for column, name, part, default in fields
    )
    if not question.strip() or not correct.strip():
        st.info("Enter a question and its correct answer.", icon=":material/edit:")
        return None
    return Question("question", " ".join(question.split()), " ".join(correct.split()), {})


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
