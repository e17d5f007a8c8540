"""Data sets of the Hub: which files of which split are taken."""

import io
import json
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from entail.data.nli.pairs import NliPair
from entail.errors import DemoError, FormatError, HubError, SettingsError
from entail.evaluation.nli import sources
from entail.evaluation.nli.sources import load_nli
from entail.jobs.jobs import absolute
from entail.training.nli_source import PairSource

VALIDATION = "plain_text/validation-00000-of-00001.parquet"


def parquet(**columns: list[Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def rows(*premises: str, label: int = 0) -> bytes:
    count = len(premises)
    return parquet(premise=list(premises), hypothesis=["h"] * count, label=[label] * count)


class Hub:
    """Data sets, each as revision -> name -> content, behind two calls of the Hub's client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sets: dict[str, dict[str | None, dict[str, bytes]]] = {}
        self.fetched: set[str] = set()

    def _files(self, repo: str, revision: str | None) -> dict[str, bytes]:
        if repo not in self.sets:
            raise HubError(repo, reason="not_found")
        if revision not in self.sets[repo]:
            raise HubError(repo, reason="no_revision")
        return self.sets[repo][revision]

    def dataset_info(self, repo: str, *, revision: str | None) -> Any:
        names = sorted(self._files(repo, revision))
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in names])

    def snapshot_download(
        self, repo: str, *, repo_type: str, revision: str | None, allow_patterns: list[str]
    ) -> str:
        assert repo_type == "dataset"
        for name, content in self._files(repo, revision).items():
            if any(fnmatch(name, pattern) for pattern in allow_patterns):
                self.fetched.add(name)
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(content)
        return str(self.folder)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    hub = Hub(tmp_path / "cache")
    monkeypatch.setattr(sources, "hub_api", lambda: hub)
    hub.sets["stanfordnlp/snli"] = {
        None: {
            "README.md": b"SNLI",
            "plain_text/train-00000-of-00002.parquet": rows("t1"),
            "plain_text/train-00001-of-00002.parquet": rows("t2", "t3", label=2),
            VALIDATION: rows("v"),
        }
    }
    hub.sets["nyu-mll/multi_nli"] = {
        None: {
            "data/train-00000-of-00001.parquet": rows("t"),
            "data/validation_matched-00000-of-00001.parquet": rows("m"),
            "data/validation_mismatched-00000-of-00001.parquet": rows("mm"),
        }
    }
    sick = parquet(
        sentence_A=["a", "b"],
        sentence_B=["1", "2"],
        label=[0, 0],
        entailment_AB=["A_entails_B", "A_entails_B"],
        entailment_BA=["B_entails_A", "B_neutral_A"],
    )
    files = {None: {"sick.py": b"raise SystemExit"}, sources.CONVERTED: {"default/test/0000.parquet": sick}}
    hub.sets["RobZamp/sick"] = files
    mine = {
        f"{name}/train.jsonl": json.dumps({"premise": "p", "hypothesis": "h", "label": label}).encode()
        for name, label in (("pairs", 1), ("other", 2))
    }
    hub.sets["me/mine"] = {None: mine, "main": mine}
    hub.sets["me/code"] = {None: {"load.py": b"raise SystemExit"}}
    return hub


def test_the_parts_of_a_split_and_no_other_file_are_fetched_and_joined_in_order(hub: Hub) -> None:
    reading = load_nli("stanfordnlp/snli", split="validation")
    assert reading.pairs == (NliPair("v", "h", "entailment"),)
    assert reading.source == f"stanfordnlp/snli/{VALIDATION}"
    assert hub.fetched == {VALIDATION}
    reading = load_nli("snli", split="TRAIN")
    labels = [(pair.premise, pair.label) for pair in reading.pairs]
    assert labels == [("t1", "entailment"), ("t2", "contradiction"), ("t3", "contradiction")]
    assert reading.source == "stanfordnlp/snli"


def test_dev_is_validation_and_code_is_read_as_it_was_converted(hub: Hub) -> None:
    assert load_nli("snli", split="dev").pairs[0].premise == "v"
    assert load_nli("multi_nli", split="validation_mismatched").pairs[0].premise == "mm"
    with pytest.raises(SettingsError, match="train, validation_matched, validation_mismatched"):
        load_nli("nyu-mll/multi_nli", split="dev")

    # A data set that is code is read as the Hub converted it.
    hub.fetched.clear()
    reading = load_nli("sick")
    assert [pair.bilateral for pair in reading.pairs] == [True, False]
    assert hub.fetched == {"default/test/0000.parquet"}


def test_of_several_splits_or_configurations_one_has_to_be_named(hub: Hub) -> None:
    parts = {"stanfordnlp/snli": "train, validation", "me/mine": "other, pairs", "me/mine:no": "other, pairs"}
    for name, part in parts.items():
        with pytest.raises(SettingsError, match=part):
            load_nli(name)
    assert not hub.fetched
    assert load_nli("me/mine:pairs").pairs[0].label == "neutral"
    assert load_nli("me/mine@main:other", split="train").pairs[0].label == "contradiction"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("me/none", "not_found"), ("me/code", "not_found"), ("stanfordnlp/snli@gone", "no_revision")],
)
def test_what_the_hub_does_not_give_is_said(hub: Hub, name: str, reason: str) -> None:
    with pytest.raises(HubError) as caught:
        load_nli(name, split="train")
    assert caught.value.reason == reason


def test_nothing_is_fetched_for_a_file_or_by_a_demo(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("me").mkdir()
    Path("me", "mine").write_text("premise\thypothesis\tlabel\np\th\tneutral\n", encoding="utf-8")
    for file in ("me/mine", Path("me", "mine")):
        assert load_nli(file).pairs == (NliPair("p", "h", "neutral"),)
    for name in ("snli/dev.jsonl", "SICK.TXT", "nowhere", "../snli/x", "a b/c"):
        with pytest.raises(FormatError):
            load_nli(name)
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError):
        load_nli("snli", split="train")
    assert hub.fetched == set()


def test_a_training_reads_train_and_dev_by_name(hub: Hub) -> None:
    source = PairSource(pairs=(Path("snli"),), dev=Path("stanfordnlp/snli"))
    data = source.read()
    assert [pair.premise for pair in data.dev] == ["v"]
    assert (data.split, str(source)) == ("stanfordnlp/snli", "snli")
    assert data.triplets.to_json()["triplets"] == 1
    # A name is kept for the worker as it is, a file by where it lies.
    assert absolute(source) | {"pairs": ["snli"], "dev": "stanfordnlp/snli"} == absolute(source)
    pairs = (Path("me/mine@main:other"), Path("multi_nli"))
    data = PairSource(pairs=pairs, dev=Path("multi_nli"), dev_split="validation_mismatched").read()
    assert [pair.premise for pair in data.dev] == ["mm"]
    assert data.split == "multi_nli, validation_mismatched"
