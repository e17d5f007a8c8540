"""What a training from the team's decisions would learn from, and the button that starts it."""

from __future__ import annotations

import streamlit as st

from entail.aeenc.few_decisions import FEW_DECISIONS
from entail.errors import EntailError
from entail.jobs.record import Job
from entail.trees.learning import ENOUGH, Decided, Lesson, lesson_of, name_for
from entail.trees.wording import count_of
from entail.ui.authoring import Place
from entail.ui.learning import learning_jobs, still_missing
from entail.ui.resources import jobs
from entail.ui.screen import Desk
from entail.ui.words import label

METHOD, CONFIG = "aeenc", FEW_DECISIONS
"""What is trained, and with which settings."""


def _forget() -> None:
    for screen in st.session_state.get("screens", {}).values():
        screen.dialog = None


@st.dialog("Learn from your decisions", width="large", on_dismiss=_forget)
def draw_learning_dialog(place: Place, desk: Desk) -> None:
    """Draw what would be learnt, the name of the encoder to be, and Start."""
    corpus_id = place.summary.corpus_id
    assert corpus_id is not None
    busy = next((job for job in learning_jobs(corpus_id) if job.open), None)
    if busy is not None:
        st.info(
            f"**{label(busy.name)}** is learning from these decisions at this moment. Wait for it, or cancel "
            "it.",
            icon=":material/hourglass_top:",
        )
        return
    try:
        lesson = lesson_of(place.shared.log, place.corpus, corpus_id=corpus_id)
    except EntailError as error:
        st.error(label(str(error)))
        return
    _draw_lesson(lesson, place.corpus.name)
    lacking = lesson.decided.lacking(ENOUGH)
    if lacking != Decided():
        st.info(still_missing(lacking) + " What several trees say counts once.")
    taken = jobs().names_taken()
    if ahead := sum(job.open for job in jobs().jobs()):
        st.info(f"It will wait for {count_of(ahead, 'other training')}.", icon=":material/schedule:")
    with st.form("learn", border=False):
        name = st.text_input("Name of the encoder", value=name_for(place.corpus.name, taken), max_chars=80)
        st.caption(
            "A small adapter on MiniLM learns how to look for premises; the premises keep their vectors. "
            "Seconds to a few minutes, outside this page: you can go on working, or close it. Trees and "
            "decisions stay as they are, and every retriever stays at hand."
        )
        pressed = st.form_submit_button("Start learning", type="primary", disabled=lacking != Decided())
    if pressed:
        try:
            begin(place, name.strip(), author=desk.author or "somebody")
        except EntailError as error:
            st.error(label(str(error)))
            return
        desk.screen.dialog = None
        st.rerun()


def begin(place: Place, name: str, *, author: str) -> Job:
    """Queue the training of an encoder from the decisions on a corpus.

    Raises:
        TrainingError: If the name will not do, or is taken.
        JobError: If it cannot be queued.
    """
    return jobs().submit(
        METHOD,
        CONFIG,
        {"from_log": place.summary.corpus_id},
        name=name,
        by=author,
        about=f"the decisions on {place.corpus.name}",
    )


def _draw_lesson(lesson: Lesson, corpus_name: str) -> None:
    counts = lesson.pairs.counts
    st.markdown(
        f"From {count_of(lesson.trees, 'tree')} authored here on **{label(corpus_name)}**: "
        f"{count_of(counts['queries'], 'sentence')} with "
        f"{count_of(counts['positives'], 'accepted premise')} and {counts['negatives']:,} rejected."
    )
    lines = [f"- Left out: {count:,} {reason}." for reason, count in lesson.left_out.items()]
    if lesson.outside:
        lines.append(
            f"- {count_of(len(lesson.outside), 'judged sentence')} beside the corpus (conclusions, your own "
            "words, retired facts): learnt from too."
        )
    lines.append("- Examples and imported trees are not learnt from, nor is what nobody looked at.")
    st.markdown("\n".join(lines))
    with st.expander(f"The {sum(1 for _ in lesson.rows()):,} decisions", expanded=False):
        st.dataframe(
            [
                {"sentence": query, "premise": premise, "decision": what, "in the corpus": inside}
                for query, premise, what, inside in lesson.rows()
            ],
            hide_index=True,
            height=260,
        )
