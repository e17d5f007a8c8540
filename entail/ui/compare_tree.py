"""A tree: where both retrievers have the premises of each of its nodes."""

from __future__ import annotations

import math

import streamlit as st

from entail.evaluation.comparison import rank_weight
from entail.evaluation.split_comparison import SplitComparison
from entail.metrics import NOT_THERE
from entail.trees.log import TreeSummary
from entail.ui.compare_link import begin
from entail.ui.compare_marks import ACCEPTED, REFERENCE
from entail.ui.compare_pair import Pair
from entail.ui.compare_queries import draw_queries
from entail.ui.compare_seen import draw_seen
from entail.ui.compare_slopes import show_slopes
from entail.ui.compare_source import Source, stored_trees
from entail.ui.compare_split import draw_change, draw_effort, take_split
from entail.ui.resources import Workspace
from entail.ui.slopes import Slope
from entail.ui.words import label


def pick_tree(shared: Workspace, corpus_id: str) -> TreeSummary | None:
    """Draw the list of trees with premises and return the picked one; None, explained, without any."""
    trees = {tree.id: tree for tree in shared.log.trees(corpus_id=corpus_id) if tree.steps}
    if not trees:
        st.info(
            "No tree over this corpus has premises yet. Accept some on the Trees page.",
            icon=":material/park:",
        )
        return None
    first = next(iter(trees))
    picked = st.selectbox(
        "Tree", list(trees), format_func=lambda id: _line(trees[id]), key=begin("tree", list(trees), first)
    )
    return trees[picked]


def _line(tree: TreeSummary) -> str:
    return tree.hypothesis if tree.example else f"{tree.hypothesis} · {tree.changed_by}"


def draw_tree(pair: Pair, tree: TreeSummary, *, k: int) -> None:
    """Draw the premises of all nodes as slopes, then the nodes to pick one from."""
    known = (tree.id, tree.seq)
    split = take_split(pair, Source(tree.hypothesis, known, stored_trees((known,)), pair.corpus))
    if split is None:
        return
    st.markdown(f"##### {label(tree.hypothesis, longest=600)}")
    draw_effort(split.efforts, pair.names)
    draw_seen(split.gold.texts, split.names)
    lines = tree_slopes(split, example=tree.example)
    st.markdown("**Every premise of the tree, searched with the text above it**")
    if lines:
        show_slopes(
            lines,
            pair.names,
            k=k,
            key="tree",
            alt=f"Places of {len(lines)} premises with {pair.names[0]} and with {pair.names[1]}.",
        )
    if lost := sum(math.isinf(rank) for c in split.changes["query_excluded"] for rank in c.ranks[0]):
        st.caption(f"{lost:,} premises are not in the corpus, or repeat what they explain: not drawn.")
    st.markdown("**Its nodes**")
    changes = split.changes["query_excluded"][::-1]  # proofs are told from the leaves up
    st.caption("Click on a row to see all that both retrievers bring for it.")
    picked = draw_queries(changes, pair.names, key=f"nodes-{tree.id}-{tree.seq}-{hash(pair.place)}")
    draw_change(pair, split, picked or changes[0], k=k)


def tree_slopes(split: SplitComparison, *, example: bool) -> list[Slope]:
    """Return a line for every premise of every node that is a candidate, those first that moved most."""
    mark = REFERENCE if example else ACCEPTED
    lines: list[Slope] = []
    for change in split.changes["query_excluded"]:
        for place, child in enumerate(split.gold.children[change.place]):
            ranks = change.ranks[0][place], change.ranks[1][place]
            if child != NOT_THERE and all(map(math.isfinite, ranks)):
                text = split.corpus.texts[child]
                lines.append(Slope(text, (int(ranks[0]), int(ranks[1])), mark, mark.name, change.query))
    return sorted(lines, key=lambda line: -rank_weight(*line.ranks))
