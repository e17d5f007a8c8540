"""Build the bundled held-out trees from the dev split of the official EntailmentBank release.

    python scripts/build_held_out.py --data DIR [--out entail/data/sample]

DIR is the folder of `scripts/build_sample.py`, with `dataset/task_2/dev.jsonl` too. Written are
`held_out.jsonl.gz` and `held_out_premises.jsonl.gz`: trees of dev, and the facts of their contexts that
`premises.jsonl.gz` lacks. Left out are trees whose id begins with `Mercury`, and those with a claim or
conclusion that a shipped model was trained on, or that nearly equals one of the training split; and, from the
others, the exam's question and answer.
Then run `scripts/build_sample_vectors.py`, and keep `ATTRIBUTION.md` true.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from build_sample import find_file, find_uids, parse_folders, premise_rows, without_exam, write_rows

from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import ExplanationTree
from entail.data.text import fold, jaccard, premise_key, tokens
from entail.encoders.card import read_training_queries
from entail.encoders.catalogue import model_folders

NEAR = 0.85
"""Token overlap (Jaccard) from which a sentence counts as one of the training split."""

DEV_ONLY = frozenset(
    ("core_concepts", "worldtree_provenance", "add_list", "delete_list", "distractors_relevance")
)
"""Fields of `meta` that the bundled rows of the training split lack."""


def main() -> None:
    """Build the held-out files and print what they hold."""
    build(*parse_folders(__doc__))


def build(data: Path, out: Path) -> None:
    """Write both files; `out` has the `premises.jsonl.gz` of the sample."""
    train = read_trees(find_file(data, "dataset/task_2/train*.jsonl*"))
    training_queries = frozenset().union(*(read_training_queries(folder) for folder in model_folders()))
    dev = read_trees(find_file(data, "dataset/task_2/dev.jsonl*"))
    trees = choose(dev, train, seen=training_queries)
    pool = read_corpus(out / "premises.jsonl.gz", name="sample").corpus
    facts = {
        fold(text): text for tree in trees for text in tree.sentences.values() if pool.position(text) is None
    }
    rows = premise_rows(facts.values(), find_uids(data))
    write_rows(out / "held_out.jsonl.gz", (as_sample(tree) for tree in trees))
    write_rows(out / "held_out_premises.jsonl.gz", rows)
    named = sum("id" in row for row in rows)
    print(f"{len(trees)} of {len(dev)} trees, {len(rows):,} further facts, {named:,} of them with a uid")


def choose(
    dev: Iterable[ExplanationTree], train: Iterable[ExplanationTree], *, seen: Collection[str]
) -> list[ExplanationTree]:
    """Return the trees with steps of which no claim or conclusion is known from training.

    Args:
        dev: Trees to choose from.
        train: Trees whose sentences, and sentences near to them, are known.
        seen: Keys of further known sentences.
    """
    known_tokens = [tokens(text) for tree in train for text in sentences(tree)]

    def is_new(text: str) -> bool:
        words = tokens(text)
        return premise_key(text) not in seen and all(jaccard(words, other) < NEAR for other in known_tokens)

    return [
        tree
        for tree in dev
        if tree.steps and not tree.id.startswith("Mercury") and all(map(is_new, sentences(tree)))
    ]


def as_sample(tree: ExplanationTree) -> dict[str, Any]:
    """Return a tree's row with the fields that the rows of the sample have."""
    row = without_exam(tree.extra)
    row["meta"] = {key: value for key, value in row["meta"].items() if key not in DEV_ONLY}
    return row


def sentences(tree: ExplanationTree) -> tuple[str, ...]:
    """Return the hypothesis and the intermediate conclusions of a tree: what a retriever is asked."""
    return (tree.hypothesis, *tree.intermediates.values())


if __name__ == "__main__":
    main()
