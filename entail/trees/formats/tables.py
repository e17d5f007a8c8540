"""CSV tables of edges and of judgements."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from entail.trees.formats.escaping import cell
from entail.trees.log.acts import Evidence
from entail.trees.log.replay import History
from entail.trees.log.tree import Tree

PAIR_COLUMNS = ("tree", "parent", "child", "parent_kind", "child_kind")


def to_pairs_csv(trees: Mapping[str, Tree]) -> str:
    """Return a row for each premise of each node, texts escaped by `cell`.

    Args:
        trees: Name in the column `tree` -> tree.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(PAIR_COLUMNS)
    for name, tree in trees.items():
        for start in (tree.root.id, *tree.loose):
            for node in tree.walk(start):
                for child in map(tree.node, node.children):
                    writer.writerow((cell(name), cell(node.text), cell(child.text), node.kind, child.kind))
    return out.getvalue()


JUDGED_COLUMNS = (
    "tree",
    "node",
    "query",
    "premise",
    "key",
    "verdict",
    "author",
    "time",
    "retriever",
    "revision",
    "corpus_version",
    "searched",
    "own_words",
    "rank",
    "score",
    "verified",
    "proposed",
    "after",
    "retrieved",
)


def to_judged_csv(histories: Mapping[str, tuple[History, Mapping[int, Evidence]]]) -> str:
    """Return the judgements of trees, in order of their acts.

    `query` is the node's text at the time of the judgement, `searched` the query of the retriever. Columns
    from `retriever` on are empty without evidence, `rank` and `score` also if the premise was not shown.
    `verified` is `yes` if the author was signed in. `proposed` is `next` or `draft` if a scorer, named as
    the retriever, proposed the premise; `after` has the keys of the premises below the node at that time,
    `retrieved` the rank by retrieval alone. Times are in UTC, texts are escaped by `cell`.

    Args:
        histories: Tree id -> history and evidence (seq -> evidence, as from `TreeLog.evidence`).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(JUDGED_COLUMNS)
    for tree_id, (history, evidence) in histories.items():
        judgements = sorted(history.tree.judgements.items(), key=lambda item: item[1].seq)
        for (node, key), judgement in judgements:
            event = history.event(judgement.seq)
            seen = evidence.get(judgement.seq) or event.evidence
            shown = next((s for s in seen.shown if s.key == key), None) if seen else None
            proposal = seen.proposal if seen else None
            retrieved = shown.retrieved if shown is not None else None
            writer.writerow(
                (
                    cell(tree_id),
                    node,
                    cell(judgement.query),
                    cell(judgement.premise.text),
                    key,
                    "accepted" if judgement.accepted else "rejected",
                    cell(judgement.author),
                    event.at.isoformat(timespec="seconds"),
                    *(
                        (
                            cell(seen.retriever),
                            cell(seen.revision),
                            seen.corpus_version,
                            cell(seen.query),
                            "yes" if seen.own_words else "no",
                        )
                        if seen
                        else [""] * 5
                    ),
                    *((shown.rank, shown.score) if shown else ("", "")),
                    "yes" if event.verified else "no",
                    *((proposal.means, " ".join(proposal.after)) if proposal else ("", "")),
                    "" if retrieved is None else retrieved,
                )
            )
    return out.getvalue()
