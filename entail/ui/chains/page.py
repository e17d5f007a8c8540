"""Chains page: question and scorer, the chain, and the candidates of its open step to choose from."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import streamlit as st

from entail.arcf.chains.chain import Chain, Search, Step, corpus_facts, follow
from entail.arcf.chains.example import EXAMPLE, find_steps
from entail.arcf.scoring.scorer import Scorer, list_scorers
from entail.data.bundled import SAMPLE_NAME
from entail.data.text import count_of
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import TFIDF
from entail.runtime.chains import (
    GROUNDS,
    Builder,
    take_builder,
    take_scorer,
    take_step,
)
from entail.runtime.tasks import Task, finish
from entail.ui.shared.active import draw_notice, sync_with_active
from entail.ui.shared.link import Link, draw_example_link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, marked, spoken, words_of
from entail.ui.shared.waiting import draw_progress

PARTS = ("facts", "question", "answer", "by")
LINK = Link("chains", (*PARTS, "picks"), called={"facts": "corpus", "by": "scorer"})

LONGEST = 2000
"""Most characters of a question or an answer."""

DEFAULT_K, DEFAULT_LENGTH = 60, 9
"""Neighbours of each premise, and most premises of a chain."""

SHOWN = 20
"""Candidates of a step that are shown, the best ones."""

_PICKS = "chains_by_hand"
"""Session key of the premises chosen by hand, with the question and corpus that they are for."""

_WAIT = 0.6
"""Seconds that the page waits for steps before it draws the finished ones."""


@dataclass(frozen=True)
class Source:
    """Premises and question of a chain, and its scorer, which is loaded where it is needed."""

    facts: FactTables
    question: Question
    scorer: str
    revision: str | None

    @property
    def about(self) -> str:
        """Key of the premises chosen by hand."""
        content = f"{self.facts.digest}\n{self.question.stem}\n{self.question.answer}"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def take_builder(self, *, wait: float) -> Task[Builder] | Task[Scorer]:
        """Return the task that prepares the builder, or the one that loads its scorer before that."""
        scorer: Scorer | None = None
        if self.scorer != TFIDF:
            loading = take_scorer(self.scorer, self.revision, wait=wait)
            if loading.value is None:
                return loading
            scorer = loading.value
        return take_builder(self.facts, scorer, k=DEFAULT_K, wait=wait)


def draw_page(shared: Workspace) -> None:
    """Draw the fields, the chain, and the candidates of its open step."""
    if LINK.load_from_url():
        st.session_state.pop(_PICKS, None)
    source = _pick_source(shared)
    if source is None:
        return
    linked = tuple(uid for uid in (LINK.requested("picks") or "").split(",") if uid)
    about, picks = st.session_state.setdefault(_PICKS, (source.about, linked))
    picks = picks if about == source.about else ()
    LINK.save_to_url(PARTS, further={"picks": ",".join(picks)} if picks else {})
    _draw_chain(_build(source, picks))
    source.take_builder(wait=0)  # for what is asked next


def _pick_source(shared: Workspace) -> Source | None:
    """Draw the fields for premises, scorer and question; return None while one is missing."""
    infos = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
    if not infos:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return None
    names = {key: f"{info.name} ({count_of(info.count, 'premise')})" for key, info in infos.items()}
    sample = next((key for key, info in infos.items() if info.name == SAMPLE_NAME), next(iter(infos)))
    left, right = st.columns([3, 2])
    info = infos[LINK.pick("facts", "Corpus", names, sample, draw=left.selectbox)]
    with right:
        scorer, revision = _pick_scorer()
    corpus = shared.corpora.corpus(info.id, version=info.version)
    facts = finish(GROUNDS.get_or_start(("corpus", corpus.name, corpus.hash), lambda _: corpus_facts(corpus)))
    left, right = st.columns([3, 2])
    stem, answer = (
        " ".join(LINK.enter(part, title, first, longest=LONGEST, draw=column.text_area, height=80).split())
        for part, title, first, column in (
            ("question", "Question", EXAMPLE.stem, left),
            ("answer", "Correct answer", EXAMPLE.answer, right),
        )
    )
    if not stem or not answer:
        st.info("Enter a question and its correct answer.", icon=":material/edit:")
        draw_example_link("pages/Chains.py", question=EXAMPLE.stem, answer=EXAMPLE.answer)
        return None
    if (stem, answer) == (EXAMPLE.stem, EXAMPLE.answer):
        st.caption("Our own example, in no training set. Enter yours.")
    return Source(facts, Question("question", stem, answer, {}), scorer, revision)


def _pick_scorer() -> tuple[str, str | None]:
    """Draw the field of the scorer; return its name and revision, None for that of TF-IDF."""
    revisions = {entry.name: entry.revision for entry in list_scorers() if entry.problem is None}
    draw_notice("chains")
    first = sync_with_active("chains", "chains_by", list(revisions)) or TFIDF
    names = {name: model_label(name) for name in revisions} | {TFIDF: "TF-IDF (keywords, baseline)"}
    name = LINK.pick("by", "Scorer", names, first)
    return name, revisions.get(name)


@dataclass(frozen=True)
class Scene:
    """State of the page: the chain so far, the uids chosen by hand, and the task that the next step needs."""

    source: Source
    picks: tuple[str, ...]
    walk: Chain
    making: Task[Any] | None

    @property
    def opened(self) -> int:
        """Number of the open step, from 0."""
        about, number = st.session_state.get("chains_open", ("", 0))
        return min(number, max(0, len(self.walk.steps) - 1)) if about == self.source.about else 0

    def uid(self, fact: int) -> str:
        """Return the uid of a premise."""
        return self.source.facts.facts[fact].uid

    def choose(self, facts: tuple[int, ...], number: int = 0) -> None:
        """Choose premises by hand and open a step; called before a run."""
        st.session_state[_PICKS] = (self.source.about, tuple(map(self.uid, facts)))
        self.open(number)

    def open(self, number: int) -> None:
        """Open a step; called before a run."""
        st.session_state["chains_open"] = (self.source.about, number)


def _build(source: Source, picks: tuple[str, ...]) -> Scene:
    """Return the chain as far as its steps are scored; start the next one. The example's steps ship."""
    making: list[Task[Any]] = []
    until = time.monotonic() + _WAIT
    stored = find_steps(source.revision, source.facts.digest, source.question)

    def step_of(premises: tuple[int, ...]) -> Step | None:
        if premises in stored:
            return stored[premises]
        task: Task[Any] = source.take_builder(wait=max(0.0, until - time.monotonic()))
        if isinstance(task.value, Builder):
            left = max(0.0, until - time.monotonic())
            task = take_step(task.value, source.question, premises, wait=left)
        if isinstance(task.value, Step):
            return task.value
        making.append(task)
        return None

    positions = [source.facts.positions.get(uid.lower()) for uid in picks]
    # After an unknown or retired premise the picks no longer apply.
    valid_positions = [at for at in takewhile(lambda at: at is not None, positions) if at is not None]
    walk = follow(step_of, Search(length=DEFAULT_LENGTH), premises=valid_positions)
    return Scene(source, picks, walk, making[0] if making else None)


