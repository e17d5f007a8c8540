"""The chain step by step: its premises, and the candidates of the open step."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import takewhile

import streamlit as st

from entail.arcf.chains.chain import Chain, Search, Step, follow
from entail.arcf.scoring.inputs import worst_dropped
from entail.data.text import count_of
from entail.runtime.chains import Builder, take_step
from entail.runtime.tasks import Task
from entail.ui.chains.fields import Picks, Source, store_picks
from entail.ui.shared.text import label, marked, words_of
from entail.ui.shared.waiting import draw_progress

PAGE = 8
"""Candidates shown at first."""

_WAIT = 0.6
"""Seconds that the page waits for steps before it draws the finished ones."""


def end_message(walk: Chain, *, length: int, is_baseline: bool) -> str:
    """Return why a chain of at most `length` premises ended; empty where it waits for the user."""
    if walk.stopped == "length":
        message = f"Stopped: limit of {count_of(length, 'premise')} reached."
        if is_baseline or (walk.steps and walk.steps[-1].stop_score is None):
            scorer = "TF-IDF" if is_baseline else "This scorer"
            return f"{message} {scorer} cannot tell when an explanation is complete."
        return message
    if walk.stopped == "nothing visible":
        return "Stopped: no other premise is visible. Increase k to see more."
    if walk.stopped == "bare prefix":
        last = walk.steps[-1]
        return f"Complete: no candidate improves it ({last.stop_score:.3f} against {last.scores[0]:.3f})."
    return ""


def count_candidates(step: Step) -> str:
    """Return the number of a step's candidates as text.

    >>> count_candidates(Step((3,), (1, 2), (0.5, 0.2), None, frozenset({2})))
    '2 candidates, 1 new'
    """
    words = count_of(len(step.candidates), "candidate")
    return f"{words}, {len(step.newly_visible):,} new" if step.chosen else words


def truncation_message(walk: Chain) -> str:
    """Return what the scorer truncated of question and chain; empty where it read everything."""
    dropped = worst_dropped(step.dropped for step in walk.steps)
    messages = []
    if dropped < 0:
        messages.append("The question exceeds the scorer's input: its beginning was truncated.")
    elif dropped:
        messages.append(f"The chain exceeds the scorer's input: oldest premises left out: {dropped}.")
    if cut := len(walk.cut):
        messages.append(f"Premises longer than half of the scorer's input, truncated: {cut:,}.")
    return " ".join(messages)


@dataclass(frozen=True)
class Scene:
    """State of the page: the chain so far, and the step that is being scored."""

    source: Source
    builder: Builder
    length: int
    picks: Picks
    walk: Chain
    making: Task[Step] | None

    def uid(self, fact: int) -> str:
        """Return the uid of a premise."""
        return self.source.facts.facts[fact].uid

    def go(self, facts: tuple[int, ...], *, alone: bool, number: int | None = None) -> None:
        """Choose premises by hand and open a step, the one after them by default; called before a run."""
        store_picks(self.source.about, Picks(tuple(map(self.uid, facts)), alone))
        self.show(len(facts) if number is None else number)

    def show(self, number: int) -> None:
        """Open a step; called before a run."""
        st.session_state["chains_open"] = (self.source.about, number)
        st.session_state["chains_more"] = PAGE


def build(source: Source, builder: Builder, *, length: int, picks: Picks) -> Scene:
    """Return the chain as far as its steps are scored; start the next one."""
    making: list[Task[Step]] = []
    until = time.monotonic() + _WAIT

    def step_of(premises: tuple[int, ...]) -> Step | None:
        task = take_step(builder, source.question, premises, wait=max(0.0, until - time.monotonic()))
        if task.value is None:
            making.append(task)
        return task.value

    positions = [source.facts.positions.get(uid.lower()) for uid in picks.uids]
    # After an unknown or retired premise the picks no longer apply.
    valid_positions = [at for at in takewhile(lambda at: at is not None, positions) if at is not None]
    walk = follow(step_of, Search(length=length), premises=valid_positions, automatic=picks.alone)
    return Scene(source, builder, length, picks, walk, making[0] if making else None)


def draw_chain(scene: Scene) -> None:
    """Draw the chain, and the candidates of the open step."""
    walk = scene.walk
    if walk.by_hand < len(scene.picks.uids) and scene.making is None:
        st.warning(
            "Some chosen premises are no longer visible. The chain continues from the last visible one.",
            icon=":material/visibility_off:",
        )
    left, right = st.columns([5, 6], gap="large")
    with left:
        _draw_facts(scene)
    with right:
        number = _open(scene)
        if number < len(walk.steps):
            _draw_step(scene, number)


def _open(scene: Scene) -> int:
    """Return the number of the open step, from 0."""
    stored: tuple[str, int] | None = st.session_state.get("chains_open")
    last = max(0, len(scene.walk.steps) - 1)
    if stored is None or stored[0] != scene.source.about:
        return last if scene.walk.stopped is None and scene.making is None else 0
    return min(stored[1], last)


def _draw_facts(scene: Scene) -> None:
    walk, words, opened = scene.walk, words_of(scene.source.question.text), _open(scene)
    st.markdown(f"##### Chain: {count_of(len(walk.facts), 'premise')}")
    for number, (fact, step) in enumerate(zip(walk.facts, walk.steps, strict=False)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                str(number + 1),
                key=f"chain-open-{number}-{scene.uid(fact)}",
                type="primary" if number == opened else "secondary",
                on_click=scene.show,
                args=(number,),
                help=f"Show the candidates of step {number + 1}",
                width=56,
            )
            rank = step.candidates.index(fact) + 1
            hand = " · your choice" if number < walk.by_hand else ""
            notes = f"{step.scores[rank - 1]:.3f}, rank {rank} of {count_candidates(step)}{hand}"
            _draw_sentence(scene, fact, words, notes)
    if scene.making is not None:
        draw_progress(scene.making, waiting=f"Scoring step {len(walk.steps) + 1} …")
    elif message := end_message(walk, length=scene.length, is_baseline=scene.builder.scorer is None):
        st.info(message, icon=":material/flag:")
    elif walk.stopped is None:
        st.info("Choose the next premise, or continue.", icon=":material/touch_app:")
    if cut := truncation_message(walk):
        st.warning(cut, icon=":material/content_cut:")
    _draw_buttons(scene)


def _draw_buttons(scene: Scene) -> None:
    facts = scene.walk.facts
    waits = scene.walk.stopped is None and scene.making is None
    following = (*facts, scene.walk.steps[-1].candidates[0]) if waits else facts
    buttons = (
        ("back", "Step back", "undo", bool(facts), facts[:-1], False, "Removes the last premise"),
        ("next", "Next premise", "arrow_forward", waits, following, False, "Adds the best candidate"),
        ("end", "Continue", "fast_forward", waits, facts, True, "Builds the chain to its end"),
        ("over", "Start over", "restart_alt", scene.picks != Picks(), (), True, "Discards your choices"),
    )
    with st.container(horizontal=True):
        for name, text, icon, enabled, premises, alone, help_ in buttons:
            st.button(
                text,
                icon=f":material/{icon}:",
                key=f"chain-{name}",
                disabled=not enabled,
                on_click=scene.go,
                args=(premises,),
                kwargs={"alone": alone},
                help=help_,
            )


def _draw_step(scene: Scene, number: int) -> None:
    walk, texts = scene.walk, scene.source.facts.texts
    step = walk.steps[number]
    st.markdown(f"##### Step {number + 1}: {count_candidates(step)}")
    rows = list(enumerate(step.candidates, start=1))
    most = int(st.session_state.get("chains_more", PAGE))
    words = words_of(" ".join([scene.source.question.text, *(texts[fact] for fact in step.chosen)]))
    # The score of the explanation as it is stands above the first candidate that does not improve it.
    line = sum(step.stop_score is None or step.scores[rank - 1] > step.stop_score for rank, _ in rows)
    for at, (rank, fact) in enumerate(rows[:most]):
        if at == line:
            _draw_bare(step)
        _draw_candidate(scene, number, rank, fact, words)
    if line == len(rows) <= most:
        _draw_bare(step)
    if not rows:
        st.caption("None." if step.candidates else "No premise is visible here.")
    if len(rows) > most:
        st.button(
            f"Show more ({len(rows) - most:,} left)",
            icon=":material/expand_more:",
            key="chain-more",
            on_click=st.session_state.update,
            args=({"chains_more": most + 2 * PAGE},),
        )


def _draw_bare(step: Step) -> None:
    if step.stop_score is not None:
        st.html(
            '<div class="entail-quiet" style="border-top: 1px dashed; padding-top: .3rem">'
            f"{step.stop_score:.3f} without another premise</div>"
        )


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
            str(rank),
            icon=":material/check:" if is_chosen else ":material/add:",
            key=f"chain-choose-{number}-{scene.uid(fact)}",
            disabled=is_chosen,
            on_click=scene.go,
            args=((*before, fact),),
            kwargs={"alone": scene.picks.alone, "number": number},
            help="Chosen" if is_chosen else f"Choose as premise {number + 1}: {text}",
            width=76,
        )
        _draw_sentence(scene, fact, words, " · ".join(notes))


def _draw_sentence(scene: Scene, fact: int, words: frozenset[str], notes: str) -> None:
    sentence = marked(scene.source.facts.texts[fact], words)
    with st.container(gap=None):  # one column next to its button
        st.html(f'<div class="entail-sentence">{sentence}</div><div class="entail-quiet">{notes}</div>')
