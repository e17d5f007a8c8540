"""First stage beyond the paper: growing mask, head first, kept vectors, bottleneck, gain of the premise."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from entail.encoders.catalogue import resolve
from entail.encoders.encoder import load
from entail.errors import TrainingError
from entail.training.loop.task import Event
from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.masking import Prompts
from entail.tuning.task import MaskedTask
from entail.tuning.tower import MaskedTower
from entail.tuning.training import train_tuning

Pairs = Callable[..., list[EntailedPair]]

CONFIG = TuningConfig(
    base="tiny",
    tuning="full",
    max_length=32,
    learning_rate=0.01,
    warmup_steps=2,
    precision="fp32",
    dropout=0.0,
    epochs=4,
    batch_size=16,
)
WEIGHTS = "model.safetensors"


def masked_task(config: TuningConfig, pairs: list[EntailedPair]) -> MaskedTask:
    tower = MaskedTower(
        resolve("tiny"), lora=None, device="cpu", max_length=32, dropout=0.0, bottleneck=config.bottleneck > 0
    )
    form = Prompts(tower.tokenizer, variant=config.prompt, max_length=32, name="tiny")
    prompts = form.of(pairs)
    return MaskedTask(config, form, prompts, tower, dev=prompts)


def test_the_mask_grows_after_two_fifths_of_the_steps(tiny_home: Path, pairs: Pairs) -> None:
    task = masked_task(replace(CONFIG, first_beta=1e-9, beta=1.0, epochs=10), pairs(64))  # 40 steps
    tokens = 16 * 3
    hidden = [task.loss(batch)[1]["hidden"] for epoch in range(10) for batch in task.batches(epoch)]
    assert hidden[:17] == [0] * 17
    assert 0 < np.mean(hidden[20:26]) < np.mean(hidden[26:34]) < np.mean(hidden[34:]) <= tokens
    assert hidden[-1] > 0.8 * tokens


def test_the_head_learns_alone_at_first(tiny_home: Path, pairs: Pairs) -> None:
    config = replace(CONFIG, epochs=1, head_steps=4, weight_decay=0.0)
    train_tuning(pairs(64), config, out=tiny_home / "head")  # 4 steps: none is left for the encoder
    words = ["ba be", "bo bu"]
    assert np.allclose(load("head").encode_queries(words), load("tiny").encode_queries(words), atol=1e-6)
    train_tuning(pairs(64), replace(config, head_steps=3), out=tiny_home / "both")
    assert not np.allclose(load("both").encode_queries(words), load("tiny").encode_queries(words), atol=1e-4)


def test_a_training_goes_on_in_the_middle_of_the_head_steps(tiny_home: Path, pairs: Pairs) -> None:
    config = replace(CONFIG, epochs=2, head_steps=5, first_beta=0.2, bottleneck=0.5, keep=2.0)
    train_tuning(pairs(64), config, out=tiny_home / "whole")
    calls = iter(range(100))
    with pytest.raises(TrainingError, match="after step 3"):
        train_tuning(pairs(64), config, out=tiny_home / "again", stop=lambda: next(calls) == 2)
    assert train_tuning(pairs(64), config, out=tiny_home / "again").fitted.resumed == 1
    assert (tiny_home / "again" / WEIGHTS).read_bytes() == (tiny_home / "whole" / WEIGHTS).read_bytes()


def test_the_decoder_sees_nothing_of_the_passage_but_its_vector(tiny_home: Path, pairs: Pairs) -> None:
    config = replace(CONFIG, bottleneck=1.0, beta=1.0)
    task = masked_task(config, pairs(6))
    decoder_inputs: list[Any] = []
    task.tower.decoder.register_forward_pre_hook(lambda _, inputs: decoder_inputs.extend(inputs))
    (batch,) = task.batches(0)
    loss, _ = task.loss(batch)
    vectors, ids, attended = decoder_inputs
    # Three tokens of the claim, all of them masked, and a vector of each passage.
    assert ids.tolist() == [[task.form.mask_id] * 3] * 6
    assert attended.all()
    expected = task.tower.vectors([task.prompts[row].pair.premise for row in batch])
    assert torch.allclose(vectors, expected, atol=1e-6)
    (gradient,) = torch.autograd.grad(loss, vectors)
    assert (gradient.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_a_vector_learns_what_its_passage_entails(tiny_home: Path, pairs: Pairs, tuning: Any) -> None:
    config = replace(CONFIG, tuning=tuning, bottleneck=1.0, beta=1.0, epochs=30, dev_pairs=0)
    done = train_tuning(pairs(64), config, dev=pairs(64), out=tiny_home / "mine")
    before, *_, after = done.fitted.evaluations
    assert before.figures["premise_gain"] < 0.05
    assert after.figures["premise_gain"] > 0.3
    assert not any("decoder" in path.name for path in (tiny_home / "mine").rglob("*"))


def test_the_bottleneck_is_a_share_of_the_loss(tiny_home: Path, pairs: Pairs) -> None:
    def loss(share: float) -> float:
        task = masked_task(replace(CONFIG, bottleneck=share), pairs(6))
        (batch,) = task.batches(0)
        return float(task.loss(batch)[0].detach())

    visible_loss, bottleneck_loss = loss(0.0), loss(1.0)
    assert visible_loss != pytest.approx(bottleneck_loss, abs=1e-3)
    assert loss(0.25) == pytest.approx(0.75 * visible_loss + 0.25 * bottleneck_loss, abs=1e-5)


def test_the_gain_is_that_of_the_own_premise(tiny_home: Path, pairs: Pairs) -> None:
    task = masked_task(CONFIG, pairs(8))
    evaluation = task.evaluate()
    assert evaluation is not None
    # By hand: the same masks, another premise of the same length.
    losses = []
    for shift in (0, 4):
        rows = []
        for at, prompt in enumerate(task.prompts):
            other = task.prompts[(at + shift) % 8]
            ids = np.concatenate([other.ids[: prompt.first], prompt.ids[prompt.first :]])
            draw = np.random.default_rng((0, at))
            rows.append(task.form.mask(replace(prompt, ids=ids), beta=0.8, draw=draw))
        parts = (torch.from_numpy(part) for part in task.form.pad(rows))
        with task.tower.inference():
            losses.append(float(task.tower.token_losses(*parts)[0].mean()))
    assert evaluation[1]["loss"] == pytest.approx(losses[0], abs=1e-5)
    assert evaluation[1]["premise_gain"] == pytest.approx(losses[1] - losses[0], abs=1e-5)


def test_a_premise_that_is_masked_itself_has_no_gain(tiny_home: Path, pairs: Pairs) -> None:
    evaluation = masked_task(replace(CONFIG, prompt="plain"), pairs(40)).evaluate()
    assert evaluation is not None
    assert set(evaluation[1]) == {"loss", "accuracy"}


def test_kept_vectors_stay_nearer_to_the_base(tiny_home: Path, pairs: Pairs) -> None:
    texts = [pair.premise for pair in pairs(64)]
    base = load("tiny").encode_queries(texts)
    cosines = {}
    for keep in (0.0, 50.0):
        events: list[Event] = []
        name = f"keep{keep:g}"
        train_tuning(pairs(64), replace(CONFIG, keep=keep), out=tiny_home / name, watch=events.append)
        assert any("distil" in event.terms for event in events) == bool(keep)
        cosines[keep] = float((load(name).encode_queries(texts) * base).sum(axis=1).mean())
    assert cosines[50.0] > cosines[0.0] + 0.01


@pytest.mark.parametrize("prompt", ["full", "plain"])
def test_a_bottleneck_needs_a_claim(prompt: Any) -> None:
    with pytest.raises(TrainingError, match="bottleneck"):
        TuningConfig(prompt=prompt, bottleneck=0.5)


def test_the_program_measures_each_arm_once(
    tiny_home: Path,
    tmp_path: Path,
    squad: dict[str, Path],
    load_script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program: Any = load_script("measure_first_stage")
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    small: dict[str, Any] = {"batch_size": 8, "max_length": 32, "precision": "fp32"}
    first = replace(program.FIRST, **small, head_steps=1, evaluate_every=0, warmup_steps=1)
    monkeypatch.setattr(program, "FIRST", first)
    monkeypatch.setattr(program, "CONTRAST", replace(program.CONTRAST, **small, epochs=1))
    arguments = ["measure_first_stage.py", "--train", str(squad["train"]), "--dev", str(squad["dev"])]
    arguments += ["--nli", str(squad["nli"]), "--claims", "20", "--nli-pairs", "2"]
    arguments += ["--work", str(tmp_path / "work"), "--base", "tiny", "--towers", "dual"]
    arguments += ["--arms", "none", "templates", "both", "dot", "--questions", "0", "12"]
    for _ in range(2):
        monkeypatch.setattr("sys.argv", arguments)
        program.main()
    figures = json.loads((tmp_path / "first_stage.json").read_text(encoding="utf-8"))["figures"]
    assert [stage["arm"] for stage in figures["stages"]] == ["templates", "both"]
    assert [(row["arm"], row["questions"]) for row in figures["rows"]] == [
        *((arm, count) for arm in ("none", "templates", "both") for count in (0, 12)),
        ("dot", 12),
    ]
    assert figures["rows"][-1]["config"]["similarity"] == "dot"
    for row in figures["rows"]:
        hits = load_script("first_stage_arms").hits(row)[:12]
        assert hits.mean() == pytest.approx(row["gold"]["R@1"])
        assert np.mean(list(row["thirds"].values())) == pytest.approx(row["gold"]["R@1"])
    untouched = figures["rows"][0]
    assert untouched["revision"] == resolve("tiny").revision
    page = (tmp_path / "first_stage.md").read_text(encoding="utf-8")
    assert page.count("| six plain templates for claims |") == 3
    monkeypatch.setattr("sys.argv", [*arguments, "--towers", "siamese"])
    with pytest.raises(SystemExit, match="towers"):
        program.main()


def test_seeds_of_an_arm_share_a_row_in_any_order(load_script: Callable[[str], ModuleType]) -> None:
    program = load_script("measure_first_stage")
    result = json.loads((program.RESULTS / "first_stage.json").read_text(encoding="utf-8"))
    counts = Counter((run["questions"], run["arm"]) for run in result["figures"]["rows"])
    for part in ("stages", "rows"):  # as they come where each seed runs all arms
        result["figures"][part].sort(key=lambda run: run["seed"])
    lines = [line.split(" | ") for line in program.markdown(result) if line.startswith("| ")]
    seed_counts = {
        (row[0], row[1]): row[2] for row in lines if row[0].removeprefix("| ").replace(",", "").isdecimal()
    }
    assert seed_counts == {
        (f"| {questions:,}", program.ARMS[arm].title): str(count)
        for (questions, arm), count in counts.items()
    }
    assert sum(row[0] == f"| {program.ARMS['hypothesis'].title}" for row in lines) == 1
