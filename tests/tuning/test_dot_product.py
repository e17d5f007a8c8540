"""Retrieval by dot product: its loss, files, vectors, index, and what stays by cosine."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, Premise
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import load
from entail.hub.export import export_encoder
from entail.index.dense import DenseIndex
from entail.index.vectors import premise_vectors
from entail.training.method import Run
from entail.tuning.config import DprConfig
from entail.tuning.examples import Examples
from entail.tuning.training import train_dpr
from tests.tuning.conftest import SMALL

WHOLE = SMALL | {"tuning": "full", "learning_rate": 0.003}
DOT = DprConfig(similarity="dot", temperature=0.2, epochs=16, batch_size=12, **WHOLE)
TEXTS = ["ba be bi", "bo bu da de", "di", "do du fa fe", "be bo"]


@pytest.fixture
def dot_base(tiny_home: Path, write_bert: Callable[..., Path]) -> Path:
    """A stock model that declares a dot product, as those of `multi-qa-*-dot` do."""
    return write_bert(tiny_home / "dotted", options={"similarity_fn_name": "dot"})


def by_stock(folder: Path, queries: Sequence[str], premises: Sequence[str]) -> tuple[Any, Any]:
    """Return the vectors of queries and premises by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    assert model.similarity_fn_name == "dot"
    return model.encode_query(list(queries)), model.encode_document(list(premises))


@pytest.mark.parametrize(("towers", "pooling"), [("siamese", "base"), ("siamese", "cls"), ("dual", "base")])
def test_what_is_trained_ranks_by_inner_product_here_and_in_sentence_transformers(
    tiny_home: Path, examples: Examples, towers: Any, pooling: Any
) -> None:
    out = tiny_home / "mine"
    done = train_dpr(examples, replace(DOT, towers=towers, pooling=pooling), dev=examples, run=Run(out=out))
    assert done.fitted.best is not None
    assert done.fitted.best.figures["MRR"] > done.fitted.evaluations[0].figures["MRR"] + 0.05
    entry, encoder = resolve("mine"), load("mine")
    assert (entry.similarity, entry.symmetric, encoder.symmetric) == ("dot", towers == "siamese", False)
    questions = [example.question for example in examples.examples]
    texts = [examples.store[at].whole for at in range(len(examples.store))]
    queries, premises = by_stock(out, questions, texts)
    assert abs(np.linalg.norm(premises, axis=1) - 1).max() > 0.1
    scores = encoder.encode_queries(questions) @ encoder.encode_premises(texts).T
    lengths = np.linalg.norm(queries, axis=1, keepdims=True)
    np.testing.assert_allclose(scores * lengths * 16**0.5, queries @ premises.T, atol=1e-4)
    ranks = 1 + (scores > scores.diagonal()[:, None]).sum(axis=1)
    assert (1 / ranks).mean() == pytest.approx(done.fitted.best.figures["MRR"], abs=0.02)
    assert "inner product" in (out / "README.md").read_text(encoding="utf-8")


def test_the_index_of_a_stock_model_ranks_by_inner_product(dot_base: Path, tmp_path: Path) -> None:
    encoder = load("dotted")
    corpus = Corpus("small", tuple(Premise(text, f"uid-{number}") for number, text in enumerate(TEXTS)))
    queries, premises = by_stock(dot_base, ["be", *TEXTS], TEXTS)
    products = queries @ premises.T
    cosines = products / np.linalg.norm(premises, axis=1)
    expected = np.argsort(-products, axis=1)
    assert (expected != np.argsort(-cosines, axis=1)).any()  # else it would prove nothing
    for _ in range(2):  # encoded, then from the cache
        index = DenseIndex(encoder, corpus, premise_vectors(corpus, encoder, cache_dir=tmp_path))
        hits = index.search(["be", *TEXTS], k=len(TEXTS))
        np.testing.assert_array_equal(hits.positions, expected)
        lengths = np.linalg.norm(queries, axis=1, keepdims=True)
        np.testing.assert_allclose(index.scores(["be", *TEXTS]), products / lengths / 4, rtol=2e-3)


def test_what_was_trained_by_cosine_stays_so(
    dot_base: Path, tiny_home: Path, examples: Examples, tmp_path: Path
) -> None:
    """On a base that declares a dot product: an adapter, its export, and every weight."""
    by_cosine = replace(DOT, base="dotted", similarity="cosine", epochs=1)
    train_dpr(examples, replace(by_cosine, tuning="lora"), run=Run(out=tiny_home / "adapter"))
    train_dpr(examples, by_cosine, run=Run(out=tiny_home / "whole"))
    exported = export_encoder("adapter", tiny_home / "exported").folder
    for folder in ("whole", "exported"):
        settings = json.loads((tiny_home / folder / "config_sentence_transformers.json").read_text("utf-8"))
        assert settings["similarity_fn_name"] == "cosine"
    for name in ("adapter", "whole", str(exported)):
        assert resolve(name).similarity == "cosine"
        assert np.linalg.norm(load(name).encode_premises(TEXTS), axis=1) == pytest.approx(1, abs=1e-5)
    assert resolve(export_encoder("dotted", tmp_path / "out").folder).similarity == "dot"
    # Unit vectors of earlier versions are not taken for its own.
    assert resolve("dotted").premise_revision == f"{resolve('dotted').revision}+dot"
    # An earlier version left the base's declaration in the folder.
    settings = dot_base / "config_sentence_transformers.json"
    (tiny_home / "whole" / settings.name).write_bytes(settings.read_bytes())
    assert resolve("whole").similarity == "cosine"
