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
from entail.encoders.cross.pairs import Pair
from entail.encoders.stock import sentence_transformer
from entail.errors import EncoderError
from entail.training.adapters.tower import Lora

PREFIX, OTHER = (7, 9, 11, 13, 15), (8, 6)
CANDIDATES = [(5, 6, 7), (9,), (), (12, 11, 10, 9, 8), (5, 6, 7)]
PAIRS: list[Pair] = [(prefix, candidate) for candidate in CANDIDATES for prefix in (PREFIX, OTHER)]


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
    models = tower._transformer.eval(), first.auto_model.eval()
    scores = tower.score(PAIRS)
    for (prefix, candidate), score in zip(PAIRS, scores, strict=True):
        rows = [torch.tensor([[*tower.frame.head, *ids, *tower.frame.tail]]) for ids in (prefix, candidate)]
        with torch.inference_mode():
            p, m = (model(ids).last_hidden_state[0].mean(0) for model, ids in zip(models, rows, strict=True))
            cosine = float(torch.nn.functional.cosine_similarity(p, m, dim=0))
            expected = float(tower.head(m)[0]) + float(tower.parameters["head.scale"]) * cosine
        assert score == pytest.approx(expected, abs=1e-4)


def test_what_is_loaded_scores_as_what_was_trained_and_bf16_is_asked_for(
    tower: BiEncoderTower, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if bf16 is the faster one: it chose another fact at 2 of 100 steps."""
    monkeypatch.setattr("entail.training.adapters.tower._processor_has_bf16", lambda: True)
    earlier = {"reading": "apart", "longest": 24, "alone": 2, "k": 180, "scheme": "arcf"}
    tower.save(tiny_home / "mine")
    record = {"method": "arcf", "base": "tiny", "base_revision": resolve("tiny").revision}
    for form in ({"architecture": "bi"}, earlier):  # that of an earlier version is read
        file = tiny_home / "mine" / "entail.json"
        file.write_text(json.dumps({**record, "scorer": form}), encoding="utf-8")
        scorer = load_scorer("mine")
        np.testing.assert_allclose(scorer.pairs.score(PAIRS), tower.score(PAIRS), atol=1e-2)  # saved in fp16
    assert scorer.form.max_length == 24
    exact, auto, fast = (load_scorer("mine", precision=name) for name in ("fp32", "auto", "bf16"))
    assert auto.pairs.score(PAIRS).tolist() == exact.pairs.score(PAIRS).tolist()
    assert fast.pairs.score(PAIRS).tolist() != exact.pairs.score(PAIRS).tolist()
    monkeypatch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
    np.testing.assert_allclose(load_scorer("mine").pairs.score(PAIRS), tower.score(PAIRS), atol=1e-2)
    file.write_text(json.dumps({**record, "scorer": {"architecture": "split"}}), encoding="utf-8")
    with pytest.raises(EncoderError):
        load_scorer("mine")


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
    for vector in scorer._candidates._vectors.values():
        vector.zero_()
    changed = np.abs(scorer.score(PAIRS) - whole).max() > 1e-3
    assert changed == (cached > 0), "a known candidate is not read again"


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
