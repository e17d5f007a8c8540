"""Masked hypothesis prediction: the head, the loss, what is learnt, written and gone on with."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.encoder import load
from entail.errors import CheckpointError, TrainingError
from entail.training.adapters.tower import Lora
from entail.training.loop.task import Event
from entail.tuning import tower as tower_module
from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.masking import Prompts
from entail.tuning.tower import MaskedTower, PassageTower, masked_head
from entail.tuning.training import train_tuning

Pairs = Callable[..., list[EntailedPair]]

SETTINGS = TuningConfig(
    base="tiny",
    rank=4,
    epochs=3,
    batch_size=16,
    max_length=32,
    learning_rate=0.01,
    warmup_steps=2,
    precision="fp32",
)


def masked_tower(base: str = "tiny", *, whole: bool = False) -> MaskedTower:
    lora = None if whole else Lora(rank=4)
    return MaskedTower(resolve(base), lora=lora, device="cpu", max_length=32, dropout=0.0)


def batch(tower: MaskedTower, pairs: list[EntailedPair]) -> Any:
    import torch

    form = Prompts(tower.tokenizer, variant="hypothesis", max_length=32, name="tiny")
    prompts, _ = form.of(pairs)
    rows = [form.masked(one, beta=1.0, draw=np.random.default_rng(0)) for one in prompts]
    return [torch.from_numpy(part) for part in form.padded(rows)]


def with_head(tiny_home: Path, name: str = "bert") -> Any:
    """Write a base whose checkpoint has a masked-LM head, as BERT's has; return the whole model."""
    import torch
    from transformers import AutoConfig, AutoTokenizer, BertForMaskedLM

    torch.manual_seed(5)
    model = BertForMaskedLM(AutoConfig.from_pretrained(tiny_home / "tiny"))
    model.save_pretrained(tiny_home / name)
    AutoTokenizer.from_pretrained(tiny_home / "tiny").save_pretrained(tiny_home / name)
    return model.eval()


def test_a_head_in_the_checkpoint_is_taken_unchanged(tiny_home: Path, pairs: Pairs) -> None:
    import torch

    whole = with_head(tiny_home)
    tower = masked_tower("bert")
    tower.expect(np.full(60, 0.5))  # for new heads alone
    tower.model.eval()
    assert not tower.new_head
    ids, there, hidden, labels = batch(tower, pairs(5))
    with torch.no_grad():
        surprise, right = tower.surprise(ids, there, hidden, labels)
        scores = whole(input_ids=ids, attention_mask=there.long()).logits[hidden]
    expected = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    assert torch.allclose(surprise, expected, atol=1e-5)
    assert (right == (scores.argmax(dim=1) == labels)).all()


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "mpnet", "modernbert", "electra", "albert"])
def test_heads_of_every_form_are_taken(tmp_path: Path, kind: str) -> None:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

    sizes = {"distilbert": {"dim": 16, "hidden_dim": 32, "n_layers": 1, "n_heads": 2}}.get(
        kind,
        {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2},
    )
    small = {"embedding_size": 8} if kind in ("electra", "albert") else {}
    config = AutoConfig.for_model(
        kind, vocab_size=60, pad_token_id=0, bos_token_id=2, eos_token_id=3, **sizes, **small
    )
    torch.manual_seed(0)
    whole = AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    whole.save_pretrained(tmp_path / kind)
    transformer = AutoModel.from_pretrained(tmp_path / kind).eval()
    entry = EncoderEntry(name=kind, kind="folder", path=tmp_path / kind)
    head, new = masked_head(entry, transformer, seed=0)
    head.eval()
    assert not new
    ids = torch.arange(5, 11)[None]
    with torch.no_grad():
        expected = whole(input_ids=ids).logits[0, 2:4]
        found = head(transformer(input_ids=ids).last_hidden_state[0, 2:4])
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_new_head_is_tied_to_the_word_embeddings_and_begins_with_what_is_frequent(tiny_home: Path) -> None:
    tower = masked_tower()
    assert tower.new_head
    decoder = tower.head.get_output_embeddings()
    assert decoder.weight is tower._transformer.get_input_embeddings().weight
    names = {name for name in tower.parameters if name.startswith("masked_head.")}
    assert {name.rpartition("predictions.")[2] for name in names} == {
        "bias",
        *(f"transform.{part}.{what}" for part in ("dense", "LayerNorm") for what in ("weight", "bias")),
    }
    shares = np.full(60, 0.01)
    shares[7] = 0.41
    tower.expect(shares)
    assert float((decoder.bias[7] - decoder.bias[8]).detach()) == pytest.approx(np.log(41), abs=1e-5)
    whole = masked_tower(whole=True)
    embeddings = whole._transformer.get_input_embeddings().weight
    assert sum(parameter is embeddings for parameter in whole.parameters.values()) == 1


