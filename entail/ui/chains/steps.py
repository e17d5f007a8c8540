"""The chain step by step: its premises, and the candidates of the open step."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from entail.arcf.chains.chain import Search
from entail.arcf.chains.explained import gold_roles, select_candidates
from entail.arcf.chains.stepwise import Step, Walk, follow
from entail.arcf.scoring.inputs import most_dropped
from entail.data.worldtree.questions import CENTRAL, GROUNDING, LEXICAL_GLUE, Question
from entail.data.worldtree.tables import FactTables
from entail.ui.chains.choice import Picks, store_picks
from entail.ui.chains.tasks import TFIDF, Builder, take_step
from entail.ui.shared.tasks import Task
from entail.ui.shared.text import label, marked, words_of
from entail.ui.shared.waiting import draw_progress

PAGE = 8
"""Candidates shown at first."""

_WAIT = 0.6
"""Seconds that the page waits for steps before it draws the finished ones."""

_WHICH = {"all": "All", "joined": "New here", "gold": "Gold"}
_ROLES = {CENTRAL: "central", GROUNDING: "grounding", LEXICAL_GLUE: "lexical glue"}

STYLE = """
<style>
  .chain-role { display: inline-block; padding: 0 .45em; border: 1px solid var(--role); border-radius: 1em;
      background: color-mix(in srgb, var(--role) 20%, transparent); font-size: .8rem; white-space: nowrap; }
  .chain-central { --role: #d55e00; } .chain-grounding { --role: #0072b2; border-style: dashed; }
  .chain-gold { width: 100%; border-collapse: collapse; }
  .chain-gold th { text-align: left; font-weight: 600; font-size: .86rem; vertical-align: bottom; }
  .chain-gold th, .chain-gold td { padding: .3rem .6rem .3rem 0; overflow-wrap: anywhere;
      border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
  .chain-gold td + td, .chain-gold th + th { text-align: right; width: clamp(3.4rem, 14%, 6rem);
      font-variant-numeric: tabular-nums; overflow-wrap: normal; }
  .chain-glue { --role: #009e73; border-style: dotted; border-width: 2px; } .chain-other { --role: #888; }
</style>
"""
"""Roles differ by name and outline, too, never by colour alone."""

_CLASSES = {CENTRAL: "central", GROUNDING: "grounding", LEXICAL_GLUE: "glue"}


def role_name(role: str) -> str:
    """Return the name of a role."""
    return _ROLES.get(role, role.lower())


def role_badge(role: str) -> str:
    """Return the role of a gold premise as HTML.

    >>> role_badge("LEXGLUE")
    '<span class="chain-role chain-glue">★ lexical glue</span>'
    """
    kind = _CLASSES.get(role, "other")
    return f'<span class="chain-role chain-{kind}">★ {html.escape(role_name(role))}</span>'


def end_message(walk: Walk, *, length: int, is_baseline: bool) -> str:
    """Return why a chain ended; empty where it waits for the user.

    Args:
        walk: The chain.
        length: Most premises of it.
        is_baseline: Whether TF-IDF built it.
    """
    if walk.stopped == "length":
        message = f"Stopped: limit of {length} {'premise' if length == 1 else 'premises'} reached."
        if is_baseline:
            return f"{message} TF-IDF cannot tell when an explanation is complete."
        if walk.steps and walk.steps[-1].bare is None:
            return f"{message} This scorer cannot tell when an explanation is complete."
        return message
    if walk.stopped == "nothing visible":
        return "Stopped: no other premise is visible. Increase k to see more."
    if walk.stopped == "bare prefix":
        last = walk.steps[-1]
        assert last.bare is not None
        return f"Complete: no candidate improves it ({last.bare:.3f} against {last.scores[0]:.3f})."
    return ""


def count_candidates(step: Step) -> str:
    """Return the number of a step's candidates in words.

    >>> count_candidates(Step((3,), (1, 2), (0.5, 0.2), None, frozenset({2})))
    '2 candidates, 1 new'
    """
    count = len(step.candidates)
    words = "1 candidate" if count == 1 else f"{count:,} candidates"
    return f"{words}, {len(step.joined):,} new" if step.chosen else words


def truncation_message(walk: Walk) -> str:
    """Return what the scorer truncated of question and chain; empty where it read everything."""
    dropped = most_dropped(step.dropped for step in walk.steps)
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
    """State of the page.

    Attributes:
        about: Key of the user's edits.
        question: The question.
        facts: All premises.
        builder: Builder of the chain.
        length: Most premises of a chain.
        picks: The user's edits.
        walk: The chain so far.
        making: Step that is being scored, None if none is.
    """

    about: str
    question: Question
    facts: FactTables
    builder: Builder
    length: int
    picks: Picks
    walk: Walk
    making: Task[Step] | None

    @property
    def roles(self) -> Mapping[int, str]:
        """Roles of the gold premises, by position."""
        return gold_roles(self.question, self.facts)

    def uids(self, facts: tuple[int, ...]) -> tuple[str, ...]:
        """Return the uids of premises."""
        return tuple(self.facts.facts[fact].uid for fact in facts)


def build(
    about: str, question: Question, facts: FactTables, builder: Builder, *, length: int, picks: Picks
) -> Scene:
    """Return the chain as far as its steps are scored; start the next one."""
    making: list[Task[Step]] = []
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
            break  # unknown or retired: the picks after it no longer apply
        given.append(position)
    walk = follow(step_of, Search(length=length), given=given, alone=picks.alone)
    return Scene(about, question, facts, builder, length, picks, walk, making[0] if making else None)


def draw_chain(scene: Scene) -> None:
    """Draw the chain, and the candidates of the open step."""
    st.html(STYLE)
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
    if stored is None or stored[0] != scene.about:
        return last if scene.walk.stopped is None and scene.making is None else 0
    return min(stored[1], last)


def _show(about: str, number: int) -> None:
    st.session_state["chains_open"] = (about, number)
    st.session_state["chains_more"] = PAGE


def _go(about: str, found: Picks, number: int) -> None:
    store_picks(about, found)
    _show(about, number)


def _draw_facts(scene: Scene) -> None:
    walk, facts = scene.walk, scene.facts
    known, opened = words_of(scene.question.text), _open(scene)
    st.markdown(f"##### Chain: {len(walk.facts)} {'premise' if len(walk.facts) == 1 else 'premises'}")
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
            hand = " · your choice" if number < walk.by_hand else ""
            which = f"rank {place}"
            _draw_words(
                marked(facts.texts[fact], known) + badge,
                f"{step.scores[place - 1]:.3f}, {which} of {count_candidates(step)}{hand}",
            )
    if scene.making is not None:
        draw_progress(scene.making, waiting=f"Scoring step {len(walk.steps) + 1} …")
    elif message := end_message(walk, length=scene.length, is_baseline=scene.builder.by == TFIDF):
        st.info(message, icon=":material/flag:")
    elif walk.stopped is None:
        st.info("Choose the next premise, or continue.", icon=":material/touch_app:")
    if cut := truncation_message(walk):
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
            help="Removes the last premise",
        )
        best = (*walk.facts, walk.steps[-1].candidates[0]) if waits else walk.facts
        st.button(
            "Next premise",
            icon=":material/arrow_forward:",
            key="chain-next",
            disabled=not waits,
            on_click=_go,
            args=(scene.about, Picks(scene.uids(best), alone=False), len(best)),
            help="Adds the best candidate",
        )
        st.button(
            "Continue",
            icon=":material/fast_forward:",
            key="chain-end",
            disabled=not waits,
            on_click=_go,
            args=(scene.about, Picks(scene.uids(walk.facts), alone=True), len(walk.facts)),
            help="Builds the chain to its end",
        )
        st.button(
            "Start over",
            icon=":material/restart_alt:",
            key="chain-over",
            disabled=scene.picks == Picks(),
            on_click=_go,
            args=(scene.about, Picks(), 0),
            help="Discards your choices",
        )


def _draw_step(scene: Scene, number: int) -> None:
    walk, facts = scene.walk, scene.facts
    step = walk.steps[number]
    chosen = walk.facts[number] if number < len(walk.facts) else None
    st.markdown(f"##### Step {number + 1}: {count_candidates(step)}")
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
    rows = select_candidates(step, scene.roles, which or "all")
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
        st.caption("None." if step.candidates else "No premise is visible here.")
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
        f"{score:.3f} without another premise</div>"
    )


def _draw_candidate(
    scene: Scene, number: int, place: int, fact: int, score: float, known: frozenset[str], *, is_chosen: bool
) -> None:
    before = scene.walk.facts[:number]
    step = scene.walk.steps[number]
    notes = [f"{score:.3f}"]
    if number and fact in step.joined:
        notes.append("new here")
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
            help="Chosen" if is_chosen else f"Choose as premise {number + 1}: {label(text, longest=80)}",
            width=76,
        )
        _draw_words(marked(text, known) + badge, " · ".join(notes))


def _draw_words(sentence: str, notes: str) -> None:
    with st.container(gap=None):  # one column next to its button
        st.html(f'<div class="entail-sentence">{sentence}</div><div class="entail-quiet">{notes}</div>')
