"""Data sets of the Hub, fetched from a small server that speaks its protocol; nothing leaves this machine."""

import hashlib
import io
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from entail.data.nli.pairs import NliPair
from entail.errors import DemoError, FormatError, HubError, JobError, SettingsError
from entail.evaluation.nli.sources import CONVERTED, load_nli
from entail.jobs.inputs import absolute
from entail.training.nli_source import PairSource

SICK_COLUMNS = {
    "sentence_A": ["a", "b"],
    "sentence_B": ["1", "2"],
    "label": [0, 0],
    "entailment_AB": ["A_entails_B", "A_entails_B"],
    "entailment_BA": ["B_entails_A", "B_neutral_A"],
}


def parquet(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def rows(*premises: str, label: int = 0) -> bytes:
    count = len(premises)
    return parquet({"premise": list(premises), "hypothesis": ["h"] * count, "label": [label] * count})


class Hub(ThreadingHTTPServer):
    """Serves data sets, each as revision -> name -> content, and notes what it is asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sets: dict[str, dict[str, dict[str, bytes]]] = {}
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0].replace("%2F", "/")
        self.server.asked.append(path)
        kind, _, rest = path.removeprefix("/api").removeprefix("/").partition("/")
        repo = next((name for name in self.server.sets if rest.startswith(name)), None)
        if kind != "datasets" or repo is None:
            self._send(b"{}", status=404, body=body, headers={"X-Error-Code": "RepoNotFound"})
            return
        revisions, rest = self.server.sets[repo], rest.removeprefix(repo).strip("/")
        revision = next(
            (candidate for candidate in revisions if candidate in rest or commit(repo, candidate) in rest),
            "main" if not rest else "",
        )
        if revision not in revisions:
            self._send(b"{}", status=404, body=body, headers={"X-Error-Code": "RevisionNotFound"})
            return
        files, sha = revisions[revision], commit(repo, revision)
        if path.startswith("/api/"):
            listed = [{"type": "file", "path": name, **blob(files[name])} for name in sorted(files)]
            siblings = [{"rfilename": name} for name in sorted(files)]
            answer = listed if rest.startswith("tree/") else {"id": repo, "sha": sha, "siblings": siblings}
            self._send(json.dumps(answer).encode(), body=body)
            return
        content = files[rest.removeprefix("resolve/").removeprefix(sha).removeprefix(revision).strip("/")]
        etag = hashlib.sha256(content).hexdigest()
        self._send(content, body=body, headers={"ETag": f'"{etag}"', "X-Repo-Commit": sha})

    def _send(
        self, content: bytes, *, body: bool, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


def commit(repo: str, revision: str) -> str:
    return hashlib.sha1(f"{repo} {revision}".encode()).hexdigest()


def blob(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "oid": hashlib.sha1(content).hexdigest()}


@pytest.fixture
def hub(
    serve_hub: Callable[[ThreadingHTTPServer], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Hub:
    monkeypatch.chdir(tmp_path)
    server = Hub()
    server.sets["stanfordnlp/snli"] = {
        "main": {
            "README.md": b"SNLI",
            "plain_text/train-00000-of-00002.parquet": rows("t1"),
            "plain_text/train-00001-of-00002.parquet": rows("t2", "t3", label=2),
            "plain_text/validation-00000-of-00001.parquet": rows("v"),
        }
    }
    server.sets["nyu-mll/multi_nli"] = {
        "main": {
            "data/train-00000-of-00001.parquet": rows("t"),
            "data/validation_matched-00000-of-00001.parquet": rows("m"),
            "data/validation_mismatched-00000-of-00001.parquet": rows("mm"),
        }
    }
    server.sets["RobZamp/sick"] = {
        "main": {"sick.py": b"raise SystemExit"},
        CONVERTED: {"default/test/0000.parquet": parquet(SICK_COLUMNS)},
    }
    line = {"premise": "p", "hypothesis": "h", "label": 1}
    server.sets["me/mine"] = {
        "main": {
            "pairs/train.jsonl": json.dumps(line).encode(),
            "other/train.jsonl": json.dumps({**line, "label": 2}).encode(),
        }
    }
    server.sets["me/code"] = {"main": {"load.py": b"raise SystemExit"}}
    serve_hub(server)
    return server


def fetched(hub: Hub) -> set[str]:
    return {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}


def test_a_split_of_a_data_set_and_no_other_file_is_fetched(hub: Hub) -> None:
    reading = load_nli("stanfordnlp/snli", split="validation")
    assert reading.pairs == (NliPair("v", "h", "entailment"),)
    assert reading.source == "stanfordnlp/snli/plain_text/validation-00000-of-00001.parquet"
    assert fetched(hub) == {"validation-00000-of-00001.parquet"}


def test_the_parts_of_a_split_are_joined_in_order(hub: Hub) -> None:
    reading = load_nli("snli", split="TRAIN")
    assert [(pair.premise, pair.label) for pair in reading.pairs] == [
        ("t1", "entailment"),
        ("t2", "contradiction"),
        ("t3", "contradiction"),
    ]
    assert reading.source == "stanfordnlp/snli"


def test_dev_is_validation_where_there_is_one(hub: Hub) -> None:
    assert load_nli("snli", split="dev").pairs[0].premise == "v"
    assert load_nli("multi_nli", split="validation_mismatched").pairs[0].premise == "mm"
    with pytest.raises(SettingsError, match=r"train, validation_matched, validation_mismatched"):
        load_nli("nyu-mll/multi_nli", split="dev")


def test_a_data_set_that_is_code_is_read_as_the_hub_converted_it(hub: Hub) -> None:
    reading = load_nli("sick")
    assert [pair.bilateral for pair in reading.pairs] == [True, False]
    assert fetched(hub) == {"0000.parquet"}


def test_of_several_splits_or_configurations_one_has_to_be_named(hub: Hub) -> None:
    for name, part in (
        ("stanfordnlp/snli", "train, validation"),
        ("me/mine", "other, pairs"),
        ("me/mine:no", "other, pairs"),
    ):
        with pytest.raises(SettingsError, match=part):
            load_nli(name)
    assert not fetched(hub)
    assert load_nli("me/mine:pairs").pairs[0].label == "neutral"
    assert load_nli("me/mine@main:other", split="train").pairs[0].label == "contradiction"


def test_what_was_fetched_is_there_without_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    first = load_nli("snli", split="validation")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert load_nli("snli", split="validation") == first
    with pytest.raises(HubError):
        load_nli("nyu-mll/multi_nli", split="train")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("me/none", "not_found"), ("me/code", "not_found"), ("stanfordnlp/snli@gone", "no_revision")],
)
def test_what_the_hub_does_not_give_is_said(hub: Hub, name: str, reason: str) -> None:
    with pytest.raises(HubError) as caught:
        load_nli(name, split="train")
    assert caught.value.reason == reason


def test_a_file_is_a_file(hub: Hub, tmp_path: Path) -> None:
    text = "premise\thypothesis\tlabel\np\th\tneutral\n"
    (tmp_path / "me").mkdir()
    (tmp_path / "me" / "mine").write_text(text, encoding="utf-8")
    assert load_nli("me/mine").pairs == (NliPair("p", "h", "neutral"),)
    assert load_nli(tmp_path / "me" / "mine").format == "table"
    for name in ("snli/dev.jsonl", "SICK.TXT", "nowhere", "../snli/x", "a b/c"):
        with pytest.raises(FormatError):
            load_nli(name)
    assert hub.asked == []


def test_a_demo_fetches_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError):
        load_nli("snli", split="train")
    assert hub.asked == []


def test_a_training_reads_train_and_dev_by_name(hub: Hub, tmp_path: Path) -> None:
    source = PairSource(pairs=(Path("snli"),), dev=Path("stanfordnlp/snli"))
    data = source.read()
    assert [pair.premise for pair in data.dev] == ["v"]
    assert (data.split, str(source)) == ("stanfordnlp/snli", "snli")
    assert data.triplets.to_json()["triplets"] == 1
    # A name is kept for the worker as it is, a file by where it lies.
    assert absolute(source) | {"pairs": ["snli"], "dev": "stanfordnlp/snli"} == absolute(source)
    matched = PairSource(
        pairs=(Path("me/mine@main:other"), Path("multi_nli")),
        dev=Path("multi_nli"),
        dev_split="validation_mismatched",
    )
    assert [pair.premise for pair in matched.read().dev] == ["mm"]
    assert matched.read().split == "multi_nli, validation_mismatched"
    assert str(matched) == "me/mine@main:other, multi_nli"


def test_a_training_reads_a_part_of_a_file(hub: Hub, tmp_path: Path) -> None:
    file = tmp_path / "SICK.txt"
    rows_of = ("a\tb\tENTAILMENT\tTRAIN", "c\td\tENTAILMENT\tTRAIN", "e\tf\tNEUTRAL\tTRIAL")
    header = "sentence_A\tsentence_B\tentailment_label\tSemEval_set"
    file.write_text("\n".join((header, *rows_of)), encoding="utf-8")
    source = PairSource(pairs=(file,), split="TRAIN", dev=file, dev_split="TRIAL")
    data = source.read()
    assert [pair.premise for pair in data.dev] == ["e"]
    assert (data.triplets.to_json()["triplets"], data.split) == (2, "SICK.txt, TRIAL")
    assert len(PairSource(pairs=(file,), dev=file).read().dev) == 3
    assert absolute(source)["pairs"] == [str(file)]
    with pytest.raises(JobError):
        absolute(PairSource(pairs=(Path("gone.jsonl"),)))
    assert hub.asked == []
