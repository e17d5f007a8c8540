"""What relevance is: Figures 2 and 3 of entailment tuning over the user's own passages and pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.jobs.passage_source import evenly
from entail.ui.authoring import draw_progress
from entail.ui.claims_encoders import pick_encoders
from entail.ui.claims_figures import (
    Figure,
    Labelled,
    claims_in_words,
    joined_rows,
    measure_claims,
    measure_premises,
    of_hundred,
    premises_in_words,
    read_labelled,
    summary_rows,
)
from entail.ui.claims_judges import held_judge, judge_stamp, judges, pick_judge
from entail.ui.claims_link import PARTS, begin, write
from entail.ui.claims_pool import Pool
from entail.ui.claims_source import pick_pool
from entail.ui.compare_files import CSV, offer, rows_csv
from entail.ui.exchange import upload_limit
from entail.ui.relevance_chart import draw_quartiles, draw_relevance, relevance_summary
from entail.ui.resources import Workspace, retriever_label, shelf
from entail.ui.words import label
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

    from entail.progress import ProgressCallback

COUNTS = range(10, 2001)
"""How many questions or pairs can be asked for."""

USUAL = 100


@dataclass(frozen=True)
class _Fields:
    """What the fields of both figures say."""

    pool: Pool | None
    judge: str | None
    questions: int
    file: UploadedFile | None
    encoders: Sequence[str]
    pairs: int


@st.cache_resource(show_spinner=False)
def _figures() -> Works:
    return Works(16, failure="the figure could not be measured")


@st.cache_resource(show_spinner=False)
def _files() -> Works:
    return Works(3, failure="the pairs could not be read")


def draw_relevance_figures(shared: Workspace) -> None:
    """Draw the fields of both figures, then each figure once it is measured."""
    st.markdown(
        "A passage is relevant to a question when it entails the question's claim: so says the paper of "
        "entailment tuning. Two figures show how far that holds for passages and pairs of yours."
    )
    first = st.container()
    st.divider()
    second = st.container()
    with first:
        st.subheader("Do passages that answer entail the claim?")
        source, judged = st.columns(2, gap="large")
        with source:
            pool = pick_pool(shared)
        with judged:
            questions = _pick_count("questions", "Questions", "evenly from all whose passages are known")
            judge = pick_judge()
    with second:
        st.subheader("Are premises that entail the similar ones?")
        upload, by = st.columns(2, gap="large")
        with upload:
            file = st.file_uploader(
                "Pairs with labels: SNLI, MultiNLI or SICK as released, or CSV, TSV, JSONL or Parquet with "
                "premise, hypothesis and label; also gzipped",
                key="claims_nli",
                max_upload_size=upload_limit(),
            )
        with by:
            pairs = _pick_count(
                "pairs", "Pairs", "half of them entailing, half neutral, each evenly from the file"
            )
            encoders = pick_encoders()
    fields = _Fields(pool, judge, questions, file, encoders, pairs)
    write(PARTS, further={"encoders": "|".join(encoders)} if encoders else None)
    with first:
        _draw_claims(fields)
    with second:
        _draw_premises(fields)


def _pick_count(part: str, what: str, how: str) -> int:
    found = st.number_input(
        what,
        value=None,  # so that an emptied field goes back to what it was
        min_value=COUNTS.start,
        max_value=COUNTS.stop - 1,
        step=10,
        key=begin(part, COUNTS, USUAL),
        help=f"So many, {how}.",
    )
    return USUAL if found is None else found


def _draw_claims(fields: _Fields) -> None:
    """Draw Figure 2: P(entailment of the claim) by passages that answer and by hard negatives."""
    pool, name = fields.pool, fields.judge
    if pool is None:
        return  # it is being read, or what is missing was said
    if not pool.questions:
        st.info(
            f"Of {label(pool.name)} no question is known that a passage answers. Choose a file that brings "
            "both: SQuAD JSON, DPR JSON, NQ-open with passages, or a BEIR folder with its qrels.",
            icon=":material/quiz:",
        )
        return
    if name is None:
        return  # how to get a judge was said
    known = tuple(pool.questions.values())
    asked, held = evenly(known, fields.questions), judges()

    def make(report: ProgressCallback) -> Figure:
        return measure_claims(pool, asked, held_judge(name, held), progress=report)

    work = _figures().take(("claims", pool.corpus.hash, asked, name, judge_stamp(name)), make)
    if work.value is None:
        draw_progress(
            work, waiting=f"{label(name)} judges {len(asked):,} questions …", key="claims_again_claims"
        )
        return
    figure = work.value
    few = "All" if len(asked) == len(known) else f"{len(asked):,} of"
    left_out = (
        f" Left out, for BM25 brings nothing else for them: {figure.left_out:,}." if figure.left_out else ""
    )
    _draw(figure, claims_in_words(figure), key="claims")
    st.caption(
        f"{few} {len(known):,} questions whose passages are known, judged by {label(figure.relevance.by)}. A "
        "hard negative is what BM25 ranks first for a question and what neither answers it nor holds an "
        f"answer; of a passage 100 words are read, those around the answer where it is there.{left_out}"
    )
    _offer([figure], "Questions (CSV)", lambda: rows_csv(map(dict, figure.rows)), name="claims")


def _draw_premises(fields: _Fields) -> None:
    """Draw Figure 3: similarity of hypotheses to entailing, neutral and irrelevant premises."""
    if fields.file is None:
        st.info(
            "Upload pairs of premise and hypothesis with labels, such as the dev file of SNLI. They are held "
            "in memory.",
            icon=":material/upload_file:",
        )
        return
    if not fields.encoders:
        st.info("Choose one or two retrievers.", icon=":material/search:")
        return
    content, name = fields.file.getvalue(), fields.file.name
    place = (name, hashlib.sha256(content).hexdigest())
    reading = _files().take(place, lambda _: read_labelled(content, name=name))
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
                    waiting=f"{label(retriever_label(encoder))} reads the pairs …",
                    key=f"claims_again_{encoder}",
                )
            else:
                figures.append(work.value)
                _draw(work.value, premises_in_words(work.value), key=f"premises-{encoder}")
    st.caption(
        f"{label(name)}: {label(reading.value.read)}. A hypothesis is the retriever's query; the irrelevant "
        "premise is another pair's, drawn for each hypothesis."
    )
    if len(figures) == len(works):
        _offer(figures, "Pairs (CSV)", lambda: rows_csv(joined_rows(figures)), name="premises")


def _take_premises(encoder: str, place: tuple[str, str], pairs: Labelled, count: int) -> Work[Figure]:
    from entail.encoders.catalogue import resolve

    held = shelf()

    def make(report: ProgressCallback) -> Figure:
        return measure_premises(pairs.drawn(count), held.encoder(encoder), progress=report)

    return _figures().take(("premises", place, count, encoder, resolve(encoder).revision), make)


def _draw(figure: Figure, words: str, *, key: str) -> None:
    """Draw a figure: what it says, the chart, the summary."""
    told = figure.relevance.to_json()
    first = next(iter(told["groups"]))
    st.markdown(words)
    alt = f"Which share of each group lies in which bin. {words.replace('**', '')}"
    st.altair_chart(draw_relevance(told), width="stretch", key=f"claims-figure-{key}", alt=alt)
    st.altair_chart(
        draw_quartiles(told),
        width="stretch",
        key=f"claims-quartiles-{key}",
        alt="Means and quartiles of the groups, as in the table below.",
    )
    rows = relevance_summary(told)
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
                "First group above",
                help=f"Of all comparisons of one of “{first}” with one of this group, those in which the "
                "first has the greater value; equal ones count half.",
            ),
        },
    )


def _offer(figures: Sequence[Figure], what: str, content: Callable[[], str], *, name: str) -> None:
    with st.container(horizontal=True):
        offer(what, content, name=f"relevance_{name}.csv", kind=CSV)
        offer(
            "Summary (CSV)",
            lambda: rows_csv(summary_rows(figures)),
            name=f"relevance_{name}_summary.csv",
            kind=CSV,
        )
