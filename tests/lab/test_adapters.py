"""Adapters of further methods: one tiny training each, measured."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.adapters import Work, load_adapter
from lab.annotators import RATES, judge, merge
from lab.data import DataFolder
from lab.errors import LabError

from entail.data.records import gold_children
from entail.index.factory import retriever
from tests.arcf.conftest import release, world  # noqa: F401 - fixtures
from tests.tuning.conftest import passages_and_questions, squad  # noqa: F401 - fixtures

SETTINGS = {"base": "tiny", "rank": 2, "epochs": 1, "precision": "fp32"}
SCORER = {"k": 6, "batch_tokens": 400, "prefixes_a_step": 4, "max_length": 32}


@pytest.fixture
def data(
    tiny_home: Path,
    grove: dict[str, Any],
    tmp_path: Path,
    squad: dict[str, Path],  # noqa: F811 - the imported fixture
    release: dict[str, Path],  # noqa: F811 - the imported fixture
) -> DataFolder:
    """The grove, whose first five trees are those of training, labelled pairs, passages and a release."""
    labels = ("entailment", "neutral", "contradiction")
    texts = {
        "corpus": grove["facts"],
        "train": map(json.dumps, grove["rows"][:5]),
        "dev": map(json.dumps, grove["rows"][5:]),
        **{
            name: [
                json.dumps({"gold_label": label, "sentence1": near[0], "sentence2": hypothesis})
                for at in range(start, start + 12)
                for near in [grove["facts"][at : at + 4]]
                for label, hypothesis in zip(labels, near[1:], strict=True)
            ]
            for name, start in (("nli-train", 0), ("nli-dev", 1))
        },
    }
    paths = {name: tmp_path / (f"{name}.txt" if name == "corpus" else f"{name}.jsonl") for name in texts}
    for name, lines in texts.items():
        paths[name].write_text("\n".join(lines), encoding="utf-8")
    paths |= {"squad-train": squad["train"], "squad-dev": squad["dev"], "release": release["tables"].parent}
    return DataFolder(tmp_path, paths)


def work(data: DataFolder, out: Path, sets: Mapping[str, str], **settings: Any) -> Work:
    batches = {} if "prefixes_a_step" in settings else {"batch_size": 8}
    settings = {**SETTINGS, **batches, **settings}
    return Work(settings=settings, preset="", seed=0, data=data, sets=sets, out=out, cache=out.parent)


@pytest.mark.parametrize(
    ("method", "sets", "settings", "metrics"),
    [
        (
            "reranker",
            {"corpus": "corpus", "train": "train", "trees": "dev"},
            {"retriever": "tiny+bm25", "nearest": 5, "negatives": 2},
            {"MAP", "MAP, unseen", "Hit@10, paper"},
        ),
        ("arcf", {"release": "release"}, SCORER, {"MAP"}),
        (
            "dpr",
            {"train": "squad-train", "passages": "squad-dev"},
            {"depth": 4},
            {"R@1", "R@100", "MRR"},
        ),
        (
            "gausscse",
            {"train_a": "nli-train", "dev": "nli-dev"},
            {"max_length": 32},
            {"direction, nli-dev", "accuracy, nli-dev"},
        ),
        ("reader", {"train": "squad-train", "dev": "squad-dev"}, {"max_length": 32}, {"EM", "F1"}),
        ("judge", {"train_a": "nli-train", "dev_a": "nli-dev"}, {"max_length": 32}, {"accuracy, nli-dev"}),
    ],
)
def test_a_method_trains_and_measures(
    data: DataFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    sets: Mapping[str, str],
    settings: Mapping[str, Any],
    metrics: set[str],
) -> None:
    adapter = load_adapter(method)
    if method == "judge":
        monkeypatch.setattr("lab.adapters.judge.CHOOSING", 6)
    adapter.train(work(data, tmp_path / "one", sets, **settings))
    measures = adapter.measure(str(tmp_path / "one"), data, sets, cache=tmp_path)
    assert metrics <= set(measures)
    for values, weights in measures.values():
        assert len(values) == len(weights) > 0
        assert 0 <= np.average(values, weights=weights) <= 1


def test_a_retriever_is_measured_by_the_answers_in_its_passages(
    data: DataFolder, tiny_home: Path, tmp_path: Path
) -> None:
    sets = {"train": "squad-train", "dev": "squad-dev", "passages": "squad-dev"}
    load_adapter("reader").train(work(data, tiny_home / "reader-minilm", sets, max_length=32))
    adapter = load_adapter("answers")
    reader = load_adapter("reader").measure(str(tiny_home / "reader-minilm"), data, sets, cache=tmp_path)
    gold, found_by = (adapter.measure(model, data, sets, cache=tmp_path) for model in ("gold", "bm25"))
    assert gold["F1@1, question"][0] == pytest.approx(reader["F1"][0])
    assert set(gold) == set(found_by) > {"EM@20, claim"}
    assert len(found_by["EM@1, claim"][0]) == len(reader["EM"][0])
    counted = load_adapter("claims").measure("rules", data, sets, cache=tmp_path)
    assert {name: len(values) for name, (values, _) in counted.items()}["fallback, dev"] == 12


def test_a_first_stage_comes_before_passages(data: DataFolder, tmp_path: Path) -> None:
    sets = {"train": "squad-train", "passages": "squad-dev", "nli_a": "nli-train"}
    begun = replace(
        work(data, tmp_path / "tuned", sets, depth=4, rank=32),
        extra={"first": True, "pairs": 2, "questions": 20},
    )
    load_adapter("dpr").train(begun)
    about = json.loads((tmp_path / "tuned" / "entail.json").read_text(encoding="utf-8"))
    assert about["tuned"]["revision"].startswith("tuned-first@")
    assert about["trained_on"]["questions"] == 20
    assert about["trained_on"]["data"] == ["nli-train", "squad-train"]


def test_first_stages_start_from_a_base_by_masking(data: DataFolder, tmp_path: Path) -> None:
    sets = {"train": "squad-train", "passages": "squad-dev"}
    adapter, masked = load_adapter("tuning"), tmp_path / "masked"
    begun = work(data, masked, sets, depth=4, batch_size=4)
    adapter.train(replace(begun, extra={"masked": 40}))
    first = {"questions": 8, "labelled": 8, "passes": 1}
    for kind in ("", "question", "plain"):
        out = tmp_path / f"arm-{kind}"
        adapter.train(replace(begun, out=out, initial=masked, extra={**first, "first": kind}))
        assert (out / "losses.json").is_file() == bool(kind)
        measures = adapter.measure(str(out), data, sets, cache=tmp_path)
        assert set(measures) > {"R@1", "nats gained"}
        assert bool(measures["nats gained"][0][0]) == bool(kind)
    losses = [json.loads((folder / "losses.json").read_text()) for folder in (masked, tmp_path / "arm-plain")]
    assert losses[0]["after"] < losses[0]["before"]
    assert losses[1]["before"] == pytest.approx(losses[0]["after"], rel=0.2), "it goes on with the head"
    with pytest.raises(LabError):
        adapter.train(replace(begun, out=tmp_path / "none", extra={"first": "nothing"}))


def test_halves_of_labelled_pairs_share_no_premise(data: DataFolder) -> None:
    first, second = ({pair.premise for pair in data.pairs(f"nli-dev#{part}")} for part in ("fit", "held"))
    assert first.isdisjoint(second)
    assert first | second == {pair.premise for pair in data.pairs("nli-dev")}
    assert first
    assert second


def test_an_encoder_of_direction_is_taught_by_a_former_stage(data: DataFolder, tmp_path: Path) -> None:
    adapter, sets = load_adapter("gausscse"), {"train_a": "nli-train", "dev": "nli-dev"}
    adapter.train(work(data, tmp_path / "teacher", sets))
    adapter.train(replace(work(data, tmp_path / "taught", sets), teachers=[tmp_path / "teacher"]))
    about = json.loads((tmp_path / "taught" / "entail.json").read_text(encoding="utf-8"))
    assert about["config"]["teachers"] == str(tmp_path / "teacher")


def test_two_towers_are_held_to_another_domain(data: DataFolder, tmp_path: Path) -> None:
    sets = {"corpus": "corpus", "train": "train", "replay": "squad-train"}
    settings = {"towers": "dual", "live_k": 0, "gold": True, "distil": 1.0, "sentences": 4}
    begun = replace(
        work(data, tmp_path / "held", sets, **settings),
        extra={"replay_alone": True, "replayed": 20, "replay_teacher": "tiny"},
    )
    load_adapter("aeenc").train(begun)
    about = json.loads((tmp_path / "held" / "entail.json").read_text(encoding="utf-8"))
    assert about["towers"] == "dual"
    assert about["trained_on"]["data"] == ["squad-train", "train"]


def test_annotators_err_at_their_rates_and_teach(data: DataFolder, tmp_path: Path) -> None:
    corpus, trees = data.corpus("corpus"), data.trees("train")
    pairs = judge(corpus, trees * 60, retriever("bm25", corpus), seed=0)
    gold = gold_children(trees)
    missed: dict[str, list[bool]] = {}
    for pair in pairs:
        if pair.premise in gold[pair.query]:
            missed.setdefault(pair.author, []).append(not pair.accepted)
    assert [np.mean(missed[str(at)]) for at in range(len(RATES))] == pytest.approx(RATES, abs=0.08)
    errors = {}
    for merging in ("any", "majority", "weighted", "reference"):
        accepted = merge(judge(corpus, trees, retriever("bm25", corpus), seed=0), trees, merging).accepted
        errors[merging] = sum(p not in gold[query] for query, own in accepted.items() for p in own)
    assert errors["any"] >= errors["majority"] >= errors["reference"] == 0
    started = work(data, tmp_path / "one", {"corpus": "corpus", "train": "train"}, complete=True, live_k=5)
    load_adapter("aeenc").train(replace(started, extra={"trees": 4, "merging": "weighted"}))
    assert (tmp_path / "one" / "entail.json").is_file()


def test_curation_counts_acts(data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = load_adapter("curation")
    monkeypatch.setattr("lab.adapters.curation.NOISE", (0.0, 0.3))
    ways = ("differences", "every difference", "copy", "copy, differences")
    acts = {}
    for way in ways:
        for name, (values, weights) in adapter.measure(way, data, {"trees": "train"}, cache=tmp_path).items():
            acts[way, name.split()[2]] = float((values * weights).sum())
    assert [acts[way, "0%"] for way in ways] == [0, 0, 5, 5], "a copy is one act a tree"
    assert 0 < acts["differences", "30%"] <= acts["every difference", "30%"]
    assert 5 < acts["copy, differences", "30%"] <= acts["copy", "30%"]


def test_a_scorer_of_chains_learns_from_a_part(data: DataFolder, tmp_path: Path) -> None:
    adapter, counts = load_adapter("arcf"), {}
    for part in ("", "#fit", "#held"):
        sets = {"release": f"release{part}"}
        adapter.train(work(data, tmp_path / f"arcf{part}", sets, **SCORER))
        about = json.loads((tmp_path / f"arcf{part}" / "entail.json").read_text(encoding="utf-8"))
        measured = adapter.measure("tfidf", data, sets, cache=tmp_path)["MAP"][0]
        counts[part] = about["trained_on"]["questions"], len(measured)
    assert counts == {"": (18, 6), "#fit": (17, 6), "#held": (1, 1)}


def test_what_no_method_has_is_refused(data: DataFolder, tmp_path: Path) -> None:
    with pytest.raises(LabError):
        load_adapter("nothing")
    begun = work(data, tmp_path / "out", {"corpus": "corpus", "train": "train"}, distil=1.0)
    for wrong in ({"preset": "nothing"}, {"extra": {"nothing": 1}, "teachers": [tmp_path / "absent"]}):
        with pytest.raises(LabError):
            load_adapter("aeenc").train(replace(begun, **wrong))


def test_searches_of_a_scorer_are_measured(
    data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = {"release": "release"}
    begun = work(data, tmp_path / "one", sets, **SCORER, architecture="cross", tuning="full")
    load_adapter("arcf").train(replace(begun, extra={"random_start": True}))
    adapter: Any = load_adapter("searches")
    monkeypatch.setattr(adapter, "WIDTHS", (1, 2))
    scorer, control = (
        adapter.measure(model, data, sets, cache=tmp_path) for model in (str(tmp_path / "one"), "tfidf")
    )
    assert scorer["beam 1"][0].tolist() == scorer["k 60"][0].tolist()
    assert set(scorer) == set(control)
    assert control["L 1"][0].tolist() == control["k 180"][0].tolist()
    assert (scorer["Easy"][1] + scorer["Challenge"][1]).tolist() == [1] * len(scorer["Easy"][1])
    reached = sum(scorer[name][1] for name in ("1 hops", "2 hops", "3 hops", "out of reach"))
    assert (reached >= 1).all()
