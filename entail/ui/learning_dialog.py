"""What a training from the team's decisions would learn from, and the button that starts it."""

from __future__ import annotations

import sys

import streamlit as st

from entail.aeenc.few_decisions import FEW_DECISIONS, options
from entail.encoders.catalogue import catalogue
from entail.errors import EntailError
from entail.settings import load_settings
from entail.training.background import Background, look, start
from entail.trees.learning import ENOUGH, Decided, Lesson, check_name, lesson_of, name_for
from entail.trees.wording import count_of
from entail.ui.authoring import Place
from entail.ui.learning import learning_folder, still_missing
from entail.ui.screen import Desk
from entail.ui.words import label

CONFIG = FEW_DECISIONS
"""The settings that are used."""


def _forget() -> None:
    for screen in st.session_state.get("screens", {}).values():
        screen.dialog = None


@st.dialog("Learn from your decisions", width="large", on_dismiss=_forget)
def draw_learning_dialog(place: Place, desk: Desk) -> None:
    """Draw what would be learnt, the name of the encoder to be, and Start."""
    corpus_id = place.summary.corpus_id
    assert corpus_id is not None
    running = look(learning_folder())
    if running is not None and running.state == "running":
        st.info(
            f"**{label(running.name)}** is learning at this moment, and there is one training at a time in "
            "an installation. Wait for it, or cancel it.",
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
    taken = names_taken()
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


def begin(place: Place, name: str, *, author: str) -> Background:
    """Start the training of an encoder from the decisions on a corpus, outside this process.

    Raises:
        TrainingError: If the name will not do, a training runs already, or it cannot be started.
    """
    check_name(name, names_taken())
    settings = load_settings()
    out = settings.models_dir.absolute() / name
    return start(
        learning_folder(),
        command(str(place.summary.corpus_id), str(out)),
        name=name,
        about={"corpus_id": place.summary.corpus_id, "corpus": place.corpus.name, "author": author},
        # A training of seconds is done again from the start, with the decisions of that day.
        scratch=out.with_name(f"{name}.training"),
    )


def command(corpus_id: str, out: str) -> list[str]:
    """Return what is run: the same that a person could type."""
    return [
        *(sys.executable, "-m", "entail", "train", "aeenc"),
        *("--from-log", corpus_id, "--out", out, "--no-resume", "--json", "--progress-file", "{progress}"),
        *options(CONFIG),
    ]


def names_taken() -> set[str]:
    """Return the names under which something stands already: encoders, and other folders of `models/`."""
    models = load_settings().models_dir
    folders = {folder.name for folder in models.iterdir()} if models.is_dir() else set()
    return folders | {entry.name for entry in catalogue()}


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