def end_message(walk: Chain) -> str:
    """Return why a chain ended."""
    last = walk.steps[-1] if walk.steps else None
    if walk.stopped == "bare prefix" and last is not None:
        return f"Complete: ending here scores {last.stop_score:.3f}, the best candidate {last.scores[0]:.3f}."
    if walk.stopped == "nothing visible":
        return "Stopped: no related premise is left."
    message = f"Stopped: limit of {count_of(DEFAULT_LENGTH, 'premise')} reached."
    if last is not None and last.stop_score is None:
        message += " This scorer cannot tell when an explanation is complete."
    return message


def is_truncated(walk: Chain) -> bool:
    """Return whether the scorer read only a part of question or chain."""
    return any(step.dropped for step in walk.steps)


def _draw_chain(scene: Scene) -> None:
    walk = scene.walk
    if walk.by_hand < len(scene.picks) and scene.making is None:
        st.warning(
            "Some premises that you chose are no candidates any more. The chain continues from the last one.",
            icon=":material/visibility_off:",
        )
    left, right = st.columns([5, 6], gap="large")
    with left:
        _draw_facts(scene)
    with right:
        if walk.steps:
            _draw_step(scene, scene.opened)


def _draw_facts(scene: Scene) -> None:
    walk, words = scene.walk, words_of(scene.source.question.text)
    st.markdown(f"##### Chain: {count_of(len(walk.facts), 'premise')}")
    for number, (fact, step) in enumerate(zip(walk.facts, walk.steps, strict=False)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                spoken(str(number + 1), f"Show the candidates of step {number + 1}"),
                key=f"chain-open-{number}-{scene.uid(fact)}",
                type="primary" if number == scene.opened else "secondary",
                on_click=scene.open,
                args=(number,),
                help=f"Show the candidates of step {number + 1}",
                width=56,
            )
            rank = step.candidates.index(fact) + 1
            hand = " · your choice" if number < walk.by_hand else ""
            notes = f"{step.scores[rank - 1]:.3f}, rank {rank} of {len(step.candidates):,}{hand}"
            _draw_sentence(scene, fact, words, notes)
    if scene.making is not None:
        draw_progress(scene.making, waiting=f"Preparing step {len(walk.steps) + 1} …")
    else:
        st.info(end_message(walk), icon=":material/flag:")
    if is_truncated(walk):
        st.warning(
            "The scorer read these texts only in part: they are too long.", icon=":material/content_cut:"
        )
    st.button(
        "Start over",
        icon=":material/restart_alt:",
        key="chain-over",
        disabled=not scene.picks,
        on_click=scene.choose,
        args=((),),
        help="Discards your choices",
    )


