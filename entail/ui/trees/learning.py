"""Training from the team's decisions: requirements, preview, form, job and result."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from entail.aeenc.config import AeencConfig, decisions_config
from entail.data.text import count_of
from entail.encoders.catalogue import resolve
from entail.errors import EntailError
from entail.jobs.record import Job
from entail.registry.models import active
from entail.trees.review.decisions import Lesson, describe_missing, lesson_of, propose_name
from entail.ui.components.elements import show_errors
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.job_list import LIVE, LOOKS, ensure_worker, progress_of
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import jobs, retrievers
from entail.ui.shared.text import label
from entail.ui.trees.models import RETRIEVER_KEY
from entail.ui.trees.page import TreePage, close_dialogs


def learning_jobs(corpus_id: str | None) -> list[Job]:
    """Return the jobs that train on the decisions about a corpus, the newest first."""
    if corpus_id is None:
        return []
    return [job for job in jobs().jobs() if job.spec.source.get("from_log") == corpus_id]


def draw_learning(page: TreePage) -> None:
    """Draw the running training, or the end of the last one with what the next one needs."""
    if not len(page.corpus) or is_locked_in_demo("training is unavailable"):
        return
    corpus_jobs = learning_jobs(page.summary.corpus_id)
    with st.container(key="learning"):
        if busy := [job for job in corpus_jobs if job.open]:
            _draw_busy(busy[-1].id)  # the oldest runs first
            return
        if corpus_jobs:
            _draw_end(corpus_jobs[0], page)
        if missing := describe_missing(page.decisions):
            st.caption(missing)
            return
        st.button(
            "Train on decisions …",
            icon=":material/school:",
            on_click=_open,
            args=(page,),
            type="tertiary",
            key=f"learn-{page.summary.id}",
            help="Trains an encoder on the judgements in this corpus. You see the data first.",
        )


@st.fragment(run_every=LIVE)
def _draw_busy(job_id: str) -> None:
    try:
        job = jobs().job(job_id)
    except EntailError:
        st.rerun()  # deleted meanwhile
    if not job.open:
        st.rerun()
    share, words = (0.0, f"queued, number {job.queue_position}") if job.queue_position else progress_of(job)
    st.progress(share, text=f"**{label(job.name)}**, started by {label(job.spec.by)}: {label(words)}")
    if job.queue_position:
        ensure_worker()
    _draw_details(job)


def _draw_end(job: Job, page: TreePage) -> None:
    """Draw how the last training ended, with a button to rank by its encoder."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{LOOKS[job.state].icon} **{label(job.name)}**: {job.state}", width="content")
        if job.state == "done" and page.ranking.base != job.name and job.name in retrievers():
            st.button(
                "Rank with it",
                on_click=st.session_state.update,
                args=({RETRIEVER_KEY: job.name},),
                key="use_learnt",
            )
        _draw_details(job)


def _draw_details(job: Job) -> None:
    st.page_link(
        "pages/Models.py",
        label="Details",
        icon=":material/monitoring:",
        query_params={"models_view": "Training", "job": job.id},
    )


def _open(page: TreePage) -> None:
    page.screen.dialog = "learn" if page.author is not None else "name"


@st.dialog("Train on your decisions", width="large", on_dismiss=close_dialogs)
def draw_learning_dialog(page: TreePage) -> None:
    """Draw the training data, the name of the new encoder, and Start."""
    corpus_id = str(page.summary.corpus_id)
    if busy := next((job for job in learning_jobs(corpus_id) if job.open), None):
        st.info(f"**{label(busy.name)}** is already training on these decisions. Wait for it, or cancel it.")
        return
    with show_errors():
        lesson = lesson_of(page.shared.log, page.corpus, corpus_id=corpus_id)
        _draw_lesson(lesson, page.corpus.name)
        if missing := describe_missing(lesson.counts):
            st.info(f"{missing} A decision that several trees share counts once.")
        with st.form("learn", border=False):
            free = propose_name(page.corpus.name, jobs().names_taken())
            name = st.text_input("Name", value=free, max_chars=80)
            config = learning_config(page.corpus.name)
            start = model_label(config.initial or config.base)
            st.caption(f"Trains {label(start)} further, in seconds to a few minutes. You can keep working.")
            pressed = st.form_submit_button("Start training", type="primary", disabled=bool(missing))
        if pressed:
            start_learning(page, name.strip(), author=page.author or "")
            page.screen.dialog = None
            st.rerun()


def learning_config(corpus: str) -> AeencConfig:
    """Return settings that train the active retriever further, if it has a tower for queries alone."""
    config = decisions_config()
    with suppress(EntailError):
        entry, base = resolve(active(corpus).encoder), resolve(config.base)
        if entry.towers != "siamese" and entry.base is not None and entry.base.revision == base.revision:
            return decisions_config(initial=entry.name)
    return config


def start_learning(page: TreePage, name: str, *, author: str) -> Job:
    """Queue a training on the decisions about a corpus.

    Raises:
        TrainingError: If the name is invalid or taken.
        JobError: If it cannot be queued.
    """
    return jobs().submit(
        "aeenc",
        learning_config(page.corpus.name),
        {"from_log": page.summary.corpus_id},
        name=name,
        by=author,
        about=f"the decisions on {page.corpus.name}",
    )


def _draw_lesson(lesson: Lesson, corpus_name: str) -> None:
    counts = lesson.pairs.counts
    st.markdown(
        f"From {count_of(lesson.trees, 'tree')} on **{label(corpus_name)}**: "
        f"{count_of(counts['queries'], 'sentence')} with "
        f"{count_of(counts['positives'], 'accepted premise')} and {counts['negatives']:,} rejected. "
        "A premise without a judgement counts as rejected. Imported trees count, examples do not."
    )
    for reason, count in lesson.left_out.items():
        st.caption(f"Left out: {count:,} {reason}.")
    rows = [
        {"sentence": query, "premise": premise, "decision": decision, "in the corpus": is_inside}
        for query, premise, decision, is_inside in lesson.rows()
    ]
    with st.expander(f"The {len(rows):,} decisions"):
        st.dataframe(rows, hide_index=True, height=260)
