"""Comparison over many trees, or over one: figures, author effort, changed queries."""

from __future__ import annotations

import math
from collections.abc import Mapping

import streamlit as st

from entail.data.text import fold
from entail.evaluation.retrieval.comparison import rank_weight
from entail.evaluation.retrieval.effort import Effort
from entail.evaluation.retrieval.split_comparison import (
    Protocol,
    QueryChange,
    SplitComparison,
    compare_split,
    most_changed,
    query_rows,
)
from entail.runtime.tasks import COMPARISONS, Task
from entail.statistics.paired import ComparedFigure
from entail.statistics.ranking import NOT_THERE
from entail.trees.log.event_log import TreeSummary
from entail.ui.compare.choice import LINK, Pair, Source, draw_training_notice, stored_trees
from entail.ui.compare.query import draw_queries, draw_query
from entail.ui.compare.slopes import Slope, show_slopes
from entail.ui.components.elements import differences_table
from entail.ui.shared.chart_marks import ACCEPTED, REFERENCE
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

Figures = Mapping[str, Mapping[str, ComparedFigure]]
"""Protocol -> measure -> figures of both retrievers, with intervals and tests."""

PROTOCOL: Protocol = "query_excluded"
"""Protocol of the page: the claim itself is no candidate."""

_MEASURES = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@20", "Hit@50", "Recall@10")
_NAMED = 20


def take_split(pair: Pair, source: Source) -> SplitComparison | None:
    """Return the comparison over all trees; draw the progress and return None until it is done."""
    return await_value(
        COMPARISONS.get_or_start(
            ("split", pair.key, source.stamp),
            lambda report: compare_split(source.corpus, source.trees, pair.indexes, progress=report),
        )
    )


def draw_split(pair: Pair, source: Source, *, k: int) -> None:
    """Draw the comparison over all trees."""
    split = take_split(pair, source)
    if split is None:
        return
    st.caption(
        f"{len(split.gold):,} claims with {split.evaluations[0].pairs:,} reference premises in "
        f"{split.trees:,} trees ({label(source.name)}), {len(split.corpus):,} candidates."
    )
    draw_training_notice(split.gold.texts, split.names)
    if missing := split.gold.missing:
        with st.expander(f"{len(missing):,} reference premises are not in the corpus: counted as not found"):
            st.markdown("\n".join(f"- {label(text, longest=300)}" for text in missing[:_NAMED]))
            if len(missing) > _NAMED:
                st.caption(f"and {len(missing) - _NAMED:,} more")
    _draw_effort(split.efforts, pair.names)
    _draw_figures(split, pair, source)
    st.markdown("##### Claims, those that gain most first")
    gained, lost = (most_changed(split.changes[PROTOCOL], gained=gained) for gained in (True, False))
    equal = [change for change in split.changes[PROTOCOL] if not change.difference]
    st.caption(
        f"{len(gained):,} gained with {label(pair.names[1])}, {len(lost):,} lost, {len(equal):,} unchanged. "
        "Click a row for its rankings."
    )
    key = f"changes-{hash((pair.key, split.names, len(split.gold)))}"
    change = draw_queries([*gained, *equal, *reversed(lost)], pair.names, key=key)
    if change is not None:
        draw_change(pair, split, change, k=k)
    draw_download("Claims (CSV)", "queries.csv", lambda: query_rows(split))


def _draw_effort(efforts: tuple[Effort, Effort], names: tuple[str, str]) -> None:
    first = efforts[0].reads_per_accepted
    for which, cell in enumerate(st.columns(2)):
        reads = efforts[which].reads_per_accepted
        delta = None
        if which and reads is not None and first and round(reads / first, 2) != 1:
            delta = f"{reads / first - 1:+.0%} against {names[0]}"
        cell.metric(
            f"Candidates read per accepted premise, {label(names[which])}",
            "none accepted" if reads is None else f"{reads:.1f}",
            delta=delta,
            delta_color="inverse",
            border=True,
            height="stretch",
            help=f"Simulated author, who gives up after {efforts[which].limit} candidates.",
        )
    shares = [
        f"{effort.missing_share:.0%} with {label(name)}" for effort, name in zip(efforts, names, strict=True)
    ]
    st.caption(f"Premises never found: {', '.join(shares)}.")


