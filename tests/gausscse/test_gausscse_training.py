"""From entailment pairs to an encoder of Gaussians on disk, and every way it can be refused."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets, nli_triplets
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.encoders.gaussian.form import HEAD
from entail.errors import EncoderError, TrainingError
from entail.gausscse.config import PAPER, GausscseConfig
from entail.gausscse.training import train_gausscse
from entail.hub.export import export_encoder
from entail.training.loop.task import Event
from entail.training.method import Run
from entail.training.run import Training

Pairs = Callable[..., list[NliPair]]

SETTINGS = GausscseConfig(
    base="tiny",
    rank=4,
    epochs=6,
    batch_size=8,
    learning_rate=0.01,
    evaluate_every=4,
    precision="fp32",
)


def direction(encoder: GaussianEncoder, pairs: list[NliPair]) -> float:
    entailments = [pair for pair in pairs if pair.label == "entailment"]
    premises, hypotheses = [p.premise for p in entailments], [p.hypothesis for p in entailments]
    forward = encoder.similarities(hypotheses, premises)
    return float(np.mean(forward > encoder.similarities(premises, hypotheses)))


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_which_sentence_entails_which(
    tiny_home: Path, triplets: NliTriplets, nli_pairs: Pairs, tuning: Any
) -> None:
    dev, unseen = nli_pairs(40, seed=1), nli_pairs(40, seed=2)
    config = replace(SETTINGS, tuning=tuning, epochs=9, learning_rate=0.01 if tuning == "lora" else 0.003)
    events: list[Event] = []
    training = train_gausscse(
        triplets, config, dev=dev, run=Run(data=["snli"], out=tiny_home / "mine", watch=events.append)
    )
    untrained = training.fitted.evaluations[0]
    assert training.fitted.best is not None
    assert training.fitted.best.score > untrained.score
    assert [e.step for e in training.fitted.evaluations][:3] == [0, 4, 6]
    encoder = GaussianEncoder("mine")
    learnt = training.fitted.evaluations[-1].figures["direction"]
    assert learnt > untrained.figures["direction"] + 0.2
    assert direction(encoder, unseen) > 0.5 > untrained.figures["direction"]
    assert encoder.dimension == 16
    assert encoder.kind == "kl_mean"
    form = training.further["gaussian"]
    assert encoder.threshold == form["threshold"]
    assert form["direction"]["slope"] > 0
    assert form["direction"]["intercept"] == 0
    record = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert record["trained_on"]["data"] == ["snli"]
    assert record["trained_on"]["triplets"] == 48
    assert events[-1].evaluated is not None
    assert json.dumps(training.to_json())


@pytest.fixture
def trained(tiny_home: Path, triplets: NliTriplets) -> Training[GausscseConfig]:
    return train_gausscse(triplets, replace(SETTINGS, epochs=1), run=Run(out=tiny_home / "mine"))


def test_what_was_saved_is_an_encoder_among_the_others(
    tiny_home: Path, trained: Training[GausscseConfig]
) -> None:
    assert is_gaussian("mine")
    assert not is_gaussian("tiny")
    assert not is_gaussian("nothing-of-this-name")
    entry = next(entry for entry in catalogue() if entry.name == "mine")
    assert entry.problem is None
    assert (entry.dimension, entry.space_dimension) == (32, 16)
    assert entry.method == "gausscse"
    assert (tiny_home / "mine" / "README.md").is_file()
    with pytest.raises(EncoderError, match="expected an encoder of points, found one of Gaussians"):
        BiEncoder("mine").encode_queries(["ba"])
    with pytest.raises(EncoderError, match="expected an encoder of Gaussians, found one of points"):
        GaussianEncoder("tiny")


def test_any_text_has_a_gaussian(tiny_home: Path, trained: Training[GausscseConfig]) -> None:
    encoder = GaussianEncoder("mine")
    texts = ["", " ", "ba", "x" * 500, "ba " * 10_000, "\x00", "\u202eba", "🦕", "\ud800", "ba\udc00"]
    gaussians = encoder.encode(texts)
    assert len(gaussians) == len(texts)
    assert gaussians.revision == encoder.revision
    assert np.isfinite(gaussians.mean).all()
    assert np.abs(gaussians.log_variance).max() <= LOG_VARIANCE_LIMIT
    assert encoder.cut(texts) == [text.startswith("ba ba") for text in texts]
    assert len(encoder.encode([])) == 0
    same = encoder.similarities(["ba be"], ["ba be"])
    assert same[0] == 1.0
    with pytest.raises(EncoderError, match="expected pairs"):
        encoder.similarities(["ba"], [])


def test_the_stock_model_makes_the_same_numbers(
    tiny_home: Path, tmp_path: Path, triplets: NliTriplets
) -> None:
    from sentence_transformers import SentenceTransformer

    train_gausscse(triplets, replace(SETTINGS, epochs=1, pooling="cls"), run=Run(out=tiny_home / "mine"))
    exported = export_encoder("mine", tmp_path / "whole")
    plain = SentenceTransformer(str(exported.folder), device="cpu")
    texts = ["ba be bi", "fo fu"]
    gaussians = GaussianEncoder("mine").encode(texts)
    stock_vectors = plain.encode(texts)
    assert stock_vectors.shape == (2, 32)
    assert np.allclose(gaussians.values, stock_vectors, atol=1e-4)
    again = GaussianEncoder(exported.folder)
    assert np.allclose(again.encode(texts).values, gaussians.values, atol=1e-4)
    assert again.entry.base is None


SMALL_PAPER = replace(PAPER, base="tiny", batch_size=8, epochs=1, precision="fp32")


@pytest.mark.parametrize("config", [replace(SETTINGS, sets="ent", epochs=1), SMALL_PAPER])
def test_settings_other_than_the_recipe_train(
    tiny_home: Path, triplets: NliTriplets, config: GausscseConfig
) -> None:
    done = train_gausscse(triplets, config)
    assert done.fitted.steps == 6
    assert done.fitted.best is None
    assert done.further["gaussian"]["threshold"] is None
    assert done.folder is None


def test_bad_data_is_refused(tiny_home: Path, nli_pairs: Pairs) -> None:
    pairs = nli_pairs(4)
    entailed = [pair for pair in pairs if pair.label == "entailment"]
    with pytest.raises(TrainingError, match="at least 2, found 0"):
        train_gausscse(nli_triplets([]), SETTINGS)
    with pytest.raises(TrainingError, match="expected contradictions of some premises"):
        train_gausscse(nli_triplets(entailed), SETTINGS)
    non_entailments = [pair for pair in pairs if pair.label != "entailment"]
    with pytest.raises(TrainingError, match="expected entailments among the dev pairs"):
        train_gausscse(nli_triplets(pairs), SETTINGS, dev=non_entailments)
    with pytest.raises(TrainingError, match="something else"):
        train_gausscse(nli_triplets(pairs), SETTINGS, run=Run(out=tiny_home / "tiny"))


def test_the_defaults_are_the_recipe_of_the_packaged_model() -> None:
    models = Path(__file__).parents[2] / "models"
    record = json.loads((models / "gausscse-minilm" / "entail.json").read_text(encoding="utf-8"))["config"]
    differing = {name for name, value in asdict(GausscseConfig()).items() if value != record[name]}
    assert differing <= {"teachers", "seed"}


def test_a_damaged_encoder_is_refused(tiny_home: Path, trained: Training[GausscseConfig]) -> None:
    file = tiny_home / "mine" / "entail.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    for values, message in (
        ({"similarity": "cosine"}, "similarity"),
        ({"threshold": "high"}, "threshold"),
        ({"direction": {"slope": 1}}, "gaussian"),
    ):
        changed = {**record, "gaussian": {**record["gaussian"], **values}}
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(EncoderError, match=message):
            resolve("mine")
    file.write_text(json.dumps(record), encoding="utf-8")
    (tiny_home / "mine" / HEAD / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match=r"with head/model.safetensors"):
        resolve("mine")
