"""From entailment pairs to an encoder of Gaussians, taught by labels or by others, and every refusal."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.cli import main
from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets, nli_triplets
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.encoders.gaussian.form import HEAD
from entail.errors import CheckpointError, EncoderError, TrainingError
from entail.gausscse.config import PAPER, GausscseConfig
from entail.gausscse.losses import distillation_loss
from entail.gausscse.method import evaluate, preview
from entail.gausscse.training import train_gausscse
from entail.gausscse.verdict import logits
from entail.hub.export import export_encoder
from entail.training.loop.task import Event
from entail.training.method import Run, method
from entail.training.nli_source import PairSource
from entail.training.run import Training

Pairs = Callable[..., list[NliPair]]

SETTINGS = GausscseConfig(
    base="tiny", rank=4, epochs=6, batch_size=8, learning_rate=0.01, evaluate_every=4, precision="fp32"
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


def test_what_was_saved_is_an_encoder_that_takes_any_text(
    tiny_home: Path, trained: Training[GausscseConfig]
) -> None:
    assert [is_gaussian(name) for name in ("mine", "tiny", "nothing-of-this-name")] == [True, False, False]
    entry = next(entry for entry in catalogue() if entry.name == "mine")
    assert (entry.problem, entry.method) == (None, "gausscse")
    assert (entry.dimension, entry.space_dimension) == (32, 16)
    with pytest.raises(EncoderError, match="expected an encoder of points, found one of Gaussians"):
        BiEncoder("mine").encode_queries(["ba"])
    with pytest.raises(EncoderError, match="expected an encoder of Gaussians, found one of points"):
        GaussianEncoder("tiny")
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
    defaults = asdict(GausscseConfig()).items()
    chosen_later = (None, "auto")  # the rate by what is tuned, the precision by the machine
    differing = {name for name, value in defaults if value not in (record[name], *chosen_later)}
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


SHORT = replace(SETTINGS, epochs=1)


@pytest.fixture
def taught(tiny_home: Path, triplets: NliTriplets) -> Path:
    """Return the home of two trained encoders, `one` and `two`."""
    for seed, name in enumerate(("one", "two")):
        config = replace(SETTINGS, seed=seed, direction=1.0)
        train_gausscse(triplets, config, run=Run(out=tiny_home / name))
    return tiny_home


def test_the_loss_is_of_all_pairs_of_labelled_ones_and_of_their_margins() -> None:
    taught = torch.tensor([[9.0, 1.0, 2.0], [0.0, 9.0, -1.0], [1.0, 1.0, 9.0]])
    apart = torch.tensor([[5.0, 0.0, 0.5], [2.0, 5.0, 0.0], [0.0, -1.0, 5.0]])
    premise, hypothesis = torch.tensor([0]), torch.tensor([1])
    loss = distillation_loss((taught + apart).sigmoid(), taught.sigmoid(), premise, hypothesis)
    everything = (0.5**2 + 2**2 + 1**2) / 6
    assert loss.item() == pytest.approx(everything + 2**2 + 0 + 2**2, rel=1e-4)


def test_a_student_of_teachers_alone_takes_over_their_directions(
    taught: Path, triplets: NliTriplets, nli_pairs: Callable[..., list[NliPair]]
) -> None:
    events: list[Event] = []
    config = replace(SHORT, epochs=9, seed=7, teachers="one,two", distillation=1.0)
    train_gausscse(triplets, config, run=Run(out=taught / "student", watch=events.append))
    distances = [event.terms["taught"] for event in events if "taught" in event.terms]
    assert np.mean(distances[-4:]) < np.mean(distances[:4]) / 2
    unseen = [pair for pair in nli_pairs(40, seed=2) if pair.label == "entailment"]
    premises, hypotheses = [p.premise for p in unseen], [p.hypothesis for p in unseen]

    def margins(name: str) -> np.ndarray:
        encoder = GaussianEncoder(name)
        return logits(encoder.similarities(hypotheses, premises)) - logits(
            encoder.similarities(premises, hypotheses)
        )

    teachers = (margins("one") + margins("two")) / 2
    assert np.corrcoef(margins("student"), teachers)[0, 1] > 0.5


def test_a_checkpoint_is_bound_to_its_teachers(taught: Path, triplets: NliTriplets) -> None:
    config = replace(SHORT, teachers="one")
    calls = iter(range(100))
    with pytest.raises(TrainingError, match="stopped on request"):
        train_gausscse(triplets, config, run=Run(out=taught / "student", stop=lambda: next(calls) == 4))
    train_gausscse(triplets, replace(SHORT, seed=5), run=Run(out=taught / "third"))
    (taught / "one").rename(taught / "before")
    (taught / "third").rename(taught / "one")
    with pytest.raises(CheckpointError, match="teachers"):
        train_gausscse(triplets, config, run=Run(out=taught / "student"))


@pytest.mark.parametrize(
    ("names", "error"),
    [("nobody", EncoderError), ("tiny", EncoderError), (" , ", TrainingError), ("stock", TrainingError)],
)
def test_teachers_that_cannot_be(
    gaussian: str, triplets: NliTriplets, names: str, error: type[Exception]
) -> None:
    names = gaussian if names == "stock" else names  # of another similarity
    with pytest.raises(error):
        train_gausscse(triplets, replace(SHORT, teachers=names, similarity="kl_per_dim"))


Pairs = Callable[..., list[NliPair]]


@pytest.fixture
def files(tmp_path: Path, nli_pairs: Pairs) -> dict[str, Path]:
    paths = {}
    for number, name in enumerate(("train", "more", "dev")):
        rows = [
            {"sentence1": p.premise, "sentence2": p.hypothesis, "gold_label": p.label}
            for p in nli_pairs(20, seed=number)
        ]
        rows.append({"sentence1": "ba be", "sentence2": "ba", "gold_label": "-"})
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return paths


def test_trained_and_told_from_the_command_line(
    tiny_home: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--pairs", str(files["train"]), "--pairs", str(files["more"])]
    arguments += ["--dev", str(files["dev"])]
    small = ["--base", "tiny", "--epochs", "1", "--set", "rank=2", "--set", "evaluate_every=2"]
    out = tiny_home / "mine"
    assert main(["train", "gausscse", *arguments, *small, "--out", str(out)]) == 0
    assert "40 triplets" in capsys.readouterr().out
    evaluation = ["evaluate", "nli", "--data", str(files["dev"]), "--encoder", "mine", "--json"]
    assert main([*evaluation, "--direction"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert 0 <= figures["accuracy"] <= 1
    assert (figures["n"], figures["length_baseline"]) == (20, 1)
    assert main(evaluation) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["threshold"] == GaussianEncoder("mine").threshold is not None
    assert figures["n"] == 60


def test_what_would_be_trained_on_is_shown_first(tiny_home: Path, files: dict[str, Path]) -> None:
    how = method("gausscse")
    source = PairSource(pairs=(files["train"],), dev=files["dev"])
    data_preview = preview(source.read(), how.make_config({}))
    counts = {"triplets": 20, "premises": 20, "with a contradiction": 20, "dev pairs": 60}
    assert data_preview.counts == counts
    assert data_preview.left_out == {"rows with another label or that cannot be read": 1}
    assert len(data_preview.rows) == 20
    assert str(source) == "train.jsonl"
    assert evaluate("tiny", source.read(), None) is None, "points have no direction"