@pytest.mark.parametrize("least", [{"_AT_ONCE": 4}, {"WHOLE": 8, "PIECE": 64}])
def test_the_gradient_raises_what_was_hidden_and_pieces_change_nothing(
    tiny_home: Path, pairs: Pairs, monkeypatch: pytest.MonkeyPatch, least: dict[str, int]
) -> None:
    import torch

    tower = masked_tower()
    tower.model.eval()
    parts = batch(tower, pairs(6))
    before, _ = tower.surprise(*parts)
    before.mean().backward()  # type: ignore[no-untyped-call]  # not typed there
    gradients = {name: p.grad.clone() for name, p in tower.parameters.items() if p.grad is not None}
    assert any("lora_B" in name and float(found.abs().sum()) for name, found in gradients.items())
    for name, value in least.items():
        monkeypatch.setattr(tower_module, name, value)
    for parameter in tower.parameters.values():
        parameter.grad = None
    again, _ = tower.surprise(*parts)
    again.mean().backward()  # type: ignore[no-untyped-call]  # not typed there
    assert torch.allclose(again, before)
    with torch.no_grad():
        for name, found in gradients.items():
            parameter = tower.parameters[name]
            assert parameter.grad is not None
            assert torch.allclose(parameter.grad, found, atol=1e-6)
            parameter -= 0.01 * found
    assert float(tower.surprise(*parts)[0].mean().detach()) < float(before.mean().detach())


