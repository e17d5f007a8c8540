"""Ranks of the premises of one tree with both retrievers."""

from __future__ import annotations

import math

import streamlit as st

from entail.evaluation.retrieval.comparison import rank_weight
from entail.evaluation.retrieval.split_comparison import SplitComparison
from entail.statistics.ranking import NOT_THERE
from entail.trees.log.event_log import TreeSummary
from entail.ui.compare.choice import LINK
from entail.ui.compare.pair import Pair, draw_training_notice
from entail.ui.compare.query import draw_queries
from entail.ui.compare.slopes import Slope, show_slopes
from entail.ui.compare.source import Source, stored_trees
from entail.ui.compare.split import draw_change, draw_effort, take_split
from entail.ui.shared.chart_marks import ACCEPTED, REFERENCE
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label


def pick_tree(shared: Workspace, corpus_id: str) -> TreeSummary | None:
    """Draw the list of trees with premises; return the selected one, None if there is none."""
    trees = {tree.id: tree for tree in shared.log.trees(corpus_id=corpus_id) if tree.steps}
    if not trees:
        st.info(
            "No tree over this corpus has premises. Accept some on the Trees page.",
            icon=":material/park:",
        )
        return None
    first = next(iter(trees))
    picked = st.selectbox(
        "Tree",
        list(trees),
        format_func=lambda id: _line(trees[id]),
        key=LINK.init_widget("tree", list(trees), first),
    )
    return trees[picked]


def _line(tree: TreeSummary) -> str:
    return tree.hypothesis if tree.example else f"{tree.hypothesis} · {tree.changed_by}"


def draw_tree(pair: Pair, tree: TreeSummary, *, k: int) -> None:
    """Draw the premises of all nodes as slopes, then the nodes to select one."""
    known = (tree.id, tree.seq)
    split = take_split(pair, Source(tree.hypothesis, known, stored_trees((known,)), pair.corpus))
    if split is None:
        return
    st.markdown(f"##### {label(tree.hypothesis, longest=600)}")
    draw_effort(split.efforts, pair.names)
    draw_training_notice(split.gold.texts, split.names)
    lines = tree_slopes(split, example=tree.example)
    st.markdown("**Premises, each searched with its parent**")
    if lines:
        show_slopes(
            lines,
            pair.names,
            k=k,
            key="tree",
            alt=f"Ranks of {len(lines)} premises with {pair.names[0]} and {pair.names[1]}.",
        )
    if lost := sum(math.isinf(rank) for c in split.changes["query_excluded"] for rank in c.ranks[0]):
        st.caption(f"Not drawn: {lost:,} premises that are not in the corpus, or repeat their parent.")
    st.markdown("**Nodes**")
    changes = split.changes["query_excluded"][::-1]  # from the root down
    st.caption("Click a row for its rankings.")
    picked = draw_queries(changes, pair.names, key=f"nodes-{tree.id}-{tree.seq}-{hash(pair.key)}")
    draw_change(pair, split, picked or changes[0], k=k)


def tree_slopes(split: SplitComparison, *, example: bool) -> list[Slope]:
    """Return a line for every premise of every node, the largest changes first."""
    mark = REFERENCE if example else ACCEPTED
    lines: list[Slope] = []
    for change in split.changes["query_excluded"]:
        for place, child in enumerate(split.gold.children[change.place]):
            ranks = change.ranks[0][place], change.ranks[1][place]
            if child != NOT_THERE and all(map(math.isfinite, ranks)):
                text = split.corpus.texts[child]
                lines.append(Slope(text, (int(ranks[0]), int(ranks[1])), mark, mark.name, change.query))
    return sorted(lines, key=lambda line: -rank_weight(*line.ranks))
