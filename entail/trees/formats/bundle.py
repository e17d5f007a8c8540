"""All trees of a corpus, its premises and the decisions, in one ZIP file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

from entail.data.records import Corpus
from entail.data.spreadsheets import to_csv
from entail.data.text import file_stem
from entail.errors import ProofError
from entail.trees.formats.entailment_bank import to_jsonl
from entail.trees.formats.graphs import to_svg
from entail.trees.formats.tables import source_ids, to_judged_csv, to_pairs_csv
from entail.trees.log.event_log import TreeLog


def zip_trees(corpus: Corpus, tree_ids: Iterable[str], log: TreeLog) -> bytes:
    """Return a ZIP file of trees over a corpus.

    It has a picture of each tree, called by its claim; the trees as EntailmentBank JSONL; their pairs and
    judgements as CSV, with the ids of the corpus; and its premises with their columns. A tree that the
    language of proofs cannot write is named in `not_in_trees.txt`.
    """
    histories = {id: history.marked(log.review(id)) for id, history in log.histories(tree_ids)}
    ids = source_ids(corpus)
    rows, unwritten = [], []
    for history in histories.values():
        try:
            rows.append(to_jsonl([history.tree]))
        except ProofError as error:
            unwritten.append(f"{history.tree.root.text}: {error}\n")
    columns = dict.fromkeys(name for premise in corpus.premises for name, _ in premise.extra)
    premises = (
        (premise.key, premise.source_id or "", premise.text, *map(dict(premise.extra).get, columns))
        for premise in corpus.premises
    )
    files = {
        "trees.jsonl": "".join(rows),
        "pairs.csv": to_pairs_csv({id: history.tree for id, history in histories.items()}, ids=ids),
        "judged.csv": to_judged_csv({id: (h, log.evidence(id)) for id, h in histories.items()}, ids=ids),
        "premises.csv": to_csv([("key", "id", "premise", *columns), *premises]),
        **({"not_in_trees.txt": "".join(unwritten)} if unwritten else {}),
    }
    for id, history in histories.items():
        name = f"pictures/{file_stem(history.tree.root.text)}"
        files[f"{name}-{id}.svg" if f"{name}.svg" in files else f"{name}.svg"] = to_svg(history.tree)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
