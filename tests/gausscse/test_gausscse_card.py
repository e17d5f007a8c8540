"""Figures on pairs of sentences: from result files to the card, those of these weights and no others."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from entail.cli import main
from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.gausscse.config import GausscseConfig
from entail.gausscse.training import train_gausscse
from entail.training.cards.metadata import update_facts
from entail.training.cards.metrics import PairMetrics
from entail.training.cards.result_files import Weights, read_metrics
from entail.training.cards.template import model_card
from entail.training.method import Run

Pairs = Callable[..., list[NliPair]]
CONFIG = GausscseConfig(base="tiny", rank=4, epochs=1, batch_size=8, learning_rate=0.01, precision="fp32")


@pytest.fixture
def results(tiny_home: Path, triplets: NliTriplets, nli_pairs: Pairs, tmp_path: Path) -> list[Path]:
    """Result files of `mine`, as the command line writes them."""
    dev = nli_pairs(30, seed=1)
    train_gausscse(triplets, CONFIG, dev=dev, run=Run(data=["snli"], out=tiny_home / "mine"))
    file = tmp_path / "pairs.csv"
    with file.open("w", newline="", encoding="utf-8") as rows:
        table = csv.writer(rows)
        table.writerow(["premise", "hypothesis", "label"])
        table.writerows([pair.premise, pair.hypothesis, pair.label] for pair in dev)
    out = [tmp_path / "said_nli.json", tmp_path / "said_direction.json"]
    for question, path in zip(((), ("--direction",)), out, strict=True):
        options = [*question, "--data", str(file), "--encoder", "mine", "--out", str(path)]
        assert main(["evaluate", "nli", *options]) == 0
    return out


def test_what_was_measured_stands_on_the_card(results: list[Path], tiny_home: Path) -> None:
    nli, direction = (json.loads(file.read_text(encoding="utf-8")) for file in results)
    metrics = read_metrics(results[1], Weights(revision=resolve("mine").revision))
    assert isinstance(metrics, PairMetrics)
    assert PairMetrics.from_json(json.loads(json.dumps(metrics.to_json()))) == metrics
    (pair_result,) = metrics.sets
    assert (pair_result.data, pair_result.question, pair_result.n) == (
        "pairs.csv",
        "direction",
        direction["figures"]["n"],
    )
    update_facts(tiny_home / "mine", results=results)
    card = model_card(tiny_home / "mine")
    assert f"| pairs.csv | 90 | {nli['figures']['accuracy']:.3f} |" in card
    assert f"| {nli['figures']['auprc']:.3f} | 0.667 |" in card
    assert f"| pairs.csv | 30 | {direction['figures']['accuracy']:.3f} |" in card
    assert f"commit `{nli['commit']}`" in card
    update_facts(tiny_home / "mine", results=results[:1])  # again: it replaces what it said before
    assert model_card(tiny_home / "mine") == card


def test_a_file_of_many_weights_gives_the_figures_of_these(results: list[Path], tiny_home: Path) -> None:
    nli, direction = (json.loads(file.read_text(encoding="utf-8")) for file in results)
    for result in (nli, direction):
        del result["figures"]["data"]
    other = {**nli["figures"], "revision": "mine@0123456789ab", "accuracy": 0.111}
    nested = {
        "rows": {
            "one": {"0": {"on": {"snli-dev": {"nli": other}}}},
            "two": {"0": {"on": {"snli-dev": {"nli": nli["figures"], "direction": direction["figures"]}}}},
        }
    }
    results[0].write_text(json.dumps({**nli, "figures": nested}), encoding="utf-8")
    metrics = read_metrics(results[0], Weights(revision=resolve("mine").revision))
    assert isinstance(metrics, PairMetrics)
    assert [(pair_result.data, pair_result.question) for pair_result in metrics.sets] == [
        ("snli-dev", "nli"),
        ("snli-dev", "direction"),
    ]
    assert metrics.sets[0].accuracy == nli["figures"]["accuracy"]


def test_a_recipe_is_judged_by_all_its_seeds_and_named_where_it_was_chosen(
    results: list[Path], tiny_home: Path
) -> None:
    result = json.loads(results[1].read_text(encoding="utf-8"))
    own_figures = {name: value for name, value in result["figures"].items() if name != "data"}
    own_figures["accuracy"] = 0.75
    other_figures = [
        {**own_figures, "revision": f"mine@{seed}", "accuracy": accuracy}
        for seed, accuracy in ((1, 0.25), (2, 0.5))
    ]
    runs = {
        str(seed): {"on": {name: {"direction": seed_figures} for name in ("chosen", "other")}}
        for seed, seed_figures in enumerate([own_figures, *other_figures])
    }
    mean = {"on": {"chosen": {"direction": {**own_figures, "revision": "mine@3", "accuracy": 1.0}}}}
    read = {"dev": "a", "chosen": "a", "other": "b"}
    figures = {"read": read, "rows": {"row": {**runs, "mean": mean}, "another": {"0": runs["1"]}}}
    results[1].write_text(json.dumps({**result, "figures": figures}), encoding="utf-8")
    metrics = read_metrics(results[1], Weights(revision=resolve("mine").revision))
    assert isinstance(metrics, PairMetrics)
    assert [(pair_result.data, pair_result.selects, pair_result.seeds) for pair_result in metrics.sets] == [
        ("chosen", True, (0.5, 0.25, 3)),
        ("other", False, (0.5, 0.25, 3)),
    ]
    update_facts(tiny_home / "mine", results=results[1:])
    rows = [
        line for line in model_card(tiny_home / "mine").splitlines() if "| 0.500 ± 0.250 | 0.750 |" in line
    ]
    assert ["chose" in row.split("|")[1] and "(" in row.split("|")[1] for row in rows] == [True, False]


def test_figures_of_other_weights_and_broken_ones_are_refused(
    results: list[Path], tiny_home: Path, triplets: NliTriplets
) -> None:
    train_gausscse(triplets, replace(CONFIG, seed=1), run=Run(out=tiny_home / "another"))
    with pytest.raises(EncoderError, match="another@"):
        update_facts(tiny_home / "another", results=results)
    update_facts(tiny_home / "mine", results=results)
    file = tiny_home / "mine" / "entail.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["figures"]["measured_pairs"][0]["sets"][0]["question"] = "colour"
    file.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(EncoderError, match=r"figures\.measured_pairs.*'nli' or 'direction'"):
        model_card(tiny_home / "mine")
