"""Prefix and candidate that never read each other: a bi-encoder of chains."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.arcf.apart_tower import ApartTower
from entail.arcf.config import ArcfConfig
from entail.arcf.sampling import Sampler, learnable
from entail.arcf.scorer import load_scorer
from entail.arcf.split import prefix_row
from entail.arcf.training import train_arcf
from entail.encoders.catalogue import resolve
from entail.encoders.pairs import Pair
from entail.encoders.stock import sentence_transformer
from entail.errors import TrainingError
from entail.training.tower import Lora

PREFIX, OTHER = (7, 9, 11, 13, 15), (8, 6)
CANDIDATES = [(5, 6, 7), (9,), (), (12, 11, 10, 9, 8), (5, 6, 7)]
PAIRS: list[Pair] = [(prefix, candidate) for candidate in CANDIDATES for prefix in (PREFIX, OTHER)]


@pytest.fixture
def tower(tiny_home: Path, write_bert: Callable[..., Path]) -> ApartTower:
    """Return one on a base of two layers, whose adapter and head say something."""
    (tiny_home / "tiny").unlink()
    write_bert(tiny_home / "tiny", layers=2)
    made = ApartTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32, dropout=0.0, seed=1)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.parameters.values():
            parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.2)
    return made


def test_a_score_is_that_of_the_adapters_prefix_and_the_bases_candidate(tower: ApartTower) -> None:
    """Each read whole by the transformer's own forward pass, one with the adapter and one without."""
    first: Any = next(iter(sentence_transformer(resolve("tiny"), device="cpu").children()))
    plain, adapted = first.auto_model.eval(), tower._transformer.eval()
    found = tower.score(PAIRS)
    for (prefix, candidate), score in zip(PAIRS, found, strict=True):
        with torch.inference_mode():
            p, m = (
                model(input_ids=torch.tensor([prefix_row(ids, tower.frame)])).last_hidden_state[0].mean(0)
                for model, ids in ((adapted, prefix), (plain, candidate))
            )
            cosine = float(torch.nn.functional.cosine_similarity(p, m, dim=0))
            expected = float(tower.head(m)[0]) + float(tower.parameters["head.scale"]) * cosine
        assert score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("stock", [False, True])
def test_what_is_loaded_scores_as_what_was_trained(tower: ApartTower, tiny_home: Path, stock: bool) -> None:
    _write(tower, tiny_home / "mine")
    scorer = load_scorer("mine", stock=stock)
    np.testing.assert_allclose(scorer.pairs.score(PAIRS), tower.score(PAIRS), atol=1e-2)  # saved in fp16
    before = scorer.pairs.spent.tokens
    scorer.pairs.score([(OTHER[:1], candidate) for candidate in CANDIDATES])
    # A known candidate costs nothing behind a new prefix.
    assert scorer.pairs.spent.tokens - before == len(prefix_row(OTHER[:1], tower.frame))


def _write(tower: ApartTower, folder: Path) -> None:
    tower.save(folder)
    told = {"method": "arcf", "base": "tiny", "base_revision": resolve("tiny").revision}
    told |= {"scorer": {"reading": "apart", "alone": tower.alone, "longest": 32}}
    (folder / "entail.json").write_text(json.dumps(told), encoding="utf-8")


def test_what_is_compared_is_read_exactly_unless_it_is_asked_otherwise(
    tower: ApartTower, tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bf16 is the faster one, too: it chose another fact at 2 of 100 steps."""
    monkeypatch.setattr("entail.training.tower._processor_has_bf16", lambda: True)
    _write(tower, tiny_home / "mine")
    exact = load_scorer("mine", precision="fp32").pairs.score(PAIRS)
    assert load_scorer("mine", precision="auto").pairs.score(PAIRS).tolist() == exact.tolist()
    assert load_scorer("mine", precision="bf16").pairs.score(PAIRS).tolist() != exact.tolist()


def test_the_gradient_moves_the_prefix_and_leaves_candidates_where_they_are(tower: ApartTower) -> None:
    tower.model.eval()
    before = tower.scores(PAIRS[:1])
    before.sum().backward()
    assert all(
        p.grad is not None and p.grad.abs().sum() > 0 for n, p in tower.parameters.items() if "_B" in n
    )
    (kept,) = (states.clone() for states in tower._candidates.of(CANDIDATES[:1]))
    with torch.no_grad():
        for parameter in tower.parameters.values():
            if parameter.grad is not None:
                parameter += 1e-3 * parameter.grad
    assert tower.scores(PAIRS[:1]).item() > before.item()
    assert torch.equal(tower._candidates.of(CANDIDATES[:1])[0], kept)
    assert kept.shape[0] == 1  # of all layers nothing but the mean is kept


def test_every_visible_fact_is_compared(tiny_home: Path, world: Any) -> None:
    """However few tokens a batch may have: candidates cost none."""
    config = ArcfConfig(base="tiny", reading="apart", k=6, batch_tokens=64, longest=32)
    tower = ApartTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32)
    from entail.arcf.inputs import Inputs
    from entail.arcf.neighbourhoods import Neighbourhoods

    near = Neighbourhoods(world.facts, k=6)
    inputs = Inputs(tower.tokenize, tower.frame, longest=32, facts=world.facts.texts)
    sampler = Sampler(config, learnable(world.questions, inputs, near), inputs, near)
    for sample in sampler.epoch(0):
        question = sampler.questions[sample.question]
        visible = set(near.visible(question.near, sample.prefix)) - set(sample.prefix)
        assert set(sample.candidates) - {-1} == visible
        ids = inputs.prefix(question.ids, sample.prefix).ids
        assert sample.tokens == len(ids) + tower.frame.size


def test_it_learns_which_facts_explain(tiny_home: Path, world: Any) -> None:
    config = ArcfConfig(
        base="tiny",
        reading="apart",
        rank=4,
        k=6,
        prefixes=3,
        prefixes_a_step=4,
        epochs=8,
        learning_rate=0.02,
        longest=32,
        dropout=0.0,
        dev_questions=4,
        precision="fp32",
    )
    out = tiny_home / "mine"
    training = train_arcf(world.questions, world.facts, config, dev=world.dev, data=["worldtree"], out=out)
    assert training.fitted.best is not None
    assert training.fitted.best.score > training.fitted.evaluations[0].score + 0.1
    assert (training.form.reading, training.form.alone) == ("apart", 1)
    assert "Candidates are vectors that the base makes of them" in (out / "README.md").read_text("utf-8")


def test_every_weight_cannot_be_tuned() -> None:
    with pytest.raises(TrainingError, match="needs tuning=lora"):
        ArcfConfig(reading="apart", tuning="full")
