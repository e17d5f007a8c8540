"""Comparison of a candidate with the active model: splits to compare on, and figures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from entail.data.records import Corpus, ExplanationTree
from entail.errors import EntailError, JobError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import Candidate, candidate_called, compare_anew, compare_on
from entail.progress import ProgressCallback
from entail.registry import Active, card_figures
from entail.settings import is_demo
from entail.training.cards.card_metrics import OWN_DEV, MetricPair
from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.compare.source import splits_dir, stored_trees
from entail.ui.models.details import ENCODER_TASKS, draw_running
from entail.ui.shared.resources import Workspace, jobs, retriever_label
from entail.ui.shared.text import label

FEW = 20
"""A comparison on fewer claims is not reliable."""

_SUFFIXES = (".jsonl", ".jsonl.gz")
_MIN_TREES = 3
_VERDICTS = {
    "better": ":green[:material/trending_up:] **Better.**",
    "not different": ":gray[:material/trending_flat:] **No significant difference.**",
    "worse": ":red[:material/trending_down:] **Worse.**",
}


@dataclass(frozen=True)
class Split:
    """Trees to compare two encoders on.

    Attributes:
        name: Name on the page.
        stamp: Cache key that changes with the trees.
        compare: Compares an encoder, by name, with the one that is active for a corpus.
    """

    name: str
    stamp: Hashable
    compare: Callable[[str, str | None, ProgressCallback], PairedComparison]


def splits(shared: Workspace, candidate: Candidate | None, corpus: CorpusInfo) -> list[Split]:
    """Return the splits to compare on, the most informative first.

    Args:
        shared: Stores of the installation.
        candidate: Candidate of the job that trained the encoder, if any.
        corpus: Corpus of the premises.
    """
    found: list[Split] = []
    dev = candidate.job.spec.source.get("dev") if candidate is not None else None
    if candidate is not None and dev:
        job, file_name = candidate.job.id, str(dev).replace("\\", "/").rpartition("/")[2]
        found.append(
            Split(f"dev trees of its training ({file_name})", ("job", job), partial(_compare_job, job))
        )
    folder = splits_dir()
    files = sorted(file for file in folder.glob("*") if file.is_file()) if folder.is_dir() else []
    for file in files:
        if file.name.endswith(_SUFFIXES):
            stamp = ("file", file.name, file.stat().st_mtime_ns)
            for info in (corpus, None):
                over = info.name if info is not None else "its own sentences"
                read = partial(_read_file, shared, info, file.name)
                version = (info.id, info.version) if info is not None else None
                found.append(Split(f"{file.name} over {over}", (*stamp, version), partial(_compare, read)))
    for kind, example in (("your team's trees", False), ("example trees", True)):
        trees = tuple(
            (tree.id, tree.seq)
            for tree in shared.log.trees(corpus_id=corpus.id)
            if tree.example == example and tree.steps
        )
        if len(trees) >= _MIN_TREES:
            read = partial(_read_stored, shared, corpus, trees)
            name = f"{kind} ({len(trees):,}) over {corpus.name}"
            found.append(Split(name, ("trees", trees, corpus.id, corpus.version), partial(_compare, read)))
    return found


def _compare_job(job: str, _: str, corpus: str | None, report: ProgressCallback) -> PairedComparison:
    comparison = compare_anew(jobs(), job, corpus=corpus, progress=report)
    if comparison is None:
        raise JobError("expected dev trees in this job, found none; compare on another split")
    return comparison


def _compare(
    read: Callable[[], tuple[Corpus, Sequence[ExplanationTree]]],
    encoder: str,
    corpus: str | None,
    report: ProgressCallback,
) -> PairedComparison:
    premises, trees = read()
    return compare_on(encoder, premises, trees, corpus=corpus, progress=report)


def _read_file(
    shared: Workspace, info: CorpusInfo | None, name: str
) -> tuple[Corpus, Sequence[ExplanationTree]]:
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees

    file = splits_dir() / name
    try:
        trees = tuple(read_trees(file))
        if info is not None:
            return shared.corpora.corpus(info.id, version=info.version), trees
        return read_corpus(file, skip_too_long=True).corpus, trees
    except OSError as error:
        raise JobError(f"{name} cannot be read: {error.strerror}") from error


def _read_stored(
    shared: Workspace, info: CorpusInfo, trees: tuple[tuple[str, int], ...]
) -> tuple[Corpus, Sequence[ExplanationTree]]:
    return shared.corpora.corpus(info.id, version=info.version), stored_trees(trees)


def candidate_of(name: str) -> Candidate | None:
    """Return the candidate that a job made under this name; None without one, or if jobs cannot be read."""
    try:
        return candidate_called(jobs(), name)
    except EntailError:
        return None


def compare_on_split(
    shared: Workspace, name: str, revision: str, now: Active, corpus: str | None, premises: CorpusInfo
) -> PairedComparison | None:
    """Draw the choice of a split, and the comparison with the active encoder.

    Args:
        shared: Stores of the installation.
        name: Name of the candidate.
        revision: Its revision.
        now: Active encoder.
        corpus: Name of the corpus whose active encoder is meant; None for the default.
        premises: Corpus of the premises.

    Returns:
        The comparison; None while there is none.
    """
    candidate = candidate_of(name)
    recorded = None
    if candidate is not None and candidate.problem is None and not candidate.outdated(now.revision):
        recorded = candidate.evaluation
    options = {split.name: split for split in splits(shared, candidate, premises)}
    if not options:
        if recorded is None:
            st.info(
                "There are no trees to compare on. Copy an EntailmentBank file into the folder `splits` of "
                "the data folder, or build trees over this corpus.",
                icon=":material/park:",
            )
            return None
        draw_comparison(recorded, (retriever_label(now.encoder), retriever_label(name)))
        return recorded
    selected = st.selectbox("Compare on", list(options), key=f"models_split-{corpus}")
    split = options.get(selected) or next(iter(options.values()))
    key = ("compare", revision, now.revision, split.stamp)
    if draw_running(key, "Reading the trees …"):
        return None
    task = ENCODER_TASKS.peek(key)
    fresh = task.value if task is not None and isinstance(task.value, PairedComparison) else None
    if fresh is not None and (fresh.candidate, fresh.active) != (revision, now.revision):
        fresh = None  # the active encoder changed meanwhile
    comparison = fresh or recorded
    st.button(
        "Compare",
        icon=":material/balance:",
        on_click=_start_comparison,
        args=(key, split, name, corpus),
        disabled=fresh is not None or is_demo(),
        key=f"compare-{name}",
        help="Compares both on the gold premises of the same claims.",
    )
    if comparison is not None:
        draw_comparison(comparison, (retriever_label(now.encoder), retriever_label(name)))
    return comparison


def _start_comparison(key: Hashable, split: Split, name: str, corpus: str | None) -> None:
    ENCODER_TASKS.drop(key)
    ENCODER_TASKS.get_or_start(key, lambda report: split.compare(name, corpus, report), wait=0)


def draw_comparison(comparison: PairedComparison, names: tuple[str, str]) -> None:
    """Draw verdict, sample, warnings and table of a comparison.

    Args:
        comparison: The comparison.
        names: Names of the active model and of the candidate.
    """
    primary = comparison.measures[comparison.primary]
    st.markdown(
        f"{_VERDICTS[comparison.verdict]} {label(comparison.primary)}: {primary.second:.3f} against "
        f"{primary.first:.3f}, {primary.difference:+.3f} \\[{primary.low:+.3f}, {primary.high:+.3f}\\], p "
        f"{primary.p_shown}; {primary.better:,} claims better, {primary.worse:,} worse."
    )
    st.caption(f"On {comparison.queries:,} claims of {label(comparison.split)}.")
    if comparison.queries < FEW:
        st.warning(f"{comparison.queries:,} claims are too few for a decision.", icon=":material/warning:")
    if comparison.seen:
        st.warning(
            f"One of the two was trained on {comparison.seen:,} of these claims: scores are optimistic.",
            icon=":material/school:",
        )
    st.dataframe(
        comparison_table(comparison, names),
        hide_index=True,
        height="content",
        column_config={"measure": st.column_config.TextColumn("")},
        key=f"beside-{comparison.candidate}-{comparison.active}-{comparison.digest}",
    )
    st.caption(
        "In brackets: 95 % bootstrap interval over claims; ● if it excludes 0. p: paired randomisation "
        "test, not corrected for the number of measures. The first measure above decides."
    )


def comparison_table(comparison: PairedComparison, names: tuple[str, str]) -> pd.DataFrame:
    """Return the measures of both models, with difference, interval and p."""
    first, second = _distinct(names)
    differences = comparison.measures.values()
    return pd.DataFrame(
        {
            "measure": list(comparison.measures),
            first: [f"{one.first:.3f}" for one in differences],
            second: [f"{one.second:.3f}" for one in differences],
            "difference": [
                f"{'●' if one.low > 0 or one.high < 0 else '○'} {one.difference:+.3f} "
                f"[{one.low:+.3f}, {one.high:+.3f}]"
                for one in differences
            ],
            "p": [one.p_shown for one in differences],
        }
    )


def draw_card_figures(name: str, now: Active) -> None:
    """Draw the figures on the cards of a candidate and of the active model of a role."""
    rows = card_figures(name, now)
    if not rows:
        st.info("Neither has figures on its card.", icon=":material/query_stats:")
        return
    st.dataframe(
        card_figures_table(rows, (retriever_label(now.encoder), retriever_label(name))),
        hide_index=True,
        height="content",
        placeholder="",
        key=f"known-{name}-{now.revision}",
    )
    if any(not row.same_data for row in rows):
        st.caption(
            "○ Measured on different data, so the figures are not comparable. "
            f"“{OWN_DEV.capitalize()}” selected the weights of each."
        )


def card_figures_table(rows: Sequence[MetricPair], names: tuple[str, str]) -> pd.DataFrame:
    """Return figures of two cards; ● where both were measured on the same data."""
    first, second = _distinct(names)
    return pd.DataFrame(
        {
            "measure": [f"{'●' if row.same_data else '○'} {row.measure}" for row in rows],
            "on": [row.data for row in rows],
            first: ["" if row.first is None else f"{row.first:.3f}" for row in rows],
            second: ["" if row.second is None else f"{row.second:.3f}" for row in rows],
        }
    )


def _distinct(names: tuple[str, str]) -> tuple[str, str]:
    return names if names[0] != names[1] else (f"{names[0]}, active", names[1])
