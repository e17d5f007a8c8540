"""Known explanation of a question against the chain, and the rankings of other methods."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import streamlit as st

from entail.arcf.chains.comparison import (
    GoldCoverage,
    MethodComparison,
    compare_methods,
    locate_gold,
    precision_of,
)
from entail.arcf.scoring.scorer import ListedScorer
from entail.data.worldtree.tables import FactTables
from entail.progress import ProgressCallback
from entail.runtime.chains import SCORING, take_builder, take_scorer
from entail.runtime.tasks import TaskGroup, finish
from entail.ui.chains.steps import Scene, role_badge, role_name
from entail.ui.shared.model_names import model_name
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

FIRST = 10
"""Premises shown of each ranking."""

_RANKINGS = TaskGroup("rankings", failure="the methods could not be compared")


def draw_gold(scene: Scene) -> None:
    """Draw where the chain has the premises of a known explanation; nothing while the chain grows."""
    if scene.making is not None or not scene.roles:
        return
    question, facts = scene.source.question, scene.source.facts
    coverage = locate_gold(question, facts, scene.walk, scene.walk.ranking(question, scene.builder.around))
    assert coverage is not None
    st.markdown(f"##### Known explanation: {coverage}")
    st.caption(
        f"Average precision {coverage.precision:.3f} of the ranking: chain, then scored premises by last "
        "score, then all others by nearness."
    )
    st.html(_gold_table(coverage, facts))


def _gold_table(coverage: GoldCoverage, facts: FactTables) -> str:
    """Return the gold premises as an HTML table."""
    rows = "".join(
        f"<tr><td>{html.escape(facts.texts[row.position])} {role_badge(row.role)}</td>"
        f"<td>{'no' if row.step is None else row.step}</td><td>{row.rank:,}</td>"
        f"<td>{'never' if row.visible is None else row.visible}</td></tr>"
        for row in coverage.rows
    )
    titles = ("Reference premise", "In the chain", "Rank", "Visible from step")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return f'<table class="chain-gold"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def draw_compare(scene: Scene, scorers: Sequence[ListedScorer]) -> None:
    """Draw the switch, and how each method ranks the premises of this question."""
    if not st.toggle("Compare methods", key="chains_compare"):
        return
    if not scorers:
        st.caption(":material/info: No trained scorer. Train one with `entail train arcf`.")
    question, facts = scene.source.question, scene.source.facts
    k, length = scene.builder.around.k, scene.length
    words = await_value(take_builder(facts, None, k=k), waiting="Preparing the premises …")
    if words is None:
        return
    near = words.around.similarities

    def make(report: ProgressCallback) -> MethodComparison:
        with SCORING:
            return compare_methods(
                question,
                facts,
                scorers,
                near,
                load=lambda scorer: finish(take_scorer(scorer.name, scorer.revision, wait=0)),
                k=k,
                length=length,
                progress=report,
            )

    revisions = tuple((scorer.name, scorer.revision) for scorer in scorers)
    key = (facts.digest, question.stem, question.answer, revisions, k, length)
    compared = await_value(_RANKINGS.get_or_start(key, make), waiting="Ranking by each method …")
    if compared is not None:
        _draw_compared(scene, compared)


def _draw_compared(scene: Scene, compared: MethodComparison) -> None:
    import pandas as pd

    question, facts, roles = scene.source.question, scene.source.facts, scene.roles
    if roles:
        cells = st.columns(len(compared.rankings))
        for cell, (name, ranking) in zip(cells, compared.rankings.items(), strict=True):
            cell.metric(label(model_name(name)), f"{precision_of(question, facts, ranking):.3f}", border=True)
        st.caption("Average precision on this question; `entail evaluate chains` measures many.")
    rows = compared.rows(first=FIRST, gold=tuple(roles))
    columns: dict[str, list[object]] = {"fact": [facts.texts[fact] for fact, _ in rows]}
    if roles:
        columns["gold"] = [role_name(roles[fact]) if fact in roles else "" for fact, _ in rows]
    for name in compared.rankings:
        columns[name] = [ranks[name] for _, ranks in rows]
        if name in compared.chains:
            columns[f"in {name}"] = [fact in compared.chains[name] for fact, _ in rows]
    config: dict[str, Any] = {
        "fact": st.column_config.TextColumn("Premise", width="large"),
        "gold": st.column_config.TextColumn("Reference"),
        **{name: st.column_config.NumberColumn(f"Rank, {model_name(name)}") for name in compared.rankings},
        **{f"in {name}": st.column_config.CheckboxColumn("In its chain") for name in compared.chains},
    }
    st.dataframe(pd.DataFrame(columns), hide_index=True, column_config=config)
