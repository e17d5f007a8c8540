"""A prefix that never reads the candidate: the same scores, whatever is kept and however it is dealt."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from entail.arcf.config import ArcfConfig
from entail.arcf.scorer import load_scorer
from entail.arcf.split import Head, candidate_rows, prefix_row, read_alone, read_onto, read_prefix, scores_of
from entail.arcf.split_layers import ModuleLayers
from entail.arcf.split_scorer import SplitScorer
from entail.arcf.split_tower import SplitTower
from entail.arcf.training import train_arcf
from entail.encoders.catalogue import resolve
from entail.encoders.pairs import Pair
from entail.errors import EncoderError, TrainingError
from entail.training.tower import Lora

PREFIX, OTHER = (7, 9, 11, 13, 15), (8, 6)
CANDIDATES = [(5, 6, 7), (9,), (), (12, 11, 10, 9, 8), (5, 6, 7)]
PAIRS: list[Pair] = [(prefix, candidate) for candidate in CANDIDATES for prefix in (PREFIX, OTHER)]
ALONE = 1


@pytest.fixture
def tower(tiny_home: Path, write_bert: Callable[..., Path]) -> SplitTower:
    """Return one on a base of three layers, whose adapter and head say something."""
    (tiny_home / "tiny").unlink()
    write_bert(tiny_home / "tiny", layers=3)
    made = SplitTower(
        resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32, alone=ALONE, dropout=0.0, seed=1
    )
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.parameters.values():
            parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.2)
    return made


def test_a_score_is_that_of_one_pass_in_which_the_prefix_is_masked(tower: SplitTower) -> None:
    """The plain way: both in one row through the transformer's own layers, with a mask for each layer."""
    transformer = tower._transformer.eval()
    found = tower.score(PAIRS)
    for (prefix, candidate), score in zip(PAIRS, found, strict=True):
        first, second = (torch.tensor([prefix_row(ids, tower.frame)]) for ids in (prefix, candidate))
        split = first.shape[1]
        with torch.inference_mode():
            x = torch.cat([transformer.embeddings(input_ids=ids) for ids in (first, second)], dim=1)
            for at, layer in enumerate(transformer.encoder.layer):
                mask = torch.zeros(1, 1, x.shape[1], x.shape[1])
                mask[..., :split, split:] = -torch.inf
                if at < ALONE:
                    mask[..., split:, :split] = -torch.inf
                x = layer(x, attention_mask=mask)
                x = x[0] if isinstance(x, tuple) else x
            p, m = x[0, :split].mean(0), x[0, split:].mean(0)
            cosine = float(torch.nn.functional.cosine_similarity(p, m, dim=0))
            expected = float(tower.head(m)[0]) + float(tower.parameters["head.scale"]) * cosine
        assert score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("stock", [False, True])
def test_what_is_loaded_scores_as_what_was_trained(tower: SplitTower, tiny_home: Path, stock: bool) -> None:
    folder = tiny_home / "mine"
    _save(tower, folder)
    scorer = load_scorer("mine", stock=stock)
    assert isinstance(scorer.pairs, SplitScorer)
    assert (scorer.form.reading, scorer.form.alone) == ("split", ALONE)
    np.testing.assert_allclose(scorer.pairs.score(PAIRS), tower.score(PAIRS), atol=1e-2)  # saved in fp16


