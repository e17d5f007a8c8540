"""Encode the bundled sample, so that the app's first page needs no encoder.

    python scripts/build_sample_vectors.py [--out FOLDER]

Writes `vectors.json`, `premise_vectors.npy` and `query_vectors.npy` (fp16): every bundled fact, and every
hypothesis and intermediate conclusion of the bundled trees as a query. Run it again when the sample or
the packaged encoder changes; the same input gives the same files on the same kind of processor.
"""

import argparse
import os
import sys
from pathlib import Path


def main() -> None:
    """Encode and write."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from entail.data.bundled import sample_corpus, sample_dir, sample_trees
    from entail.data.text import fold, premise_key
    from entail.encoders.encoder import BiEncoder
    from entail.index.vectors import write_shipped

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, default=sample_dir(), help="folder (default: the sample's)")
    out = parser.parse_args().out

    corpus, trees = sample_corpus(), sample_trees()
    parents = [text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())]
    queries = {premise_key(text): fold(text) for text in parents}
    encoder = BiEncoder("minilm", device="cpu", precision="fp32")

    def report(progress: object) -> None:
        print(progress, file=sys.stderr)

    premises = encoder.encode_premises([fold(text) for text in corpus.texts], progress=report)
    found = encoder.encode_queries(list(queries.values()), progress=report)
    write_shipped(
        out,
        revision=encoder.revision,
        premises=dict(zip(corpus.keys, premises, strict=True)),
        queries=dict(zip(queries, found, strict=True)),
    )
    for name in ("vectors.json", "premise_vectors.npy", "query_vectors.npy"):
        print(f"{name}: {(out / name).stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