def _draw_step(scene: Scene, number: int) -> None:
    step, texts = scene.walk.steps[number], scene.source.facts.texts
    new = f", {len(step.newly_visible):,} new" if number else ""
    st.markdown(f"##### Step {number + 1}: {count_of(len(step.candidates), 'candidate')}{new}")
    words = words_of(" ".join([scene.source.question.text, *(texts[fact] for fact in step.chosen)]))
    for rank, fact in enumerate(step.candidates[:SHOWN], start=1):
        _draw_candidate(scene, number, rank, fact, words)
    if step.stop_score is not None:
        st.caption(f"Score if the chain ends here: {step.stop_score:.3f}")


def _draw_candidate(scene: Scene, number: int, rank: int, fact: int, words: frozenset[str]) -> None:
    before, step = scene.walk.facts[:number], scene.walk.steps[number]
    is_chosen = scene.walk.facts[number : number + 1] == (fact,)
    notes = [f"{step.scores[rank - 1]:.3f}"]
    if number and fact in step.newly_visible:
        notes.append("new here")
    if is_chosen:
        notes.append("<b>chosen</b>")
    text = label(scene.source.facts.texts[fact], longest=80)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            spoken(str(rank), f"{'Chosen' if is_chosen else 'Choose'}: {scene.source.facts.texts[fact]}"),
            icon=":material/check:" if is_chosen else ":material/add:",
            key=f"chain-choose-{number}-{scene.uid(fact)}",
            disabled=is_chosen,
            on_click=scene.choose,
            args=((*before, fact), number),
            help="Chosen" if is_chosen else f"Choose as premise {number + 1}: {text}",
            width=76,
        )
        _draw_sentence(scene, fact, words, " · ".join(notes))


def _draw_sentence(scene: Scene, fact: int, words: frozenset[str], notes: str) -> None:
    sentence = marked(scene.source.facts.texts[fact], words)
    with st.container(gap=None):  # one column next to its button
        st.html(f'<div class="entail-sentence">{sentence}</div><div class="entail-quiet">{notes}</div>')
