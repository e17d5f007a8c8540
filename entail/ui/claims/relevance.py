"""Relevance analysis: Figures 2 and 3 of the entailment tuning paper over the user's passages and pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.evaluation.passages.pool import Pool
from entail.training.nli_source import evenly
from entail.tuning.relevance import (
    LabelledPairs,
    RelevanceFigure,
    joined_rows,
    measure_claims,
    measure_premises,
    of_hundred,
    read_labelled,
    summarise_claims,
    summarise_premises,
    summary_rows,
)
from entail.ui.claims.encoders import pick_encoders
from entail.ui.claims.judges import judge_stamp, load_judge, pick_judge
from entail.ui.claims.link import LINK, PARTS
from entail.ui.claims.relevance_chart import draw_quartiles, draw_relevance, relevance_summary
from entail.ui.claims.source import pick_pool
from entail.ui.shared.downloads import CSV, draw_download, rows_csv
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace, model_cache, retriever_label
from entail.ui.shared.tasks import Task, TaskGroup
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

    from entail.progress import ProgressCallback

COUNTS = range(10, 2001)
"""Allowed numbers of questions or pairs."""

USUAL = 100


@dataclass(frozen=True)
class _Fields:
    """Values of the fields of both figures."""

    pool: Pool | None
    judge: str | None
    questions: int
    file: UploadedFile | None
    encoders: Sequence[str]
    pairs: int


_FIGURES = TaskGroup("relevance", failure="the figure could not be measured")


_FILES = TaskGroup("labelled pairs", failure="the pairs could not be read")


def draw_relevance_figures(shared: Workspace) -> None:
    """Draw the fields of both figures, then the figures."""
    st.markdown(
        "Entailment tuning assumes that a relevant passage entails the question's claim. Two figures test "
        "this on your data."
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
    fields = _Fields(pool, judge, questions, file, encoders, pairs)
    LINK.save_to_url(PARTS, further={"encoders": "|".join(encoders)} if encoders else None)
    with first:
        _draw_claims(fields)
    with second:
        _draw_premises(fields)


def _pick_count(part: str, what: str, how: str) -> int:
    found = st.number_input(
        what,
        value=None,  # an emptied field returns to its last value
        min_value=COUNTS.start,
        max_value=COUNTS.stop - 1,
        step=10,
        key=LINK.init_widget(part, COUNTS, USUAL),
        help=f"Sampled {how}.",
    )
    return USUAL if found is None else found


def _draw_claims(fields: _Fields) -> None:
    """Draw Figure 2: P(passage entails claim) of answering passages and hard negatives."""
    pool, name = fields.pool, fields.judge
    if pool is None:
        return  # the field shows why
    if not pool.questions:
        st.info(
            f"{label(pool.name)} has no questions with known passages. Choose SQuAD JSON, DPR JSON, NQ-open "
            "with passages, or a BEIR folder with qrels.",
            icon=":material/quiz:",
        )
        return
    if name is None:
        return  # the field shows how to get one
    known = tuple(pool.questions.values())
    asked = evenly(known, fields.questions)

    def make(report: ProgressCallback) -> RelevanceFigure:
        return measure_claims(pool, asked, load_judge(name), progress=report)

    work = _FIGURES.get_or_start(("claims", pool.corpus.hash, asked, name, judge_stamp(name)), make)
    if work.value is None:
        draw_progress(
            work, waiting=f"{label(name)} judging {len(asked):,} questions …", key="claims_again_claims"
        )
        return
    figure = work.value
    few = "All" if len(asked) == len(known) else f"{len(asked):,} of"
    left_out = f" Left out, without a hard negative: {figure.left_out:,}." if figure.left_out else ""
    _draw(figure, summarise_claims(figure), key="claims")
    st.caption(
        f"{few} {len(known):,} questions, judged by {label(figure.relevance.by)}. Hard negative: BM25's "
        f"first passage without an answer. Passages are cut to 100 words around the answer.{left_out}"
    )
    _offer([figure], "Questions (CSV)", lambda: rows_csv(map(dict, figure.rows)), name="claims")


def _draw_premises(fields: _Fields) -> None:
    """Draw Figure 3: similarity of hypotheses to entailing, neutral and irrelevant premises."""
    if fields.file is None:
        st.info(
            "Upload labelled pairs, such as the dev file of SNLI. They stay in memory only.",
            icon=":material/upload_file:",
        )
        return
    if not fields.encoders:
        st.info("Choose one or two encoders.", icon=":material/search:")
        return
    content, name = fields.file.getvalue(), fields.file.name
    place = (name, hashlib.sha256(content).hexdigest())
    reading = _FILES.get_or_start(place, lambda _: read_labelled(content, name=name))
    if reading.value is None:
        draw_progress(reading, waiting="Reading the pairs …", key="claims_again_pairs")
        return
    works = [_take_premises(one, place, reading.value, fields.pairs) for one in fields.encoders]
    figures = []
    for encoder, work, column in zip(
        fields.encoders, works, st.columns(len(works), gap="large"), strict=True
    ):
        with column:
            if work.value is None:
                draw_progress(
                    work,
                    waiting=f"{label(retriever_label(encoder))} encoding pairs …",
                    key=f"claims_again_{encoder}",
                )
            else:
                figures.append(work.value)
                _draw(work.value, summarise_premises(work.value), key=f"premises-{encoder}")
    st.caption(
        f"{label(name)}: {label(reading.value.summary)}. Queries are hypotheses; an irrelevant premise is "
        "another pair's."
    )
    if len(figures) == len(works):
        _offer(figures, "Pairs (CSV)", lambda: rows_csv(joined_rows(figures)), name="premises")


def _take_premises(
    encoder: str, place: tuple[str, str], pairs: LabelledPairs, count: int
) -> Task[RelevanceFigure]:
    from entail.encoders.catalogue import resolve

    held = model_cache()

    def make(report: ProgressCallback) -> RelevanceFigure:
        return measure_premises(pairs.sample(count), held.encoder(encoder), progress=report)

    return _FIGURES.get_or_start(("premises", place, count, encoder, resolve(encoder).revision), make)


def _draw(figure: RelevanceFigure, words: str, *, key: str) -> None:
    """Draw a figure: words, charts, summary."""
    data = figure.relevance.to_json()
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
        "" if group == first else of_hundred(above)
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


def _offer(figures: Sequence[RelevanceFigure], what: str, content: Callable[[], str], *, name: str) -> None:
    with st.container(horizontal=True):
        draw_download(what, content, name=f"relevance_{name}.csv", kind=CSV)
        draw_download(
            "Summary (CSV)",
            lambda: rows_csv(summary_rows(figures)),
            name=f"relevance_{name}_summary.csv",
            kind=CSV,
        )