def take_figures(split: SplitComparison, pair: Pair, source: Source, *, wait: float) -> Task[Figures]:
    """Return the task of all figures with intervals and tests, which are slower than figures alone."""
    return COMPARISONS.get_or_start(("figures", pair.key, source.stamp), lambda _: split.figures, wait=wait)


def _draw_figures(split: SplitComparison, pair: Pair, source: Source) -> None:
    """Draw the measures with intervals and tests once they are computed."""
    measured = await_value(
        take_figures(split, pair, source, wait=0), waiting="Computing intervals and tests …"
    )
    if measured is None:
        return
    first, second = map(label, pair.names)
    figures = {name: measured[PROTOCOL][name] for name in _MEASURES}
    table = differences_table(
        {name: figure.paired for name, figure in figures.items()},
        (first, second if second != first else f"{second} "),
        intervals=[figure.intervals for figure in figures.values()],
    )
    # A plain HTML table is drawn before the browser has loaded the interactive one.
    st.table(table, hide_index=True, border="horizontal", alt="Figures of both retrievers.")
    st.caption(
        "Brackets: 95 % bootstrap intervals over claims. p: paired randomisation test over claims, not "
        "corrected for multiple measures. ●: the interval of the difference excludes 0."
    )


def draw_change(
    pair: Pair, split: SplitComparison, change: QueryChange, *, k: int, heading: bool = True
) -> None:
    """Draw the rankings of a query with its gold premises marked."""
    gold = {fold(text): text for text in split.premises(change.index)}
    with st.container(border=True):
        draw_query(pair, change.query, k=k, gold=gold, heading=heading)


def pick_tree(shared: Workspace, corpus_id: str) -> TreeSummary | None:
    """Draw the list of trees with premises; return the selected one, None if there is none."""
    trees = {tree.id: tree for tree in shared.log.trees(corpus_id=corpus_id) if tree.steps}
    if not trees:
        st.info(
            "No tree over this corpus has premises. Accept some on the Trees page.",
            icon=":material/park:",
        )
        return None
    titles = {
        id: tree.hypothesis if tree.example else f"{tree.hypothesis} · {tree.changed_by}"
        for id, tree in trees.items()
    }
    return trees[LINK.pick("tree", "Tree", titles, next(iter(titles)))]


def draw_tree(pair: Pair, tree: TreeSummary, *, k: int) -> None:
    """Draw the premises of all nodes of a tree as slopes, then the nodes to select one."""
    stamp = (tree.id, tree.seq)
    split = take_split(pair, Source(tree.hypothesis, stamp, stored_trees((stamp,)), pair.corpus))
    if split is None:
        return
    st.markdown(f"##### {label(tree.hypothesis, longest=600)}")
    _draw_effort(split.efforts, pair.names)
    draw_training_notice(split.gold.texts, split.names)
    st.markdown("**Premises, each searched with its parent**")
    if lines := _tree_slopes(split, example=tree.example):
        show_slopes(
            lines,
            pair.marks,
            k=k,
            key="tree",
            alt=f"Ranks of {len(lines)} premises with {pair.names[0]} and {pair.names[1]}.",
        )
    changes = split.changes[PROTOCOL]
    if lost := sum(math.isinf(rank) for change in changes for rank in change.ranks[0]):
        st.caption(f"Not drawn: {lost:,} premises that are not in the corpus, or repeat their parent.")
    st.markdown("**Nodes**")
    nodes = changes[::-1]  # from the root down
    st.caption("Click a row for its rankings.")
    picked = draw_queries(nodes, pair.names, key=f"nodes-{tree.id}-{tree.seq}-{hash(pair.key)}")
    draw_change(pair, split, picked or nodes[0], k=k)


def _tree_slopes(split: SplitComparison, *, example: bool) -> list[Slope]:
    """Return a line for every premise of every node, the largest changes first."""
    mark = REFERENCE if example else ACCEPTED
    lines: list[Slope] = []
    for change in split.changes[PROTOCOL]:
        for child, *ranks in zip(split.gold.children[change.index], *change.ranks, strict=True):
            if child != NOT_THERE and all(map(math.isfinite, ranks)):
                text = split.corpus.texts[child]
                lines.append(Slope(text, (int(ranks[0]), int(ranks[1])), mark, mark.name, change.query))
    return sorted(lines, key=lambda line: -rank_weight(*line.ranks))
