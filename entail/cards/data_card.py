"""The card of a team's trees and decisions as a data set: `README.md` with a header that the Hub reads."""

from __future__ import annotations

from dataclasses import dataclass

from entail.cards.licences import OTHER, proposed_licence
from entail.cards.markdown import code, escaped, table


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """What the card of a data set is made of.

    Attributes:
        repo: Its Hub id.
        corpus: Name of the corpus that the trees are built from.
        source: Where that came from, as who added it said.
        corpus_licence: Its licence, as who added it said.
        licence: As the publisher decides; None for a proposal.
        trees: Trees with a proof.
        pairs: Edges of all trees.
        accepted: Judgements.
        rejected: Judgements.
        authors: How many judged.
        named: Whether their names are in it.
    """

    repo: str
    corpus: str
    source: str = ""
    corpus_licence: str = ""
    licence: str | None = None
    trees: int
    pairs: int
    accepted: int
    rejected: int
    authors: int
    named: bool = False


def data_card(facts: DataFacts) -> str:
    """Return the card as Markdown, the same for the same facts."""
    known = proposed_licence([facts.corpus_licence.strip() or None])
    licence = facts.licence or known
    people = "under their names" if facts.named else "whose names are replaced by numbers"
    counts = [
        [code("trees.jsonl"), "one tree a line, in the form of EntailmentBank (task 2)", f"{facts.trees:,}"],
        [code("pairs.csv"), "one line for each premise of each sentence", f"{facts.pairs:,}"],
        [
            code("judged.csv"),
            "one line for each premise accepted or rejected: below which sentence, what it was searched "
            "with, who ranked it where",
            f"{facts.accepted:,} accepted, {facts.rejected:,} rejected",
        ],
    ]
    parts = [
        f"# {escaped(facts.repo)}",
        f"Explanation trees that a team wrote over its corpus {code(facts.corpus)}, and what it accepted and "
        f"rejected while it did: {facts.authors} author{'' if facts.authors == 1 else 's'}, {people}.",
        table(["file", "what", "how many"], counts, numbers_from=2),
        "## How to use it",
        "```python\nfrom datasets import load_dataset\n\n"
        f'judged = load_dataset("{facts.repo}", "judged", split="train")\nprint(judged[0])\n```',
        "With `entail`: `entail convert trees.jsonl trees.html`, `entail train aeenc --trees trees.jsonl`.",
        "## Limits",
        "- These are opinions of a team, not ground truth. What nobody looked at is neither accepted nor "
        "rejected, and is not in it.\n"
        "- What was judged was chosen by the retrievers named in `judged.csv`: it is no random sample.\n"
        "- Texts of cells that a spreadsheet would take for a formula begin with an apostrophe.",
        "## Licence",
        _terms(facts, licence),
    ]
    return f"---\n{_header(licence)}\n---\n" + "\n\n".join(parts) + "\n"


def _terms(facts: DataFacts, licence: str) -> str:
    about = f"The facts are from {code(facts.corpus)}"
    about += f" ({escaped(facts.source)})" if facts.source else ""
    about += (
        f", whose licence is given as: {escaped(facts.corpus_licence)}."
        if facts.corpus_licence
        else (", whose licence nobody said.")
    )
    if facts.licence:
        return f"{code(licence)}, as the publisher decided. {about}"
    if licence == OTHER:
        return (
            f"Not decided, so `license: other` is proposed. {about} What the authors wrote is theirs. Who "
            "publishes it has to find out what may be done with both, and to say so here."
        )
    return f"{code(licence)}, that of the corpus. {about}"


def _header(licence: str) -> str:
    from huggingface_hub import DatasetCardData

    data = DatasetCardData(
        language="en",
        license=licence,
        task_categories=["text-retrieval", "sentence-similarity"],
        tags=["entailment", "explanation"],
        configs=[
            {"config_name": "trees", "data_files": "trees.jsonl"},
            {"config_name": "pairs", "data_files": "pairs.csv"},
            {"config_name": "judged", "data_files": "judged.csv", "default": True},
        ],
    )
    return data.to_yaml(line_break="\n").rstrip()
