"""What authors accepted and rejected, as CSV: one line for each judgement in force."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from entail.trees.acts import Evidence
from entail.trees.formats.escaping import cell
from entail.trees.replay import History

COLUMNS = (
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
    """Return the judged pairs of some trees, in the order of their acts.

    `query` is the node's text when it was judged, `searched` the text that the retriever was asked; the
    columns from `retriever` on are empty where nothing was recorded, `rank` and `score` also where the
    premise was not among what was shown. `verified` says whether the author had signed in. `proposed`
    is `next` or `draft` where a scorer of facts proposed the premise, which then stands as the retriever;
    `after` are the keys of what stood below the node then, `retrieved` the rank by retrieval alone. Times are
    UTC. Texts stand as `cell` guards them.

    Args:
        histories: Tree id -> its history and its evidence (seq -> evidence, as `TreeLog.evidence` gives).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
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
