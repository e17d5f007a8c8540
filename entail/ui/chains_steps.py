"""The chain step by step: the chosen facts, and the candidates of the step that is open."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from entail.arcf.chain import Search
from entail.arcf.stepwise import Step, Walk, follow
from entail.data.worldtree import Question
from entail.data.worldtree_tables import FactTables
from entail.ui.authoring import draw_progress
from entail.ui.chains_link import Picks, decide
from entail.ui.chains_told import STYLE, grew, role_badge, roles_of, shown, unread, why_it_ended
from entail.ui.chains_works import TFIDF, Builder, take_step
from entail.ui.words import label, marked, words_of
from entail.ui.works import Work

PAGE = 8
"""Candidates on the screen at once."""

_WAIT = 0.6
"""Seconds that a page waits for steps before it shows those that are there."""

_WHICH = {"all": "All visible", "joined": "Joined here", "gold": "Gold"}


@dataclass(frozen=True)
class Scene:
    """What is drawn.

    Attributes:
        about: What a person's choices belong to.
        question: The question.
        facts: All facts.
        builder: What builds.
        length: Facts of a chain at most.
        picks: What a person decided.
        walk: The chain as far as it is.
        making: The step that is scored at the moment; None where none is.
    """

    about: str
    question: Question
    facts: FactTables
    builder: Builder
    length: int
    picks: Picks
    walk: Walk
    making: Work[Step] | None

    @property
    def roles(self) -> Mapping[int, str]:
        """The gold facts, position -> role."""
        return roles_of(self.question, self.facts)

    def uids(self, facts: tuple[int, ...]) -> tuple[str, ...]:
        """Return the uids of facts."""
        return tuple(self.facts.facts[fact].uid for fact in facts)


def build(
    about: str, question: Question, facts: FactTables, builder: Builder, *, length: int, picks: Picks
) -> Scene:
    """Return the chain as far as its steps are scored; the next one is begun."""
    making: list[Work[Step]] = []
    until = time.monotonic() + _WAIT

    def step_of(chosen: tuple[int, ...]) -> Step | None:
        work = take_step(builder, question, chosen, wait=max(0.0, until - time.monotonic()))
        if work.value is None:
            making.append(work)
        return work.value

    given = []
    for uid in picks.uids:
        position = facts.positions.get(uid.lower())
        if position is None:
            break  # a fact of other facts, or retired: what stood behind it is no longer what was meant
        given.append(position)
    walk = follow(step_of, Search(length=length), given=given, alone=picks.alone)
    return Scene(about, question, facts, builder, length, picks, walk, making[0] if making else None)


def draw_chain(scene: Scene) -> None:
    """Draw the chain beside the candidates of the open step."""
    st.html(STYLE)
    walk = scene.walk
    if walk.by_hand < len(scene.picks.uids) and scene.making is None:
        st.warning(
            "Not every fact that was chosen by hand is visible there any more: the chain goes on from the "
            "last that is.",
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
    """Return the number of the step whose candidates are shown, from 0."""
    held: tuple[str, int] | None = st.session_state.get("chains_open")
    last = max(0, len(scene.walk.steps) - 1)
    if held is None or held[0] != scene.about:
        return last if scene.walk.stopped is None and scene.making is None else 0
    return min(held[1], last)


def _show(about: str, number: int) -> None:
    st.session_state["chains_open"] = (about, number)
    st.session_state["chains_more"] = PAGE


def _go(about: str, found: Picks, number: int) -> None:
    decide(about, found)
    _show(about, number)


def _draw_facts(scene: Scene) -> None:
    walk, facts = scene.walk, scene.facts
    known, opened = words_of(scene.question.text), _open(scene)
    st.markdown(f"##### The chain: {len(walk.facts)} {'fact' if len(walk.facts) == 1 else 'facts'}")
    for number, fact in enumerate(walk.facts):
        step = walk.steps[number]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                str(number + 1),
                key=f"chain-open-{number}-{facts.facts[fact].uid}",
                type="primary" if number == opened else "secondary",
                on_click=_show,
                args=(scene.about, number),
                help=f"Show the candidates of step {number + 1}",
                width=56,
            )
            badge = f" {role_badge(scene.roles[fact])}" if fact in scene.roles else ""
            place = step.candidates.index(fact) + 1
            hand = " · chosen by hand" if number < walk.by_hand else ""
            which = "best" if place == 1 else f"place {place}"
            _draw_words(
                marked(facts.texts[fact], known) + badge,
                f"{step.scores[place - 1]:.3f}, {which} of {grew(step)}{hand}",
            )
    if scene.making is not None:
        draw_progress(scene.making, waiting=f"Scoring step {len(walk.steps) + 1} …")
    elif told := why_it_ended(walk, length=scene.length, words=scene.builder.by == TFIDF):
        st.info(told, icon=":material/flag:")
    elif walk.stopped is None:
        st.info("It waits for you: choose the next fact, or let it go on.", icon=":material/touch_app:")
    if cut := unread(walk):
        st.warning(cut, icon=":material/content_cut:")
    _draw_buttons(scene)


def _draw_buttons(scene: Scene) -> None:
    walk = scene.walk
    waits = walk.stopped is None and scene.making is None
    with st.container(horizontal=True):
        back = walk.facts[:-1]
        st.button(
            "Step back",
            icon=":material/undo:",
            key="chain-back",
            disabled=not walk.facts,
            on_click=_go,
            args=(scene.about, Picks(scene.uids(back), alone=False), len(back)),
            help="Take the last fact away, and wait there",
        )
        best = (*walk.facts, walk.steps[-1].candidates[0]) if waits else walk.facts
        st.button(
            "Next fact",
            icon=":material/arrow_forward:",
            key="chain-next",
            disabled=not waits,
            on_click=_go,
            args=(scene.about, Picks(scene.uids(best), alone=False), len(best)),
            help="Take the best candidate, and wait again",
        )
        st.button(
            "To the end",
            icon=":material/fast_forward:",
            key="chain-end",
            disabled=not waits,
            on_click=_go,
            args=(scene.about, Picks(scene.uids(walk.facts), alone=True), len(walk.facts)),
            help="Let it go on alone",
        )
        st.button(
            "Start over",
            icon=":material/restart_alt:",
            key="chain-over",
            disabled=scene.picks == Picks(),
            on_click=_go,
            args=(scene.about, Picks(), 0),
            help="Forget what was chosen by hand",
        )


def _draw_step(scene: Scene, number: int) -> None:
    walk, facts = scene.walk, scene.facts
    step = walk.steps[number]
    chosen = walk.facts[number] if number < len(walk.facts) else None
    st.markdown(f"##### Step {number + 1}: {grew(step)}")
    makes_sense = {"all": True, "joined": bool(step.chosen), "gold": bool(scene.roles)}
    options = [which for which in _WHICH if makes_sense[which]]
    st.session_state.setdefault("chains_which", "all")
    if st.session_state["chains_which"] not in options:
        st.session_state["chains_which"] = "all"
    which = st.segmented_control(
        "Which candidates",
        options,
        format_func=_WHICH.__getitem__,
        key="chains_which",
        required=True,
        label_visibility="collapsed",
    )
    rows = shown(step, scene.roles, which or "all")
    most = int(st.session_state.get("chains_more", PAGE))
    known = words_of(" ".join([scene.question.text, *(facts.texts[fact] for fact in step.chosen)]))
    told = step.bare is None
    for place, fact in rows[:most]:
        score = step.scores[place - 1]
        if not told and step.bare is not None and step.bare >= score:
            _draw_bare(step.bare)
            told = True
        _draw_candidate(scene, number, place, fact, score, known, is_chosen=fact == chosen)
    if not told and step.bare is not None and len(rows) <= most:
        _draw_bare(step.bare)
    if not rows:
        st.caption("None." if step.candidates else "No fact is visible here.")
    if len(rows) > most:
        st.button(
            f"Show more ({len(rows) - most:,} left)",
            icon=":material/expand_more:",
            key="chain-more",
            on_click=_more,
            args=(most + 2 * PAGE,),
        )


def _more(count: int) -> None:
    st.session_state["chains_more"] = count


def _draw_bare(score: float) -> None:
    st.html(
        f'<div class="entail-quiet" style="border-top: 1px dashed; padding-top: .3rem">'
        f"{score:.3f} the explanation as it is: what stands below scores less</div>"
    )


def _draw_candidate(
    scene: Scene, number: int, place: int, fact: int, score: float, known: frozenset[str], *, is_chosen: bool
) -> None:
    before = scene.walk.facts[:number]
    step = scene.walk.steps[number]
    notes = [f"{score:.3f}"]
    if number and fact in step.joined:
        notes.append("joined here")
    if is_chosen:
        notes.append("<b>chosen</b>")
    badge = f" {role_badge(scene.roles[fact])}" if fact in scene.roles else ""
    text = scene.facts.texts[fact]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            str(place),
            icon=":material/check:" if is_chosen else ":material/add:",
            key=f"chain-choose-{number}-{scene.facts.facts[fact].uid}",
            disabled=is_chosen,
            on_click=_go,
            args=(scene.about, Picks(scene.uids((*before, fact)), scene.picks.alone), number),
            help="Chosen" if is_chosen else f"Choose as fact {number + 1}: {label(text, longest=80)}",
            width=76,
        )
        _draw_words(marked(text, known) + badge, " · ".join(notes))


def _draw_words(sentence: str, notes: str) -> None:
    with st.container(gap=None):  # beside its button, however long it is
        st.html(f'<div class="entail-sentence">{sentence}</div><div class="entail-quiet">{notes}</div>')
