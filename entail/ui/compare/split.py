"""Comparison over many trees, or over one: figures, author effort, changed queries."""

from __future__ import annotations

import streamlit as st

from entail.data.bundled import HELD_OUT_NAME
from entail.data.text import count_of, fold
from entail.evaluation.retrieval.effort import Effort
from entail.evaluation.retrieval.split_comparison import (
    Protocol,
    SplitComparison,
    compare_split,
    most_changed,
    query_rows,
)
from entail.runtime.tasks import COMPARISONS
from entail.trees.store.corpora import CorpusInfo
from entail.ui.compare.choice import (
    EXAMPLES,
    KINDS,
    LINK,
    TREE,
    Pair,
    Source,
    draw_training_notice,
    offer_example,
    stored_trees,
)
from entail.ui.compare.query import draw_queries, draw_query
from entail.ui.components.elements import differences_table
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

PROTOCOL: Protocol = "query_excluded"
"""Protocol of the page: the claim itself is no candidate."""

_MEASURES = ("MAP", "NDCG", "Hit@10", "Hit@20", "Hit@50")
_NAMED = 20

HELD_OUT = (
    ":material/verified: **Held-out claims**: trees of EntailmentBank dev on which no shipped retriever or "
    "re-ranker was trained. Dev selected the shipped checkpoint, so these figures are slightly optimistic."
)
"""Origin of the claims of the held-out corpus."""


def draw_trees(pair: Pair, source: Source, *, k: int, alone: bool = False) -> None:
    """Draw the comparison over all trees, or over a tree `alone`, whose claims stand from the root down."""
    split = await_value(
        COMPARISONS.get_or_start(
            ("split", pair.key, source.stamp),
            lambda report: compare_split(source.corpus, source.trees, pair.indexes, progress=report),
        )
    )
    if split is None:
        return
    if alone:
        st.markdown(f"##### {label(source.name, longest=600)}")
    else:
        st.caption(
            f"{count_of(len(split.gold), 'claim')} with "
            f"{count_of(split.evaluations[0].pairs, 'reference premise')} in "
            f"{count_of(split.trees, 'tree')} ({label(source.name)}), {len(split.corpus):,} candidates."
        )
    if source.name == KINDS[EXAMPLES] and split.corpus.name == HELD_OUT_NAME:
        st.markdown(HELD_OUT)
    draw_training_notice(split.gold.texts, split.names)
    if missing := split.gold.missing:
        with st.expander(
            f"Not in the corpus, counted as not found: {count_of(len(missing), 'reference premise')}"
        ):
            st.markdown("\n".join(f"- {label(text, longest=300)}" for text in missing[:_NAMED]))
            if len(missing) > _NAMED:
                st.caption(f"and {len(missing) - _NAMED:,} more")
    _draw_effort(split.efforts, pair.names)
    changes = split.changes[PROTOCOL]
    if alone:
        st.caption("Click a row for its rankings.")
        rows = list(changes[::-1])
    else:
        _draw_figures(split, pair, source)
        st.markdown("##### Claims, those that gain most first")
        gained, lost = (most_changed(changes, gained=gained) for gained in (True, False))
        equal = [change for change in changes if not change.difference]
        st.caption(
            f"{len(gained):,} gained with {label(pair.names[1])}, {len(lost):,} lost, {len(equal):,} "
            "unchanged. Click a row for its rankings."
        )
        rows = [*gained, *equal, *reversed(lost)]
    change = draw_queries(rows, pair.names, key=f"changes-{hash((pair.key, source.stamp))}")
    change = change or (rows[0] if alone else None)
    if change is not None:
        gold = {fold(text): text for text in split.premises(change.index)}
        with st.container(border=True):
            draw_query(pair, change.query, k=k, gold=gold)
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


def _draw_figures(split: SplitComparison, pair: Pair, source: Source) -> None:
    """Draw the measures with intervals and tests once they are computed, which takes seconds."""
    task = COMPARISONS.get_or_start(("figures", pair.key, source.stamp), lambda _: split.figures, wait=0)
    measured = await_value(task, waiting="Computing intervals and tests …")
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
        "Hit@k: share of the premises in the first k. MAP and NDCG: quality of the whole ranking. Brackets: "
        "95 % bootstrap intervals over claims. p: paired randomisation test, not corrected for several "
        "measures. ●: the interval of the difference excludes 0."
    )


def pick_tree(shared: Workspace, info: CorpusInfo) -> Source | None:
    """Draw the list of trees with premises; return the selected one, None if there is none."""
    trees = {tree.id: tree for tree in shared.log.trees(corpus_id=info.id) if tree.steps}
    if not trees:
        st.info(
            "No tree over this corpus has premises. Accept some on the Trees page.",
            icon=":material/park:",
        )
        offer_example(TREE)
        return None
    titles = {
        id: tree.hypothesis if tree.example else f"{tree.hypothesis} · {tree.changed_by}"
        for id, tree in trees.items()
    }
    tree = trees[LINK.pick("tree", "Tree", titles, next(iter(titles)))]
    stamp = ((tree.id, tree.seq),)
    corpus = shared.corpora.corpus(info.id, version=info.version)
    return Source(tree.hypothesis, stamp, stored_trees(shared, stamp), corpus)
