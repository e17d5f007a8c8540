"""Towers of both stages: the masked-LM head, its loss, passages read in pieces."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.encoders.catalogue import resolve
from entail.training.adapters.tower import Lora
from entail.tuning import tower as tower_module
from entail.tuning.masking import Prompts
from entail.tuning.tower import MaskedTower, PassageTower
from tests.tuning.conftest import pairs


def masked_tower(base: str = "tiny") -> MaskedTower:
    return MaskedTower(resolve(base), lora=Lora(rank=4), device="cpu", max_length=32, dropout=0.0)


def batch(tower: MaskedTower, count: int) -> Any:
    form = Prompts(tower.tokenizer, max_length=32, name="tiny")
    rows = [form.mask(prompt, beta=1.0, draw=np.random.default_rng(0)) for prompt in form.of(pairs(count))]
    return [torch.from_numpy(part) for part in form.pad(rows)]


def test_a_head_in_the_checkpoint_is_taken_unchanged(tiny_home: Path) -> None:
    from transformers import AutoConfig, AutoTokenizer, BertForMaskedLM

    torch.manual_seed(5)
    whole = BertForMaskedLM(AutoConfig.from_pretrained(tiny_home / "tiny")).eval()
    whole.save_pretrained(tiny_home / "bert")
    AutoTokenizer.from_pretrained(tiny_home / "tiny").save_pretrained(tiny_home / "bert")
    tower = masked_tower("bert")
    tower.set_frequencies(np.full(60, 0.5))  # for new heads only
    tower.model.eval()
    assert not tower.new_head
    ids, attended, masked, labels = batch(tower, 5)
    with torch.no_grad():
        losses, correct = tower.token_losses(ids, attended, masked, labels)
        scores = whole(input_ids=ids, attention_mask=attended.long()).logits[masked]
    expected = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    assert torch.allclose(losses, expected, atol=1e-5)
    assert (correct == (scores.argmax(dim=1) == labels)).all()


@pytest.mark.parametrize("least", [{"_AT_ONCE": 4}, {"WHOLE": 8, "PIECE": 64}])
def test_the_gradient_raises_what_was_hidden_and_pieces_change_nothing(
    tiny_home: Path, monkeypatch: pytest.MonkeyPatch, least: dict[str, int]
) -> None:
    tower = masked_tower()
    tower.model.eval()
    parts = batch(tower, 6)
    before, _ = tower.token_losses(*parts)
    before.mean().backward()
    gradients = {name: p.grad.clone() for name, p in tower.parameters.items() if p.grad is not None}
    assert any("lora_B" in name and float(gradient.abs().sum()) for name, gradient in gradients.items())
    for name, value in least.items():
        monkeypatch.setattr(tower_module, name, value)
    for parameter in tower.parameters.values():
        parameter.grad = None
    again, _ = tower.token_losses(*parts)
    again.mean().backward()
    assert torch.allclose(again, before)
    with torch.no_grad():
        for name, gradient in gradients.items():
            parameter = tower.parameters[name]
            assert parameter.grad is not None
            assert torch.allclose(parameter.grad, gradient, atol=1e-6)
            parameter -= 0.01 * gradient
    assert float(tower.token_losses(*parts)[0].mean().detach()) < float(before.mean().detach())


def test_many_passages_are_read_in_pieces_and_none_knows_of_it(
    tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors and gradients are those of one pass; what is kept for the gradient is that of a piece."""

    def learnt() -> tuple[Any, dict[str, Any], list[int]]:
        torch.manual_seed(0)
        tower = PassageTower(resolve("tiny"), lora=Lora(rank=4), device="cpu", max_length=32, dropout=0.0)
        sizes: list[int] = []
        transformer = next(iter(tower.model.children()))
        transformer.register_forward_hook(
            lambda _, inputs, __: sizes.append(inputs[0]["input_ids"].numel()), with_kwargs=False
        )
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in tower.parameters.values():
                parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.1)
        vectors = tower.vectors(["ba be", "bi bo bu da de", "di", "do du fa fe", "ba"])
        (vectors @ vectors.T).exp().sum().backward()
        return vectors.detach(), {name: p.grad for name, p in tower.parameters.items()}, sizes

    whole, gradients, (size,) = learnt()
    monkeypatch.setattr(tower_module, "WHOLE", 8)
    monkeypatch.setattr(tower_module, "PIECE", 12)
    vectors, again, sizes = learnt()
    assert torch.allclose(vectors, whole, atol=1e-6)
    assert all(torch.allclose(again[name], gradient, atol=1e-5) for name, gradient in gradients.items())
    assert max(sizes) <= 12 < size
    assert len(sizes) % 2 == 0  # every piece once more in the backward pass
