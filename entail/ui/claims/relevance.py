"""Relevance analysis: Figures 2 and 3 of the entailment tuning paper over the user's passages and pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from entail.encoders.catalogue import resolve
from entail.evaluation.passages.pool import Pool
from entail.runtime.models import judge_stamp, load_judge, model_cache
from entail.runtime.tasks import Task, TaskGroup
from entail.training.nli_source import take_evenly
from entail.tuning.relevance import (
    Relevance,
    compare_premises,
    measure_claims,
    percent,
    read_labelled,
    summarise_claims,
    summarise_premises,
)
from entail.ui.claims.fields import BETWEEN, LINK, PARTS, pick_encoders, pick_pool
from entail.ui.claims.judges import pick_judge
from entail.ui.claims.relevance_chart import draw_quartiles, draw_relevance, relevance_summary
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.form import upload_limit
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

COUNTS = range(10, 2001)
"""Allowed numbers of questions or pairs."""

USUAL = 100


_FIGURES = TaskGroup("relevance", failure="the figure could not be measured")
_FILES = TaskGroup("labelled pairs", failure="the pairs could not be read")


def draw_relevance_figures(shared: Workspace) -> None:
    """Draw the fields of both figures, then the figures."""
    st.markdown(
        "Entailment tuning assumes that a relevant passage entails the question's claim: test it here."
    )
    first = st.container()
    st.divider()
    second = st.container()
    with first:
        st.subheader("Do answering passages entail the claim?")
        source, judged = st.columns(2, gap="large")
        with source:
            pool = pick_pool(shared)
        with judged:
            questions = _pick_count("questions", "Questions", "evenly from those with known passages")
            judge = pick_judge()
    with second:
        st.subheader("Are entailing premises more similar?")
        upload, by = st.columns(2, gap="large")
        with upload:
            file = st.file_uploader(
                "SNLI, MultiNLI, SICK, or CSV, TSV, JSONL or Parquet with premise, hypothesis and label; "
                "also gzipped",
                key="claims_nli",
                max_upload_size=upload_limit(),
            )
        with by:
            pairs = _pick_count("pairs", "Pairs", "evenly from the file, half entailing, half neutral")
            encoders = pick_encoders()
    LINK.save_to_url(PARTS, further={"encoders": BETWEEN.join(encoders)} if encoders else None)
    if pool is not None:  # the field shows why there is none
        with first:
            _draw_claims(pool, judge, questions)
    with second:
        _draw_premises(file, encoders, pairs)


def _pick_count(part: str, title: str, how: str) -> int:
    count = st.number_input(
        title,
        value=None,  # an emptied field returns to its last value
        min_value=COUNTS.start,
        max_value=COUNTS.stop - 1,
        step=10,
        key=LINK.init_widget(part, COUNTS, USUAL),
        help=f"Sampled {how}.",
    )
    return USUAL if count is None else count


def _draw_claims(pool: Pool, name: str | None, count: int) -> None:
    """Draw Figure 2: P(passage entails claim) of answering passages and hard negatives."""
    if not pool.questions:
        st.info(
            f"{label(pool.name)} has no questions with known passages. Choose SQuAD JSON, DPR JSON, NQ-open "
            "with passages, or a BEIR folder with qrels.",
            icon=":material/quiz:",
        )
        return
    if name is None:
        return  # the field shows how to get one
    questions = tuple(pool.questions.values())
    judged_questions = take_evenly(questions, count)
    task = _FIGURES.get_or_start(
        ("claims", pool.corpus.hash, judged_questions, name, judge_stamp(name)),
        lambda report: measure_claims(pool, judged_questions, load_judge(name), progress=report),
    )
    waiting = f"{label(model_name(name))} judging {len(judged_questions):,} questions …"
    figure = await_value(task, waiting=waiting, key="claims_again_claims")
    if figure is None:
        return
    few = "All" if len(judged_questions) == len(questions) else f"{len(judged_questions):,} of"
    left_out = f" Left out, without a hard negative: {figure.left_out:,}." if figure.left_out else ""
    _draw(figure, summarise_claims(figure), key="claims", title="Questions (CSV)")
    st.caption(
        f"{few} {len(questions):,} questions, judged by {label(model_name(figure.by))}. Hard negative: "
        f"BM25's first passage without an answer. Passages are cut to 100 words around the answer.{left_out}"
    )


def _draw_premises(file: UploadedFile | None, encoders: Sequence[str], count: int) -> None:
    """Draw Figure 3: similarity of hypotheses to entailing, neutral and irrelevant premises."""
    if file is None:
        st.info(
            "Upload labelled pairs, such as the dev file of SNLI. They stay in memory only.",
            icon=":material/upload_file:",
        )
        return
    if not encoders:
        st.info("Choose one or two encoders.", icon=":material/search:")
        return
    content, name, models = file.getvalue(), file.name, model_cache()
    digest = (name, hashlib.sha256(content).hexdigest())
    reading = _FILES.get_or_start(digest, lambda _: read_labelled(content, name=name))
    pairs = await_value(reading, waiting="Reading the pairs …", key="claims_again_pairs")
    if pairs is None:
        return

    def start(encoder: str) -> Task[Relevance]:
        return _FIGURES.get_or_start(
            ("premises", digest, count, encoder, resolve(encoder).revision),
            lambda report: compare_premises(pairs.sample(count), models.encoder(encoder), progress=report),
        )

    tasks = [start(encoder) for encoder in encoders]
    for encoder, task, column in zip(encoders, tasks, st.columns(len(tasks), gap="large"), strict=True):
        with column:
            waiting = f"{label(model_label(encoder))} encoding pairs …"
            figure = await_value(task, waiting=waiting, key=f"claims_again_{encoder}")
            if figure is not None:
                key = f"premises-{encoder}"
                _draw(figure, summarise_premises(figure), key=key, title="Pairs (CSV)")
    st.caption(
        f"{label(name)}: {label(pairs.summary)}. Queries are hypotheses; an irrelevant premise is another "
        "pair's."
    )


def _draw(figure: Relevance, words: str, *, key: str, title: str) -> None:
    """Draw a figure: words, charts, summary, download of its rows."""
    data = figure.to_json()
    first = next(iter(data["groups"]))
    st.markdown(words)
    alt = f"Share of each group by bin. {words.replace('**', '')}"
    st.altair_chart(draw_relevance(data), width="stretch", key=f"claims-figure-{key}", alt=alt)
    st.altair_chart(
        draw_quartiles(data),
        width="stretch",
        key=f"claims-quartiles-{key}",
        alt="Means and quartiles of the groups, as in the table below.",
    )
    rows = relevance_summary(data)
    rows["above"] = [
        "" if group == first else percent(above)
        for group, above in zip(rows["group"], rows["above"], strict=True)
    ]
    number = st.column_config.NumberColumn
    st.dataframe(
        rows,
        hide_index=True,
        column_order=["group", "above", "mean", "lower", "median", "upper", "n"],
        key=f"claims-summary-{key}",
        column_config={
            "group": st.column_config.TextColumn("Group"),
            "n": number("Values", format="localized"),
            "mean": number("Mean", format="%.3f"),
            "lower": number("Lower quartile", format="%.3f"),
            "median": number("Median", format="%.3f"),
            "upper": number("Upper quartile", format="%.3f"),
            "above": st.column_config.TextColumn(
                "First group higher",
                help=f"Share of comparisons in which “{first}” has the higher value; ties count half.",
            ),
        },
    )
    draw_download(title, f"relevance_{key}.csv", lambda: figure.rows)
