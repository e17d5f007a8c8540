"""CSV tables of edges and of judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from entail.data.records import Corpus
from entail.data.spreadsheets import to_csv
from entail.trees.log.acts import Evidence
from entail.trees.log.replay import History
from entail.trees.log.tree import Tree


def source_ids(corpus: Corpus) -> dict[str, str]:
    """Return key -> id in its file of the premises that have one."""
    return {premise.key: premise.source_id for premise in corpus.premises if premise.source_id}


def to_pairs_csv(trees: Mapping[str, Tree], *, ids: Mapping[str, str] | None = None) -> str:
    """Return a row for each premise of each node (name of a tree -> tree); `ids` by key add a column."""
    pairs = (
        (
            *(name, node.text, child.text, node.kind, child.kind, str(tree.review or "")),
            *([ids.get(child.key or "", "")] if ids else []),
        )
        for name, tree in trees.items()
        for node in tree.walk()
        for child in map(tree.node, node.children)
    )
    header = ("tree", "parent", "child", "parent_kind", "child_kind", "review")
    return to_csv([(*header, *(["child_id"] if ids else [])), *pairs])


JUDGED_COLUMNS = (
    *("tree", "node", "query", "premise", "key", "verdict", "author", "time"),
    *("retriever", "revision", "corpus_version", "searched", "own_words", "rank", "score"),
    *("verified", "proposed", "after", "retrieved", "review"),
)


def to_judged_csv(
    histories: Mapping[str, tuple[History, Mapping[int, Evidence]]], *, ids: Mapping[str, str] | None = None
) -> str:
    """Return the judgements of trees as CSV, see `judged_rows`; `ids` by key add a column."""
    rows = judged_rows(histories)
    if not ids:
        return to_csv([JUDGED_COLUMNS, *rows])
    return to_csv([(*JUDGED_COLUMNS, "id"), *({**row, "id": ids.get(row["key"], "")} for row in rows)])


def judged_rows(
    histories: Mapping[str, tuple[History, Mapping[int, Evidence]]],
) -> Iterator[dict[str, Any]]:
    """Yield the judgements of trees, in order of their acts, by column; evidence is by seq.

    `query` is the node's text at the time of the judgement, `searched` the query of the retriever. Columns
    from `retriever` on are empty without evidence, `rank` and `score` also if the premise was not shown.
    `proposed` is `next` or `draft` if a scorer, named as the retriever, proposed the premise; `after` has the
    keys of the premises below the node at that time, `retrieved` the rank by retrieval alone. Times are UTC.
    """
    for tree_id, (history, evidence) in histories.items():
        judgements = sorted(history.tree.judgements.items(), key=lambda item: item[1].seq)
        for (node, key), judgement in judgements:
            event = history.event(judgement.seq)
            row: dict[str, Any] = dict.fromkeys(JUDGED_COLUMNS, "") | {
                "tree": tree_id,
                "node": node,
                "query": judgement.query,
                "premise": judgement.premise.text,
                "key": key,
                "verdict": "accepted" if judgement.accepted else "rejected",
                "author": judgement.author,
                "time": event.at.isoformat(timespec="seconds"),
                "verified": "yes" if event.verified else "no",
                "review": str(history.tree.review or ""),
            }
            if (ranking := evidence.get(judgement.seq) or event.evidence) is not None:
                row |= {name: getattr(ranking, name) for name in ("retriever", "revision", "corpus_version")}
                row |= {"searched": ranking.query, "own_words": "yes" if ranking.own_words else "no"}
                for candidate in (c for c in ranking.shown if c.key == key):
                    row |= {name: getattr(candidate, name) for name in ("rank", "score", "retrieved")}
                if (proposal := ranking.proposal) is not None:
                    row |= {"proposed": proposal.means, "after": " ".join(proposal.after)}
            yield row
