"""Bi-encoder of chains: prefix and candidate never attend to each other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.arcf.scoring.bi_encoder import BiEncoderScorer, Head, transformer_forward
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.tower import BiEncoderTower
from entail.encoders.catalogue import resolve
from entail.encoders.cross.pairs import Ids, Pair
from entail.encoders.row_batches import pad_rows
from entail.encoders.stock import sentence_transformer
from entail.errors import EncoderError
from entail.training.adapters.tower import Lora

PREFIX, OTHER = (7, 9, 11, 13, 15), (8, 6)
CANDIDATES = [(5, 6, 7), (9,), (), (12, 11, 10, 9, 8), (5, 6, 7)]
PAIRS: list[Pair] = [(prefix, candidate) for candidate in CANDIDATES for prefix in (PREFIX, OTHER)]


def _row(ids: Ids, tower: BiEncoderTower) -> list[int]:
    return [*tower.frame.head, *ids, *tower.frame.tail]


@pytest.fixture
def tower(tiny_home: Path, write_bert: Callable[..., Path]) -> BiEncoderTower:
    """Return one on a base of two layers, whose adapter and head say something."""
    (tiny_home / "tiny").unlink()
    write_bert(tiny_home / "tiny", num_hidden_layers=2)
    encoder = BiEncoderTower(
        resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32, dropout=0.0, seed=1
    )
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters.values():
            parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.2)
    return encoder


def test_a_score_is_that_of_the_adapters_prefix_and_the_bases_candidate(tower: BiEncoderTower) -> None:
    """Each read whole by the transformer's own forward pass, one with the adapter and one without."""
    first: Any = next(iter(sentence_transformer(resolve("tiny"), device="cpu").children()))
    plain, adapted = first.auto_model.eval(), tower._transformer.eval()
    scores = tower.score(PAIRS)
    for (prefix, candidate), score in zip(PAIRS, scores, strict=True):
        with torch.inference_mode():
            p, m = (
                model(input_ids=torch.tensor([_row(ids, tower)])).last_hidden_state[0].mean(0)
                for model, ids in ((adapted, prefix), (plain, candidate))
            )
            cosine = float(torch.nn.functional.cosine_similarity(p, m, dim=0))
            expected = float(tower.head(m)[0]) + float(tower.parameters["head.scale"]) * cosine
        assert score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("stock", [False, True])
def test_what_is_loaded_scores_as_what_was_trained(
    tower: BiEncoderTower, tiny_home: Path, stock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tower, tiny_home / "mine")
    if stock:
        monkeypatch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
    scorer = load_scorer("mine")
    np.testing.assert_allclose(scorer.pairs.score(PAIRS), tower.score(PAIRS), atol=1e-2)  # saved in fp16
    sizes: list[int] = []

    def count(rows: Any, padding: int) -> Any:
        sizes.append(len(rows))
        return pad_rows(rows, padding)

    monkeypatch.setattr("entail.arcf.scoring.bi_encoder.pad_rows", count)
    scorer.pairs.score([(OTHER[:1], candidate) for candidate in CANDIDATES])
    assert sizes == [1], "a known candidate costs nothing behind a new prefix"


def _write(tower: BiEncoderTower, folder: Path, **form: Any) -> None:
    tower.save(folder)
    record = {"method": "arcf", "base": "tiny", "base_revision": resolve("tiny").revision}
    record |= {"scorer": {"architecture": "bi"} | form}
    (folder / "entail.json").write_text(json.dumps(record), encoding="utf-8")


def test_a_form_of_an_earlier_version_is_read_and_bf16_is_asked_for(
    tower: BiEncoderTower, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if bf16 is the faster one: it chose another fact at 2 of 100 steps."""
    monkeypatch.setattr("entail.training.adapters.tower._processor_has_bf16", lambda: True)
    earlier = {"reading": "apart", "longest": 24, "alone": 2, "k": 180, "scheme": "arcf"}
    _write(tower, tiny_home / "mine", **earlier)
    assert load_scorer("mine").form.max_length == 24
    exact = load_scorer("mine", precision="fp32").pairs.score(PAIRS)
    assert load_scorer("mine", precision="auto").pairs.score(PAIRS).tolist() == exact.tolist()
    assert load_scorer("mine", precision="bf16").pairs.score(PAIRS).tolist() != exact.tolist()
    _write(tower, tiny_home / "split", architecture="split")
    with pytest.raises(EncoderError):
        load_scorer("split")


@pytest.mark.parametrize("cached", [0, 1000])
def test_scores_depend_neither_on_batches_nor_on_the_cache(tower: BiEncoderTower, cached: int) -> None:
    scorer = _scorer(tower, cached=cached)
    whole = scorer.score(PAIRS)
    assert whole[0] == pytest.approx(whole[8], abs=1e-5)  # the same pair twice
    np.testing.assert_allclose(whole, tower.score(PAIRS), atol=1e-5)
    np.testing.assert_allclose(scorer.score(PAIRS), whole, atol=1e-6)
    alone = [float(_scorer(tower, cached=cached, budget=4).score([pair])[0]) for pair in PAIRS]
    np.testing.assert_allclose(alone, whole, atol=1e-5)
    assert len(scorer._candidates) == min(cached, len(set(CANDIDATES)))
    assert scorer.score([]).shape == (0,)


def _scorer(tower: BiEncoderTower, **options: Any) -> BiEncoderScorer:
    first: Any = next(iter(sentence_transformer(resolve("tiny"), device="cpu").children()))
    return BiEncoderScorer(
        transformer_forward(tower._transformer.eval()),
        transformer_forward(first.auto_model.eval()),
        Head(*(tower.parameters[f"head.{name}"].detach() for name in Head._fields)),
        tokenize=tower.tokenize,
        frame=tower.frame,
        max_length=32,
        device="cpu",
        **options,
    )


def test_the_gradient_moves_the_prefix_and_leaves_candidates_where_they_are(tower: BiEncoderTower) -> None:
    tower.model.eval()
    before = tower.scores(PAIRS[:1])
    before.sum().backward()
    assert all(
        p.grad is not None and p.grad.abs().sum() > 0 for n, p in tower.parameters.items() if "_B" in n
    )
    (vector,) = tower._candidates.vectors(CANDIDATES[:1])
    with torch.no_grad():
        for parameter in tower.parameters.values():
            if parameter.grad is not None:
                parameter += 1e-3 * parameter.grad
    assert tower.scores(PAIRS[:1]).item() > before.item()
    assert torch.equal(tower._candidates.vectors(CANDIDATES[:1])[0], vector)