def test_many_passages_are_read_in_pieces_and_none_knows_of_it(
    tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors and gradients are those of one pass; what is kept for the gradient is that of a piece."""
    import torch

    def learnt() -> tuple[Any, dict[str, Any], list[int]]:
        torch.manual_seed(0)
        tower = PassageTower(resolve("tiny"), lora=Lora(rank=4), device="cpu", max_length=32, dropout=0.0)
        sizes: list[int] = []
        transformer = next(iter(tower.model.children()))
        transformer.register_forward_hook(
            lambda _, given, __: sizes.append(given[0]["input_ids"].numel()), with_kwargs=False
        )
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in tower.parameters.values():
                parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.1)
        vectors = tower.vectors(["ba be", "bi bo bu da de", "di", "do du fa fe", "ba"])
        (vectors @ vectors.T).exp().sum().backward()  # type: ignore[no-untyped-call]  # not typed there
        return vectors.detach(), {name: p.grad for name, p in tower.parameters.items()}, sizes

    whole, gradients, (size,) = learnt()
    monkeypatch.setattr(tower_module, "WHOLE", 8)
    monkeypatch.setattr(tower_module, "PIECE", 12)
    vectors, again, sizes = learnt()
    assert torch.allclose(vectors, whole, atol=1e-6)
    assert all(torch.allclose(again[name], one, atol=1e-5) for name, one in gradients.items())
    assert max(sizes) <= 12 < size
    assert len(sizes) % 2 == 0  # every piece once more in the backward pass


def test_a_new_head_may_learn_faster_than_the_rest(tiny_home: Path, pairs: Pairs) -> None:
    import torch

    def moved(hastened: float) -> dict[str, float]:
        tower = MaskedTower(
            resolve("tiny"), lora=None, device="cpu", max_length=32, dropout=0.0, hastened=hastened
        )
        dense = tower.head.model.cls.predictions.transform.dense
        decoder = tower.head.get_output_embeddings()
        before = {"dense": dense.weight.detach().clone(), "bias": decoder.bias.detach().clone()}
        steps = torch.optim.AdamW(list(tower.parameters.values()), lr=1e-3, weight_decay=0.0)
        tower.surprise(*batch(tower, pairs(6)))[0].mean().backward()  # type: ignore[no-untyped-call]  # not typed there
        steps.step()
        after = {"dense": dense.weight, "bias": decoder.bias}
        return {name: float((after[name] - one).abs().median().detach()) for name, one in before.items()}

    # The first step of AdamW moves everything by the rate.
    assert moved(1.0)["dense"] == pytest.approx(1e-3, rel=0.01)
    assert moved(5.0) == pytest.approx({"dense": 5e-3, "bias": 1e-3}, rel=0.01)
    with_head(tiny_home)
    known = MaskedTower(resolve("bert"), lora=None, device="cpu", max_length=32, hastened=5.0)
    assert not any("parametrizations" in name for name in known.parameters)


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_to_read_hypotheses_off_premises(tiny_home: Path, pairs: Pairs, tuning: Any) -> None:
    config = replace(SETTINGS, tuning=tuning, epochs=8)
    events: list[Event] = []
    done = train_tuning(
        pairs(64), config, dev=pairs(16, seed=1), data=["squad"], out=tiny_home / "mine", watch=events.append
    )
    assert done.new_head
    assert done.fitted.best is not None
    assert done.fitted.best.score > done.fitted.evaluations[0].score + 0.1
    assert done.fitted.steps == 32
    assert done.counts["pairs"] == 64
    told = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert told["method"] == "tuning"
    assert told["trained_on"]["data"] == ["squad"]
    assert ("base" in told) == (tuning == "lora")
    card = (tiny_home / "mine" / "README.md").read_text(encoding="utf-8")
    assert "Entailment tuning" in card
    assert "SQuAD" in card
    files = {path.name for path in (tiny_home / "mine").rglob("*") if path.is_file()}
    assert not any("head" in name for name in files)
    vectors = load("mine").encode_queries(["ba be", "bo bu"])
    assert not np.allclose(vectors, load("tiny").encode_queries(["ba be", "bo bu"]), atol=1e-3)
    assert resolve("mine").symmetric
    assert json.dumps(done.to_json())


@pytest.mark.parametrize("prompt", ["full", "question", "plain"])
def test_every_variant_trains(tiny_home: Path, pairs: Pairs, prompt: Any) -> None:
    events: list[Event] = []
    done = train_tuning(pairs(20), replace(SETTINGS, prompt=prompt, epochs=1), watch=events.append)
    assert done.fitted.best is None
    steps = [event.terms for event in events if event.terms]
    hidden, tokens = (sum(one[name] for one in steps) for name in ("hidden", "tokens"))
    expected = {"full": 0.8 * 13 / 15, "question": 0.8 * 2 / 13, "plain": 0.15 * 13 / 15}[prompt]
    assert hidden / tokens == pytest.approx(expected, rel=0.35)


def test_a_batch_in_which_nothing_is_hidden_is_no_error(tiny_home: Path, pairs: Pairs) -> None:
    done = train_tuning(pairs(3), replace(SETTINGS, beta=1e-9, epochs=1))
    assert done.fitted.steps == 1


def test_a_stopped_training_goes_on_to_the_same_weights(tiny_home: Path, pairs: Pairs) -> None:
    some = pairs(40)
    config = replace(SETTINGS, epochs=2, dropout=0.1)
    train_tuning(some, config, out=tiny_home / "whole")
    asked = iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request after step 4"):
        train_tuning(some, config, out=tiny_home / "again", stop=lambda: next(asked) == 3)
    resumed = train_tuning(some, config, out=tiny_home / "again")
    assert resumed.fitted.resumed == 1
    weights = "adapter_model.safetensors"
    assert (tiny_home / "again" / weights).read_bytes() == (tiny_home / "whole" / weights).read_bytes()
    with pytest.raises(CheckpointError, match=r"config\.beta"):
        train_tuning(some, replace(config, beta=0.2), out=tiny_home / "again")


def test_a_base_without_a_masked_form_is_told_of(tiny_home: Path, pairs: Pairs) -> None:
    from transformers import AutoTokenizer, CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(
        vocab_size=60,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=32,
    )
    CLIPTextModel(config).save_pretrained(tiny_home / "clip")
    AutoTokenizer.from_pretrained(tiny_home / "tiny").save_pretrained(tiny_home / "clip")
    with pytest.raises(TrainingError, match=r"clip: expected a base .* pass .* such as minilm"):
        train_tuning(pairs(4), replace(SETTINGS, base="clip", tuning="full"))


def test_what_cannot_be_learnt_from_is_refused(tiny_home: Path, pairs: Pairs) -> None:
    long = EntailedPair("ba", " ".join(["be"] * 40), "be")
    with pytest.raises(TrainingError, match="found 1 pairs, none of which fits"):
        train_tuning([long], SETTINGS)
    with pytest.raises(TrainingError, match="something else"):
        train_tuning(pairs(4), SETTINGS, out=tiny_home / "tiny")
    done = train_tuning([long, *pairs(4)], replace(SETTINGS, warmup_steps=100, max_length=12, epochs=1))
    assert done.counts["too_long"] == 1
    assert done.counts["premises_cut"] == 4
    assert done.counts["premise_tokens_dropped"] == 4 * 3
    assert "it never falls" in done.warnings[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beta": 0.0}, "beta: expected more than 0"),
        ({"beta": 1.5}, "beta: expected more than 0 and at most 1"),
        ({"prompt": "claim"}, "prompt: expected one of hypothesis, full, question, plain"),
        ({"max_length": 4}, "max_length: expected at least 8"),
        ({"head_rate": 0.0}, "head_rate: expected more than 0"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm: expected more than 0"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        TuningConfig(**values)
