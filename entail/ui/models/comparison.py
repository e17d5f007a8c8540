"""Comparison of a candidate with the active model: choice of a split, and figures."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd
import streamlit as st

from entail.errors import EntailError
from entail.evaluation.retrieval.paired import FEW, PairedComparison
from entail.jobs.candidates import Candidate, find_candidate, list_splits
from entail.registry.models import Active, card_figures
from entail.runtime.tasks import TaskGroup
from entail.settings import is_demo
from entail.training.cards.figures import FigurePair
from entail.trees.store.corpora import CorpusInfo
from entail.ui.components.elements import differences_table, draw_table
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_result, start_task

ENCODER_TASKS = TaskGroup("encoder tasks", failure="the task failed")
"""Encoders compared and promoted."""

_VERDICTS = {
    "better": ":green[:material/trending_up:] **Better.**",
    "not different": ":gray[:material/trending_flat:] **No significant difference.**",
    "worse": ":red[:material/trending_down:] **Worse.**",
}


def candidate_of(name: str) -> Candidate | None:
    """Return the candidate that a job made under this name; None without one, or if jobs cannot be read."""
    try:
        return find_candidate(jobs(), name)
    except EntailError:
        return None


def compare_on_split(
    shared: Workspace, name: str, revision: str, now: Active, corpus: str | None, premises: CorpusInfo
) -> PairedComparison | None:
    """Draw the choice of a split, and the comparison with the active encoder; return the comparison.

    `corpus` names the corpus whose active encoder is meant, None for the default; `premises` are ranked.
    """
    candidate = candidate_of(name)
    comparison = None
    if candidate is not None and candidate.problem is None and not candidate.is_outdated(now.revision):
        comparison = candidate.evaluation
    splits = {
        split.name: split for split in list_splits(jobs(), shared.log, shared.corpora, premises, candidate)
    }
    if splits:
        selected = st.selectbox("Compare on", list(splits), key=f"models_split-{corpus}")
        split = splits.get(selected) or next(iter(splits.values()))
        key: Hashable = ("compare", revision, now.revision, split.stamp)
        fresh = draw_result(ENCODER_TASKS, key, PairedComparison, waiting="Reading the trees …")
        task = ENCODER_TASKS.peek(key)
        if task is not None and not task.done.is_set():
            return None
        if fresh is not None and (fresh.candidate, fresh.active) != (revision, now.revision):
            fresh = None  # the active encoder changed meanwhile
        comparison = fresh or comparison
        st.button(
            "Compare",
            icon=":material/balance:",
            on_click=start_task,
            args=(ENCODER_TASKS, key, lambda report: split.compare(name, corpus, report)),
            disabled=fresh is not None or is_demo(),
            key=f"compare-{name}",
            help="Compares both on the reference premises of the same claims.",
        )
    elif comparison is None:
        st.info(
            "There are no trees to compare on. Copy an EntailmentBank file into the folder `splits` of "
            "the data folder, or build trees over this corpus.",
            icon=":material/park:",
        )
    if comparison is not None:
        draw_comparison(comparison, (model_label(now.encoder), model_label(name)))
    return comparison


def draw_comparison(comparison: PairedComparison, names: tuple[str, str]) -> None:
    """Draw verdict, sample, warnings and table of a comparison of the active model and a candidate."""
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
    draw_table(
        differences_table(comparison.measures, _distinct(names)),
        column_config={"measure": st.column_config.TextColumn("")},
        key=f"beside-{comparison.candidate}-{comparison.active}-{comparison.digest}",
    )
    st.caption(
        "In brackets: 95 % bootstrap interval over claims; ● if it excludes 0. p: paired randomisation "
        "test, not corrected for the number of measures. The first measure above decides."
    )


def draw_card_figures(name: str, now: Active) -> None:
    """Draw the figures on the cards of a candidate and of the active model of a role."""
    rows = card_figures(name, now)
    if not rows:
        st.info("Neither has figures on its card.", icon=":material/query_stats:")
        return
    table = card_figures_table(rows, (model_label(now.encoder), model_label(name)))
    draw_table(table, placeholder="", key=f"known-{name}-{now.revision}")
    if any(not row.same_data for row in rows):
        st.caption("○ Measured on different data, so the figures are not comparable.")


def card_figures_table(rows: Sequence[FigurePair], names: tuple[str, str]) -> pd.DataFrame:
    """Return figures of two cards; ● where both were measured on the same data."""
    first, second = _distinct(names)
    return pd.DataFrame(
        {
            "measure": [f"{'●' if row.same_data else '○'} {row.task}, {row.measure}" for row in rows],
            "on": [row.data for row in rows],
            first: ["" if row.first is None else f"{row.first:.3f}" for row in rows],
            second: ["" if row.second is None else f"{row.second:.3f}" for row in rows],
        }
    )


def _distinct(names: tuple[str, str]) -> tuple[str, str]:
    return names if names[0] != names[1] else (f"{names[0]}, active", names[1])
