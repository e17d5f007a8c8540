"""Encode the bundled sample, so that the app's first page needs no encoder.

    python scripts/build_sample_vectors.py [--out FOLDER]

Writes `vectors.json`, `premise_vectors.npy` and `query_vectors.npy` (fp16): every bundled fact, and every
hypothesis and intermediate conclusion of the bundled trees, the held-out ones too, as a query of `minilm` and
of `aeenc-minilm`, the sample's default. Run it again when the sample or one of the two changes; the same
input gives the same files on the same kind of processor.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def write_shipped(
    folder: Path,
    *,
    revision: str,
    premises: Mapping[str, Floats],
    queries: Mapping[str, Mapping[str, Floats]],
) -> None:
    """Write premises by key, and queries by encoder revision and key: two arrays, and `vectors.json`."""
    np.save(folder / "premise_vectors.npy", np.stack(list(premises.values())).astype(np.float16))
    stacked = np.stack([np.stack(list(vectors.values())) for vectors in queries.values()])
    np.save(folder / "query_vectors.npy", stacked.astype(np.float16))
    record = {
        "revision": revision,
        "dtype": "float16",
        "premise_keys": list(premises),
        "query_revisions": list(queries),
        "query_keys": list(next(iter(queries.values()))),
    }
    (folder / "vectors.json").write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    """Encode and write."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from entail.data.bundled import held_out_corpus, held_out_trees, sample_dir, sample_trees
    from entail.data.text import fold, premise_key
    from entail.encoders.encoder import BiEncoder

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, default=sample_dir(), help="folder (default: the sample's)")
    out = parser.parse_args().out

    corpus, trees = held_out_corpus(), (*sample_trees(), *held_out_trees())
    parents = [text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())]
    texts = {premise_key(text): fold(text) for text in parents}
    encoder, debiased = (
        BiEncoder(name, device="cpu", precision="fp32") for name in ("minilm", "aeenc-minilm")
    )

    def report(progress: object) -> None:
        print(progress, file=sys.stderr)

    premises = encoder.encode_premises([fold(text) for text in corpus.texts], progress=report)
    queries = {
        model.revision: dict(
            zip(texts, model.encode_queries(list(texts.values()), progress=report), strict=True)
        )
        for model in (encoder, debiased)
    }
    write_shipped(
        out,
        revision=encoder.revision,
        premises=dict(zip(corpus.keys, premises, strict=True)),
        queries=queries,
    )
    for name in ("vectors.json", "premise_vectors.npy", "query_vectors.npy"):
        print(f"{name}: {(out / name).stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
