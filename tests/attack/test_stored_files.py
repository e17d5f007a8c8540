"""The product's own JSON files, damaged: each reader gives a value or an error of the library."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.source import TreeSource
from entail.answering.reader import load_reader
from entail.arcf.scoring.scorer import load_scorer
from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.stored import read_json
from entail.encoders.bert.lora import read_lora_config
from entail.encoders.card import read_training_queries
from entail.encoders.catalogue import resolve
from entail.encoders.cross.reranker import Reranker
from entail.errors import EncoderError, JobError
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.index.protocol import Manifest
from entail.jobs.earlier import import_folders
from entail.jobs.events import parse_events
from entail.jobs.handle import JobHandle
from entail.jobs.jobs import Jobs
from entail.jobs.record import JobSpec, Outcome, Status, Worker
from entail.judge.judges import NliJudge
from entail.operations.logs import app_log
from entail.operations.storage import back_up
from entail.progress import Progress
from entail.registry.pointers import Pointer, list_moves
from entail.settings import load_settings, shipped_models
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from entail.trees.store.restoration import JOURNAL
from entail.trees.store.state import open_state
from tests.attack.conftest import Tally
from tests.attack.test_bad_files import try_damages

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATUS = Status(state="done", since=NOW, queued=NOW, ended=NOW, attempt=1)
SPEC = JobSpec("20260101-000000-abcdef", "aeenc", {}, {}, "trees", "mine", "Ada", NOW)
OUTCOME = Outcome(1, "done", result={"name": "mine"}, evaluation=None)
POINTER = Pointer(1, None, "mine", "mine@1", "mine@1", "Ada", NOW)
WORKER = Worker("here", 1, NOW, 1, ("20260101-000000-abcdef",))
JOURNAL_TEXT = {"id": "x", "models": "/nowhere/m", "before": "/nowhere/b", "staged": None, "keeps": False}
MANIFEST = Manifest("minilm@1", 2, "inner_product", 3, "0" * 16)


def job(place: Path) -> Any:
    """Read a job of an earlier version, all files of its folder, and make its record from them."""
    files = {"spec.json": SPEC, "status.json": STATUS, "outcome.json": OUTCOME}
    for name, record in files.items():
        if name != place.name:
            (place.parent / name).write_text(json.dumps(record.to_json()))
    state, handle = open_state(), JobHandle(SPEC.id, load_settings())
    state.delete_job(SPEC.id)
    if unreadable := import_folders(place.parent.parent, state):
        raise JobError(unreadable[SPEC.id])
    return handle.load().to_json(), handle.cancel_request


def worker(place: Path) -> Any:
    open_state().write_worker("here", place.read_text(errors="replace"))
    return Jobs().workers()


def snapshot(place: Path) -> Any:
    corpus = Corpus.of("sky", ["a", "b"])
    judged = Judgements(accepted={"h": {"a": None}}, rejected={"h": {"b": None}}, roots=("h",))
    return TreeSource(from_log="sky").read(keep=place.parent, decisions=lambda *_: (corpus, judged, {}))


def written(write: Callable[[Path], Any]) -> Callable[[Path], str]:
    """Return what gives the text of a file that a function writes."""

    def text(path: Path) -> str:
        write(path)
        return path.read_text()

    return text


def passages(place: Path) -> Any:
    source = place.with_name("source.tsv")
    source.write_text("id\ttext\ttitle\n1\tIce is cold.\tIce\n2\tThe sun is hot.\tSun\n")
    return list(store_passages([source], place.parent))


FILES: dict[str, tuple[str, Callable[[Path], str], Callable[[Path], Any]]] = {
    "job spec": (f"{SPEC.id}/spec.json", lambda _: json.dumps(SPEC.to_json()), job),
    "job status": (f"{SPEC.id}/status.json", lambda _: json.dumps(STATUS.to_json()), job),
    "job outcome": (f"{SPEC.id}/outcome.json", lambda _: json.dumps(OUTCOME.to_json()), job),
    "job progress": (f"{SPEC.id}/progress.json", lambda _: json.dumps(asdict(Progress(1, 2, 0.5, "x"))), job),
    "job cancellation": (f"{SPEC.id}/cancel.json", lambda _: json.dumps({"by": "Ada"}), job),
    "job events": (
        "e.jsonl",
        lambda _: '{"kind": "begin", "attempt": 1}\n' * 3,
        lambda path: parse_events(path.read_bytes().splitlines()),
    ),
    "decisions of a job": ("job/decisions.json", written(snapshot), snapshot),
    "worker": ("here.json", lambda _: json.dumps(WORKER.to_json()), worker),
    "registry": (
        "data/active.json",
        lambda _: json.dumps({"format": 1, "moves": [POINTER.to_json()]}),
        lambda _: [move.to_json() for move in list_moves()],
    ),
    "journal": (
        f"data/{JOURNAL}",
        lambda _: json.dumps(JOURNAL_TEXT),
        lambda _: open_database().close(),
    ),
    "vectors": ("manifest.json", lambda _: json.dumps(asdict(MANIFEST)), lambda at: read_json(at, Manifest)),
    "passages": ("pool/passages.json", written(passages), lambda path: PassageStore(path.parent).about),
    "texts": ("pool/texts.jsonl", written(passages), passages),
    "training queries": (
        "seen.json",
        lambda _: json.dumps({"queries": ["a" * 16]}),
        lambda path: read_training_queries(path.parent),
    ),
    "adapter": (
        "adapter_config.json",
        lambda _: json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["query"]}),
        lambda path: read_lora_config(path.parent),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(name: str, tmp_path: Path, tally: Tally) -> None:
    path = tmp_path / FILES[name][0]
    path.parent.mkdir(exist_ok=True, parents=True)
    _, content, read = FILES[name]
    try_damages(path, content(path), read, tally, seed=len(name))


@pytest.mark.parametrize("earlier", [False, True])
def test_no_other_user_reads_what_is_written(
    earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Database, backups and logs, also those of an earlier version, which everyone could read."""
    data = tmp_path / "data"
    mask = os.umask(0)
    try:
        for _ in range(1 + earlier):
            with closing(open_database()) as database:
                TreeLog(database).create(Create(hypothesis="secret"), author="Ada")
                modes = {path.name: path.stat().st_mode & 0o077 for path in data.glob("entail.db*")}
            back_up()
            with app_log(data / "log" / "app.log"):
                sys.stderr.write("secret\n")
            if earlier:
                (data / "log" / "app.log.before").touch()
                for path in data.rglob("*"):
                    path.chmod(0o777 if path.is_dir() else 0o666)
                earlier = False
    finally:
        os.umask(mask)
    assert modes == {"entail.db": 0, "entail.db-wal": 0, "entail.db-shm": 0}
    files = [path for path in data.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"data", "backups", "log"}
    assert [path for path in files if path.stat().st_mode & 0o077] == []


LOADERS: dict[str, Callable[[Path], object]] = {
    "scorer": load_scorer,
    "judge": NliJudge,
    "reranker": Reranker,
    "reader": load_reader,
    "encoder": resolve,
}


@pytest.mark.parametrize("model", sorted(shipped_models().iterdir()), ids=lambda folder: folder.name)
def test_changed_adapters(model: Path, tmp_path: Path, tally: Tally) -> None:
    """No field of the configuration of a shipped adapter changes but for the name of its base."""
    folder = Path(shutil.copytree(model, tmp_path / model.name))
    record = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    load = next(load for form, load in LOADERS.items() if form in {*record, "encoder"})
    attempts = 0
    for path in folder.rglob("adapter_config.json"):
        config = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**config, "base_model_name_or_path": "elsewhere"}))
        load(folder)
        for name in config.keys() - {"base_model_name_or_path", "revision"}:
            attempts += 1
            path.write_text(json.dumps({**config, name: 17}))
            with pytest.raises(EncoderError):
                load(folder)
        path.write_text(json.dumps(config))
    tally(attempts=attempts, failures=0)