def _save(tower: SplitTower, folder: Path) -> None:
    import json

    tower.save(folder)
    base = resolve("tiny")
    told = {"method": "arcf", "base": "tiny", "base_revision": base.revision}
    told |= {"scorer": {"reading": "split", "alone": tower.alone, "longest": 32}}
    (folder / "entail.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize("store", [0, 8, 1000])
def test_nothing_depends_on_what_is_kept(tower: SplitTower, store: int) -> None:
    """Neither on the batches, nor on what else is asked for."""
    scorer = _engine(tower, store=store)
    whole = scorer.score(PAIRS)
    assert whole[0] == whole[8]  # the same pair twice
    np.testing.assert_allclose(whole, tower.score(PAIRS), atol=1e-5)
    np.testing.assert_allclose(scorer.score(PAIRS), whole, atol=1e-6)
    alone = [float(_engine(tower, store=store, budget=4).score([pair])[0]) for pair in PAIRS]
    np.testing.assert_allclose(alone, whole, atol=1e-5)
    assert scorer._lower.held <= store
    assert scorer._lower.held == sum(map(len, scorer._lower._kept.values()))


def test_what_was_read_once_is_not_read_again(tower: SplitTower) -> None:
    """Behind a new prefix a known candidate costs its own tokens, in the upper layers."""
    scorer = _engine(tower)
    scorer.score([(PREFIX, candidate) for candidate in CANDIDATES])
    before = scorer.spent.tokens
    scorer.score([(OTHER, candidate) for candidate in CANDIDATES])
    rows, known = candidate_rows(CANDIDATES, tower.frame)
    assert scorer.spent.tokens - before == known.sum() + len(prefix_row(OTHER, tower.frame))
    before = scorer.spent.tokens
    scorer.score([(OTHER, candidate) for candidate in CANDIDATES])
    assert scorer.spent.tokens - before == known.sum()
    assert rows.shape == (5, 7)


def test_no_pairs_no_scores(tower: SplitTower) -> None:
    assert _engine(tower).score([]).shape == (0,)


def _engine(tower: SplitTower, **options: Any) -> SplitScorer:
    layers = ModuleLayers(tower._transformer.eval(), name="tiny")
    head = Head(*(tower.parameters[f"head.{name}"].detach() for name in Head._fields))
    return SplitScorer(
        layers,
        head,
        alone=tower.alone,
        tokenize=tower.tokenize,
        frame=tower.frame,
        longest=32,
        device="cpu",
        **options,
    )


def test_the_gradient_raises_the_score_it_is_asked_to_raise(tower: SplitTower) -> None:
    """Through candidate, prefix, head and scale."""
    tower.model.eval()
    before = tower.scores(PAIRS[:1])
    before.sum().backward()
    assert all(
        p.grad is not None and p.grad.abs().sum() > 0 for n, p in tower.parameters.items() if "_B" in n
    )
    with torch.no_grad():
        for parameter in tower.parameters.values():
            if parameter.grad is not None:
                parameter += 1e-3 * parameter.grad
    assert tower.scores(PAIRS[:1]).item() > before.item()


def test_untrained_what_resembles_the_prefix_comes_first(tiny_home: Path) -> None:
    """The cosine of means leads, until something is learnt."""
    tower = SplitTower(resolve("tiny"), lora=None, device="cpu", longest=32, alone=0, dropout=0.0)
    scores = tower.score([(PREFIX, PREFIX), (PREFIX, (40, 41, 42))])
    assert scores[0] > scores[1]


def test_by_hand(tiny_home: Path) -> None:
    """One head's cosine and map, on vectors one can see through."""
    prefix = type("States", (), {"mean": torch.tensor([3.0, 4.0])})()
    head = Head(torch.tensor([[1.0, 2.0]]), torch.tensor([0.5]), torch.tensor([10.0]))
    found = scores_of(torch.tensor([[4.0, 3.0], [0.0, -1.0]]), prefix, head)
    assert found.tolist() == pytest.approx([4 + 6 + 0.5 + 9.6, -2 + 0.5 - 8])


def test_padding_is_not_read(tower: SplitTower) -> None:
    layers = ModuleLayers(tower._transformer.eval(), name="tiny")
    rows, known = (torch.from_numpy(some) for some in candidate_rows([(5, 6), (9, 10, 11, 12)], tower.frame))
    prefix = read_prefix(layers, torch.tensor([prefix_row(PREFIX, tower.frame)]), alone=ALONE)

    def mean(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        return read_onto(layers, read_alone(layers, ids, mask, alone=ALONE), mask, prefix, alone=ALONE)

    short = rows[:1, : int(known[0].sum())]
    torch.testing.assert_close(mean(rows, known)[:1], mean(short, None), atol=1e-5, rtol=0)


def test_a_base_of_another_build_is_refused() -> None:
    with pytest.raises(EncoderError, match=r"built as BERT is.*Linear; take reading=joint"):
        ModuleLayers(torch.nn.Linear(2, 2), name="odd")


def test_the_lower_layers_leave_one_to_read_in(tiny_home: Path) -> None:
    tower = SplitTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32, alone=99)
    assert tower.alone == len(tower._transformer.encoder.layer) - 1 == 0
    with pytest.raises(TrainingError, match="alone"):
        ArcfConfig(alone=-1)


def test_it_learns_which_facts_explain(tiny_home: Path, world: Any) -> None:
    config = ArcfConfig(
        base="tiny",
        reading="split",
        alone=1,
        rank=4,
        k=6,
        batch_tokens=200,
        prefixes=3,
        prefixes_a_step=4,
        epochs=5,
        learning_rate=0.01,
        longest=32,
        dropout=0.0,
        dev_questions=4,
        precision="fp32",
    )

    def trained(some: ArcfConfig, questions: Sequence[Any], **options: Any) -> Any:
        return train_arcf(questions, world.facts, some, dev=world.dev, data=["worldtree"], **options)

    training = trained(config, world.questions, out=tiny_home / "mine")
    untrained = training.fitted.evaluations[0]
    assert training.fitted.best.score > untrained.score + 0.1
    assert (training.form.reading, training.form.alone) == ("split", 0)  # its base has one layer
    assert "question and facts never read the candidate" in (tiny_home / "mine" / "README.md").read_text(
        encoding="utf-8"
    )
    # A prefix that is read apart leaves room for more candidates among as many tokens.
    joint = trained(replace(config, reading="joint", epochs=1), world.questions)
    assert training.counts["steps"] / 5 == joint.counts["steps"]


@pytest.fixture
def frozen(tower: SplitTower) -> SplitTower:
    """Return one on the same base."""
    lora = Lora(rank=2)
    return SplitTower(
        resolve("tiny"), lora=lora, device="cpu", longest=32, alone=ALONE, frozen=True, dropout=0.3
    )


def test_frozen_lower_layers_neither_learn_nor_drop_anything(frozen: SplitTower) -> None:
    names = list(frozen.parameters)
    assert names
    assert not any(f".layer.{at}." in name for name in names for at in range(ALONE))
    assert any(f".layer.{ALONE}." in name for name in names)
    transformer = frozen._transformer.train()
    lower = [*transformer.embeddings.modules(), *transformer.encoder.layer[:ALONE].modules()]
    assert {m.p for m in lower if isinstance(m, torch.nn.Dropout)} == {0.0}
    upper = transformer.encoder.layer[ALONE:].modules()
    assert 0.3 in {m.p for m in upper if isinstance(m, torch.nn.Dropout)}


def test_every_weight_but_the_frozen_ones(frozen: SplitTower) -> None:
    assert frozen.alone == ALONE
    tower = SplitTower(resolve("tiny"), lora=None, device="cpu", longest=32, alone=ALONE, frozen=True)
    assert not any("embeddings." in name for name in tower.parameters)
    learning = {id(p) for p in tower.parameters.values()}
    for name, parameter in tower.model.named_parameters():
        if ".layer.0." in name or "embeddings." in name:
            assert not parameter.requires_grad
            assert id(parameter) not in learning


def test_a_frozen_tower_scores_as_one_that_reads_anew(frozen: SplitTower) -> None:
    """Also after it was measured, where tensors cannot be learnt from."""
    anew = SplitTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32, alone=ALONE)
    np.testing.assert_allclose(frozen.score(PAIRS), anew.score(PAIRS), atol=1e-5)
    spent = frozen.spent.tokens
    frozen.score(PAIRS)
    assert frozen.spent.tokens - spent < spent  # candidates' lower states were there
    frozen.scores(PAIRS).sum().backward()
    assert all(p.grad is not None for n, p in frozen.parameters.items() if "_B" in n)


def test_one_layer_learns_always(frozen: SplitTower) -> None:
    tower = SplitTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", longest=32, alone=7, frozen=True)
    assert tower.alone == 2
    assert any(".layer.2." in name for name in tower.parameters)


@pytest.mark.parametrize("stock", [False, True])
def test_a_frozen_adapter_is_of_upper_layers_alone(frozen: SplitTower, tiny_home: Path, stock: bool) -> None:
    with torch.no_grad():
        for name, parameter in frozen.parameters.items():
            if "_B" in name:
                parameter.add_(0.05)
    expected = frozen.score(PAIRS)
    _save(frozen, tiny_home / "mine")
    with safe_open(tiny_home / "mine" / "adapter" / "adapter_model.safetensors", "pt") as file:
        names = list(file.keys())
    assert names
    assert not any(".layer.0." in name for name in names)
    np.testing.assert_allclose(load_scorer("mine", stock=stock).pairs.score(PAIRS), expected, atol=1e-2)
