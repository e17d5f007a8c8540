"""The laboratory: an experiment and a recipe on the tiny encoder, from the TOML file to page and model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.adapters import Values, Work, aeenc
from lab.commands import main
from lab.data import DataFolder
from lab.errors import LabError
from lab.experiment import FOLDER, parse_experiment, read_experiment
from lab.report import make_result, stated_figures
from lab.run import Run, on_this_machine
from lab.ship import weights_digest
from safetensors.numpy import save_file

from entail.encoders.catalogue import resolve
from entail.errors import EntailError

HEAD = """
name = "{name}"
method = "aeenc"
title = "A trial"
finding = ["It was tried.", "It holds."]
{seeds}
[data]
corpus = "entailment_bank/premises"
train = "entailment_bank/train"
[measure]
data = {{ trees = "entailment_bank/dev" }}
metrics = ["MAP", "Hit@10, paper"]
paired_with = "base"
"""
SETTINGS = '{ base = "tiny", rank = 2, epochs = 1, batch_size = 8, live_k = 5, rounds = 0, precision = "fp32"'
TRIAL = (
    HEAD.format(name="trial", seeds="seeds = [0, 1]")
    + f"""
[arms.base]
model = "tiny"
[arms.low]
settings = {SETTINGS}, learning_rate = 1e-3 }}
[arms."+high"]
settings = {SETTINGS}, learning_rate = 1e-2 }}
[paper."+high"]
MAP = 0.447
"""
)
RECIPE = (
    HEAD.format(name="ship-mine", seeds="threads = 1")
    + f"""
