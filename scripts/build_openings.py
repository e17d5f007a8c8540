"""Compute what Claims, Direction and Chains show first, so that a fresh installation encodes nothing for it.

    python scripts/build_openings.py [claims] [direction] [chains] [--out FOLDER]

Writes `claim_lists.json` (lists of the bundled examples by the packaged pair of encoders), `direction.json`
(Gaussians of the example pair by the packaged encoder) and `chain.json` (steps of the example by the packaged
scorer). Each names the revisions that made
it, and is not used for others: run this again when the sample, an example or one of these models changes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

PARTS = ("claims", "direction", "chains")


def main() -> None:
    """Compute and write."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from entail.data.bundled import sample_dir

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("parts", nargs="*", help="files to write (default: all)")
    parser.add_argument("--out", type=Path, default=sample_dir(), help="folder (default: the sample's)")
    args = parser.parse_args()
    makers = {"claims": claim_lists, "direction": example_gaussians, "chains": example_chain}
    for part in args.parts or PARTS:
        name, content = makers[part]()
        file = args.out / name
        text = json.dumps(asdict(content), separators=(",", ":"), default=sorted)  # sets in order
        file.write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {file.stat().st_size / 2**10:.0f} KiB")


def claim_lists() -> tuple[str, Any]:
    """Return the lists of all examples by the packaged pair, searched as the Claims page does."""
    from entail.claims import existence_claim
    from entail.data.bundled import sample_corpus
    from entail.evaluation.passages.pool import FILE, ExampleLists, StoredLists, corpus_pool, search_wordings
    from entail.index.factory import retriever
    from entail.ui.claims.fields import TUNING
    from entail.ui.claims.passages import DEPTHS

    pool = corpus_pool(sample_corpus())
    first, second = (
        retriever(name, pool.corpus, progress=lambda progress: print(progress, file=sys.stderr))
        for name in TUNING
    )
    examples = []
    for entry in pool.questions.values():
        claim = existence_claim(entry.question).text
        lists = search_wordings((first, second), entry.question, claim, k=max(DEPTHS), gold=entry.gold)
        examples.append(StoredLists.of(lists, entry.question, claim))
    stored = ExampleLists(
        [first.name, second.name],
        [str(index.manifest.revision) for index in (first, second)],
        pool.corpus.hash,
        max(DEPTHS),
        examples,
    )
    return FILE, stored


def example_gaussians() -> tuple[str, Any]:
    """Return the Gaussians of the example pair by the packaged encoder."""
    from entail.encoders.gaussian.encoder import GaussianEncoder
    from entail.gausscse.example_pair import EXAMPLE, FILE, StoredGaussians

    encoder = GaussianEncoder("gausscse-minilm", device="cpu")
    rows = encoder.encode(EXAMPLE).values
    values = {text: [float(f"{value:.7g}") for value in row] for text, row in zip(EXAMPLE, rows, strict=True)}
    return FILE, StoredGaussians(encoder.revision, values)


def example_chain() -> tuple[str, Any]:
    """Return the steps of the example chain by the packaged scorer, as the Chains page builds them."""
    from dataclasses import replace

    from entail.arcf.chains.chain import Search, build_chain, corpus_facts
    from entail.arcf.chains.example import EXAMPLE, FILE, StoredChain
    from entail.arcf.scoring.scorer import load_scorer
    from entail.data.bundled import sample_corpus
    from entail.runtime.chains import make_builder
    from entail.ui.chains.page import DEFAULT_K, DEFAULT_LENGTH

    facts, scorer = corpus_facts(sample_corpus()), load_scorer("arcf-minilm", precision="auto")
    builder = make_builder(facts, scorer, k=DEFAULT_K)
    chain = build_chain(EXAMPLE, builder.steps, builder.around, Search(length=DEFAULT_LENGTH))
    steps = [replace(step, scores=tuple(round(score, 4) for score in step.scores)) for step in chain.steps]
    return FILE, StoredChain(scorer.revision, facts.digest, steps)


if __name__ == "__main__":
    main()
