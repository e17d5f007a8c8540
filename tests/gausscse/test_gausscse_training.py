"""From entailment pairs to an encoder of Gaussians, taught by labels or by others, and every refusal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import nli_triplets
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.encoders.gaussian.form import HEAD
from entail.errors import CheckpointError, EncoderError, TrainingError
from entail.gausscse.config import PAPER, GausscseConfig
from entail.gausscse.losses import distillation_loss
from entail.gausscse.method import evaluate
from entail.gausscse.training import train_gausscse
from entail.gausscse.verdict import logits
from entail.hub.export import export_encoder
from entail.training.loop.task import Event
from entail.training.method import Run
from entail.training.nli_source import PairSource
from tests.gausscse.conftest import TRIPLETS, nli_pairs, nli_rows

SETTINGS = GausscseConfig(
    base="tiny", rank=4, epochs=6, batch_size=8, learning_rate=0.01, evaluate_every=4, precision="fp32"
)
SHORT = replace(SETTINGS, epochs=1)


def both_ways(name: str, pairs: list[NliPair]) -> tuple[Any, Any]:
    """Return the similarities of entailment pairs as they are, and turned around."""
    encoder, entailments = GaussianEncoder(name), [pair for pair in pairs if pair.label == "entailment"]
    premises, hypotheses = [p.premise for p in entailments], [p.hypothesis for p in entailments]
    return encoder.similarities(hypotheses, premises), encoder.similarities(premises, hypotheses)


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_which_sentence_entails_which(tiny_home: Path, tuning: Any) -> None:
    config = replace(SETTINGS, tuning=tuning, epochs=9, learning_rate=0.01 if tuning == "lora" else 0.003)
    run = Run(data=["snli"], out=tiny_home / "mine")
    training = train_gausscse(TRIPLETS, config, dev=nli_pairs(40, seed=1), run=run)
    untrained = training.fitted.evaluations[0]
    assert training.fitted.best is not None
    assert training.fitted.best.score > untrained.score
    assert [e.step for e in training.fitted.evaluations][:3] == [0, 4, 6]
    learnt = training.fitted.evaluations[-1].figures["direction"]
    assert learnt > untrained.figures["direction"] + 0.2
    forward, backward = both_ways("mine", nli_pairs(40, seed=2))
    assert np.mean(forward > backward) > 0.5 > untrained.figures["direction"]
    encoder, form = GaussianEncoder("mine"), training.further["gaussian"]
    assert (encoder.dimension, encoder.kind, encoder.threshold) == (16, "kl_mean", form["threshold"])
    assert form["direction"]["slope"] > 0 == form["direction"]["intercept"]
    record = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert (record["trained_on"]["data"], record["trained_on"]["triplets"]) == (["snli"], 48)


def test_what_was_saved_is_an_encoder_that_takes_any_text_here_and_in_sentence_transformers(
    tiny_home: Path, tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    train_gausscse(TRIPLETS, replace(SHORT, pooling="cls"), run=Run(out=tiny_home / "mine"))
    assert [is_gaussian(name) for name in ("mine", "tiny", "nothing-of-this-name")] == [True, False, False]
    entry = next(entry for entry in catalogue() if entry.name == "mine")
    assert (entry.problem, entry.method) == (None, "gausscse")
    assert (entry.dimension, entry.space_dimension) == (32, 16)
    with pytest.raises(EncoderError, match="expected an encoder of points, found one of Gaussians"):
        BiEncoder("mine").encode_queries(["ba"])
    encoder = GaussianEncoder("mine")
    texts = ["", " ", "ba", "x" * 500, "ba " * 10_000, "\x00", "\u202eba", "🦕", "\ud800", "ba\udc00"]
    gaussians = encoder.encode(texts)
    assert (len(gaussians), gaussians.revision) == (len(texts), encoder.revision)
    assert np.isfinite(gaussians.mean).all()
    assert np.abs(gaussians.log_variance).max() <= LOG_VARIANCE_LIMIT
    assert encoder.cut(texts) == [text.startswith("ba ba") for text in texts]
    assert len(encoder.encode([])) == 0
    assert encoder.similarities(["ba be"], ["ba be"])[0] == 1.0
    with pytest.raises(EncoderError, match="expected pairs"):
        encoder.similarities(["ba"], [])

    exported = export_encoder("mine", tmp_path / "whole")
    stock_vectors = SentenceTransformer(str(exported.folder), device="cpu").encode(["ba be bi", "fo fu"])
    again = GaussianEncoder(exported.folder)
    assert again.entry.base is None
    assert stock_vectors.shape == (2, 32)
    for vectors in (stock_vectors, again.encode(["ba be bi", "fo fu"]).values):
        assert np.allclose(encoder.encode(["ba be bi", "fo fu"]).values, vectors, atol=1e-4)


SMALL_PAPER = replace(PAPER, base="tiny", batch_size=8, epochs=1, precision="fp32")


@pytest.mark.parametrize("config", [replace(SHORT, sets="ent"), SMALL_PAPER])
def test_settings_other_than_the_recipe_train(tiny_home: Path, config: GausscseConfig) -> None:
    done = train_gausscse(TRIPLETS, config)
    assert (done.fitted.steps, done.fitted.best, done.folder) == (6, None, None)
    assert done.further["gaussian"]["threshold"] is None


def test_bad_data_is_refused(tiny_home: Path) -> None:
    pairs = nli_pairs(4)
    entailed = [pair for pair in pairs if pair.label == "entailment"]
    with pytest.raises(TrainingError, match="at least 2, found 0"):
        train_gausscse(nli_triplets([]), SETTINGS)
    with pytest.raises(TrainingError, match="expected contradictions of some premises"):
        train_gausscse(nli_triplets(entailed), SETTINGS)
    non_entailments = [pair for pair in pairs if pair.label != "entailment"]
    with pytest.raises(TrainingError, match="expected entailments among the dev pairs"):
        train_gausscse(nli_triplets(pairs), SETTINGS, dev=non_entailments)


def test_a_damaged_encoder_is_refused(gaussian: str, tiny_home: Path) -> None:
    file = tiny_home / gaussian / "entail.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    for values, message in (
        ({"similarity": "cosine"}, "similarity"),
        ({"threshold": "high"}, "threshold"),
        ({"direction": {"slope": 1}}, "gaussian"),
    ):
        changed = {**record, "gaussian": {**record["gaussian"], **values}}
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(EncoderError, match=message):
            resolve(gaussian)
    file.write_text(json.dumps(record), encoding="utf-8")
    (tiny_home / gaussian / HEAD / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match=r"with head/model.safetensors"):
        resolve(gaussian)


def test_the_loss_is_of_all_pairs_of_labelled_ones_and_of_their_margins() -> None:
    taught = torch.tensor([[9.0, 1.0, 2.0], [0.0, 9.0, -1.0], [1.0, 1.0, 9.0]])
    apart = torch.tensor([[5.0, 0.0, 0.5], [2.0, 5.0, 0.0], [0.0, -1.0, 5.0]])
    premise, hypothesis = torch.tensor([0]), torch.tensor([1])
    loss = distillation_loss((taught + apart).sigmoid(), taught.sigmoid(), premise, hypothesis)
    everything = (0.5**2 + 2**2 + 1**2) / 6
    assert loss.item() == pytest.approx(everything + 2**2 + 0 + 2**2, rel=1e-4)


def test_a_student_takes_over_the_directions_of_its_teachers_alone(tiny_home: Path) -> None:
    """Its checkpoint is bound to them."""
    for seed, name in enumerate(("one", "two")):
        train_gausscse(TRIPLETS, replace(SETTINGS, seed=seed, direction=1.0), run=Run(out=tiny_home / name))
    events: list[Event] = []
    config = replace(SHORT, epochs=9, seed=7, teachers="one,two", distillation=1.0)
    train_gausscse(TRIPLETS, config, run=Run(out=tiny_home / "student", watch=events.append))
    distances = [event.terms["taught"] for event in events if "taught" in event.terms]
    assert np.mean(distances[-4:]) < np.mean(distances[:4]) / 2
    margins = {}
    for name in ("one", "two", "student"):
        forward, backward = both_ways(name, nli_pairs(40, seed=2))
        margins[name] = logits(forward) - logits(backward)
    assert np.corrcoef(margins["student"], (margins["one"] + margins["two"]) / 2)[0, 1] > 0.5

    config, calls = replace(SHORT, teachers="one"), iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request"):
        train_gausscse(TRIPLETS, config, run=Run(out=tiny_home / "third", stop=lambda: next(calls) == 4))
    (tiny_home / "one").rename(tiny_home / "before")
    (tiny_home / "two").rename(tiny_home / "one")
    with pytest.raises(CheckpointError, match="teachers"):
        train_gausscse(TRIPLETS, config, run=Run(out=tiny_home / "third"))


@pytest.mark.parametrize(
    ("names", "error"),
    [("nobody", EncoderError), ("tiny", EncoderError), (" , ", TrainingError), ("stock", TrainingError)],
)
def test_teachers_that_cannot_be(gaussian: str, names: str, error: type[Exception]) -> None:
    names = gaussian if names == "stock" else names  # of another similarity
    with pytest.raises(error):
        train_gausscse(TRIPLETS, replace(SHORT, teachers=names, similarity="kl_per_dim"))


def test_from_the_command_line(tiny_home: Path, tmp_path: Path, run_json: Any) -> None:
    files = [tmp_path / f"{name}.jsonl" for name in ("train", "more", "dev")]
    for seed, file in enumerate(files):
        file.write_text("\n".join(map(json.dumps, nli_rows(20, seed=seed))), encoding="utf-8")
    train, more, dev = map(str, files)
    small = ["--base", "tiny", "--epochs", "1", "--set", "rank=2", "--out", str(tiny_home / "mine")]
    report = run_json("train", "gausscse", "--pairs", train, "--pairs", more, "--dev", dev, *small)
    assert report["counts"]["triplets"] == 40
    figures = run_json("evaluate", "nli", "--data", dev, "--encoder", "mine")
    assert (figures["n"], figures["threshold"]) == (60, GaussianEncoder("mine").threshold)
    assert figures["threshold"] is not None
    source = PairSource(pairs=(files[0],), dev=files[2])
    assert evaluate("tiny", source.read(), None) is None, "points have no direction"