[[stages]]
name = "base"
model = "tiny"
[[stages]]
name = "first"
seeds = [0, 1]
rank = 2
settings = {SETTINGS} }}
[[stages]]
name = "held"
initial = "first"
teachers = "first"
rounds = 2
settings = {SETTINGS}, distil = 1.0 }}
extra = {{ variations = 1 }}
[[stages]]
name = "both"
mean_of = ["first", "held"]
rank = 2
[[checks]]
metric = "MAP"
over = "base"
low = {{low}}
[[stated]]
metric = "MAP"
task = "premises"
data = "dev"
measure = "MAP"
rival = "tiny"
"""
)


@pytest.fixture
def lab(
    tiny_home: Path, grove: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Return what runs a command of the laboratory on the grove; `experiments` holds its TOML files."""
    (tmp_path / "experiments").mkdir()
    monkeypatch.setattr("lab.experiment.FOLDER", tmp_path / "experiments")
    (tmp_path / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    for name, rows in (("train", grove["rows"][:5] * 2), ("dev", grove["rows"][5:])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    files = {"premises": "facts.txt", "train": "train.jsonl", "dev": "dev.jsonl"}

    def run(command: str, name: str, *more: str, work: str = "work") -> int:
        arguments = [command, name, "--results", str(tmp_path / "results"), *more]
        if command != "report":
            arguments += ["--data", str(tmp_path), "--work", str(tmp_path / work)]
            for set_name, file in files.items():
                arguments += ["--set-data", f"entailment_bank/{set_name}={tmp_path / file}"]
        return main(arguments)

    return run


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the folders of the trainings that are begun."""
    begun: list[str] = []
    train = aeenc.train

    def counted(work: Work) -> None:
        begun.append(work.out.name)
        train(work)

    monkeypatch.setattr(aeenc, "train", counted)
    return begun


def test_an_experiment_runs_resumes_and_reports(
    lab: Callable[..., int], trainings: list[str], tmp_path: Path
) -> None:
    (tmp_path / "experiments" / "trial.toml").write_text(TRIAL, encoding="utf-8")
    assert lab("run", "trial", "--arms", "low") == 0
    assert lab("run", "trial") == 0
    assert [name.rpartition("-")[0] for name in trainings] == ["low-0", "low-1", "high-0", "high-1"]
    result = json.loads((tmp_path / "results" / "trial.json").read_text(encoding="utf-8"))
    assert {row["arm"]: len(row["seeds"]) for row in result["rows"]} == {"base": 0, "low": 2, "+high": 2}
    base, figure = (result["rows"][i]["figures"]["MAP"] for i in (0, 2))
    assert figure["low"] <= figure["mean"] <= figure["high"]
    difference = result["rows"][2]["paired"]["MAP"]["difference"]
    assert difference == pytest.approx(figure["mean"] - base["mean"], abs=2e-4)
    training = result["trainings"][result["runs"][1]["trainings"][0]]
    assert {"seconds", "commit", "cpu", "cores", "started", "command"} <= set(training)
    assert str(tmp_path) not in json.dumps(result)

    assert lab("run", "trial", "--held-out", "--arms", "base") == 0
    page = tmp_path / "results" / "trial.md"
    before = page.read_bytes(), page.with_suffix(".svg").read_bytes()
    page.unlink()
    (tmp_path / "work").rename(tmp_path / "gone")
    assert lab("report", "trial") == 0
    assert (page.read_bytes(), page.with_suffix(".svg").read_bytes()) == before
    assert "It was tried. It holds." in page.read_text(encoding="utf-8")


def test_a_training_that_was_interrupted_takes_its_whole_time(
    lab: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = aeenc.train

    def interrupted(work: Work) -> None:
        checkpoint = work.out.with_name(f"{work.out.name}.training") / "checkpoint.safetensors"
        if checkpoint.is_file():
            checkpoint.unlink()
            return train(work)
        checkpoint.parent.mkdir(parents=True)
        save_file({}, checkpoint, metadata={"state": json.dumps({"seconds": 1000.0})})
        raise EntailError("stopped")

    monkeypatch.setattr(aeenc, "train", interrupted)
    (tmp_path / "experiments" / "trial.toml").write_text(TRIAL, encoding="utf-8")
    assert lab("run", "trial", "--arms", "low") == 1
    assert lab("run", "trial", "--arms", "low") == 1, "another seed each time"
    assert lab("run", "trial", "--arms", "low") == 0
    result = json.loads((tmp_path / "results" / "trial.json").read_text(encoding="utf-8"))
    assert [training["seconds"] >= 1000 for training in result["trainings"].values()] == [True, True]


def test_an_experiment_is_run_arm_by_arm_on_several_days(
    lab: Callable[..., int], trainings: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "experiments" / "trial.toml"
    file.write_text(TRIAL, encoding="utf-8")

    def rows(work: str, *arms: str) -> dict[str, Any]:
        assert lab("run", "trial", "--arms", *arms, work=work) == 0
        result = json.loads((tmp_path / "results" / "trial.json").read_text(encoding="utf-8"))
        assert {run["arm"] for run in result["runs"]} == {row["arm"] for row in result["rows"]}
        assert set(result["trainings"]) == {key for run in result["runs"] for key in run["trainings"]}
        return {row["arm"]: row for row in result["rows"]}

    low = rows("monday", "low")["low"]
    whole = rows("tuesday", "+high")
    assert list(whole) == ["base", "low", "+high"]
    assert whole["low"] == low
    assert len(trainings) == 4
    file.write_text(TRIAL.replace("1e-3", "2e-3"), encoding="utf-8")
    assert list(rows("wednesday", "base")) == ["base", "+high"]
    file.write_text(TRIAL.replace('["MAP", "Hit@10, paper"]', '["MAP"]'), encoding="utf-8")
    assert list(rows("thursday", "base")) == ["base"]
    file.write_text(
        TRIAL.replace('model = "tiny"', f"settings = {SETTINGS} }}\nseeds = [0]"), encoding="utf-8"
    )
    assert list(rows("friday", "base")) == ["base"], "the others were compared with another control"


def test_a_difference_over_seeds_has_its_interval() -> None:
    text = HEAD.format(name="trial", seeds="seeds = [0, 1, 2]").replace('"base"', '"plain"')
    experiment = parse_experiment(text + "[arms.plain]\n[arms.better]\n")
    figures = {"plain": (0.1, 0.2, 0.3), "better": (0.2, 0.4, 0.3)}
    runs = [
        Run(arm, str(seed), f"{arm}{seed}", dict.fromkeys(experiment.measure.metrics, of(figure)), {})
        for arm, values in figures.items()
        for seed, figure in enumerate(values)
    ]
    row = make_result(experiment, runs)["rows"][1]
    assert row["paired"]["MAP"]["seeds"] == [-0.1484, 0.3484]  # .1 -+ 4.303 * .1 / sqrt(3)


def of(figure: float) -> tuple[Values, Values]:
    """Return one value for each of two queries, and its weight."""
    return np.full(2, figure), np.ones(2)


def test_a_failed_arm_stops_no_other(lab: Callable[..., int], tmp_path: Path) -> None:
    broken = TRIAL.replace("learning_rate = 1e-3", "no_such_field = 1")
    (tmp_path / "experiments" / "trial.toml").write_text(broken, encoding="utf-8")
    assert lab("run", "trial") == 1
    result = json.loads((tmp_path / "results" / "trial.json").read_text(encoding="utf-8"))
    assert [row["arm"] for row in result["rows"]] == ["base", "+high"]


def test_a_model_is_made_again_with_the_same_weights(
    lab: Callable[..., int], trainings: list[str], grove: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "experiments" / "ship-mine.toml"
    file.write_text(RECIPE.replace("{low}", "-1.0"), encoding="utf-8")
    for name in ("one", "two"):
        assert lab("ship", "mine", "--out", str(tmp_path / name), work=f"work-{name}") == 0
    assert weights_digest(tmp_path / "one") == weights_digest(tmp_path / "two")
    stages = [name.rpartition("-")[0] for name in trainings]
    assert stages == ["first-0", "first-1", "held-1-0", "held-2-1"] * 2

    about = json.loads((tmp_path / "one" / "entail.json").read_text(encoding="utf-8"))
    assert about["experiment"]["hash"] == read_experiment("ship-mine", folder=file.parent).hash
    assert str(tmp_path) not in json.dumps(about)
    (stated,) = about["measured"]
    assert stated["interval"][0] <= stated["value"] <= stated["interval"][1]
    assert "tiny" in (tmp_path / "one" / "README.md").read_text(encoding="utf-8")
    assert resolve(str(tmp_path / "one")).base is not None

    file.write_text(RECIPE.replace("{low}", "0.9"), encoding="utf-8")
    assert lab("ship", "mine", "--out", str(tmp_path / "one"), work="work-one") == 1
    assert len(trainings) == 8, "only the check differs"

    rows = [json.dumps(dict(row, id=f"{i}")) for i, row in enumerate(grove["rows"] * 2)]
    (tmp_path / "train.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert lab("run", "ship-mine", "--held-out", work="work-one") == 0
    assert len(trainings) == 12
    result = json.loads((tmp_path / "results" / "ship-mine.json").read_text(encoding="utf-8"))
    assert result["held_out"]["data"]["trees"].endswith("train#held")
    assert [row["arm"] for row in result["held_out"]["rows"]] == [row["arm"] for row in result["rows"]]
    assert "Held out" in (tmp_path / "results" / "ship-mine.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("seeds = [0, 1]", 'seeds = ["zero"]', "seeds.0"),
        ('title = "A trial"', 'title = "A trial"\nsurprise = 1', "surprise"),
        ('metrics = ["MAP", "Hit@10, paper"]', "metrics = []", "measure.metrics"),
        ('paired_with = "base"', 'paired_with = "nothing"', "measure.paired_with"),
        ("[arms.low]", '[arms.low]\ninitial = "later"', "low"),
        ("[arms.low]", '[arms.low]\nmodel = "tiny"', "low"),
        ("[arms.low]", '[arms.low]\nmean_of = ["base", "later"]', "low"),
        ("[arms.low]", "[arms.low", "TOML"),
    ],
)
def test_a_bad_file_is_refused_by_its_place(old: str, new: str, place: str) -> None:
    assert old in TRIAL
    with pytest.raises(LabError, match=place):
        parse_experiment(TRIAL.replace(old, new))


def test_data_are_named_and_split(lab: Callable[..., int], tmp_path: Path) -> None:
    rows = (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.jsonl").write_text("\n".join(rows * 2), encoding="utf-8")
    data = DataFolder(tmp_path, {"entailment_bank/train": tmp_path / "train.jsonl"})
    parts = [f"entailment_bank/train{part}" for part in ("", "#fit", "#held")]
    assert [len(data.trees(name)) for name in parts] == [20, 18, 2]
    assert len({data.digest(name) for name in parts}) == 3
    for name in ("nowhere", "sick", "entailment_bank/train#third"):
        with pytest.raises(LabError):
            data.trees(name)


@pytest.mark.parametrize("fast", ["bf16", "fp32"])
def test_no_training_emulates_bf16(fast: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.run.cast_precision", lambda *_: fast)
    assert on_this_machine({"precision": "bf16", "rank": 2}) == {"precision": fast, "rank": 2}
    assert on_this_machine({"precision": "fp32"}) == {"precision": "fp32"}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda file: file.stem)
def test_every_experiment_can_be_read_and_is_that_of_what_ships(file: Path) -> None:
    experiment, root = read_experiment(file.stem), FOLDER.parent.parent
    assert experiment.groups
    shipped = root / "models" / file.stem.removeprefix("ship-") / "entail.json"
    if not (file.stem.startswith("ship-") or shipped.is_file()):
        return
    about = json.loads(shipped.read_text(encoding="utf-8"))
    if recipe := about.get("experiment"):
        assert (recipe["name"], recipe["hash"]) == (experiment.name, experiment.hash), "make it again"
    if experiment.stated:
        result = json.loads((root / "docs" / "results" / f"{file.stem}.json").read_text(encoding="utf-8"))
        assert about["measured"] == stated_figures(experiment, result)
