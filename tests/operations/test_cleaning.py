"""Cleaning: what can go, what it costs, and that nothing else goes."""

import os
from pathlib import Path

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED, resolve
from entail.errors import DemoError, SettingsError
from entail.index.store import write_segment
from entail.jobs.jobs import Jobs
from entail.operations import cleaning
from entail.operations.cleaning import clean, list_removable, select_removable
from entail.operations.doctor import diagnose
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.jobs.rows import set_status
from tests.operations.conftest import add_job
from tests.support.machine import digests

REVISION = str(resolve(PACKAGED).revision)


@pytest.fixture
def store(jobs: Jobs) -> CorpusStore:
    return CorpusStore(open_database())


def add_vectors(jobs: Jobs, *, revision: str = REVISION, count: int = 3) -> Path:
    folder = jobs.settings.vectors_dir / revision
    rows = np.zeros((count, 8), dtype=np.float16)
    write_segment(folder, np.arange(count, dtype=np.uint64), rows, revision=revision, metric="inner_product")
    return folder


def age(path: Path, *, hours: float = 2) -> Path:
    then = path.stat().st_mtime - hours * 3600
    os.utime(path, (then, then))
    return path


def test_vectors_say_whose_they_are_and_what_losing_them_costs(jobs: Jobs) -> None:
    assert list_removable(jobs) == []
    add_vectors(jobs, count=2)
    add_vectors(jobs, count=3)
    add_vectors(jobs, revision="gone@000000000000")
    things = {thing.id: thing for thing in list_removable(jobs)}
    used = things[f"vectors/{REVISION}"]
    assert (used.wanted, used.size > 80) == (True, True)
    assert "5 premises by minilm" in used.what
    assert "5 premises" in used.cost
    other = things["vectors/gone@000000000000"]
    assert not other.wanted
    assert other.cost.startswith("nothing")
    by_kind = select_removable(list(things.values()), ["vectors"])
    assert used not in by_kind
    assert by_kind == [other]
    assert used in select_removable(list(things.values()), ["vectors"], include_needed=True)
    assert select_removable(list(things.values()), [used.id]) == [used]
    with pytest.raises(SettingsError, match="'trees'"):
        select_removable(list(things.values()), ["trees"])


def test_checkpoints_only_of_jobs_that_have_ended(jobs: Jobs) -> None:
    waiting, failed, done = (add_job(jobs, n, s) for n, s in enumerate(("queued", "failed", "done"), start=1))
    things = {thing.id: thing for thing in list_removable(jobs)}
    assert set(things) == {f"checkpoints/{failed}", f"checkpoints/{done}"}
    assert "training are lost" in things[f"checkpoints/{failed}"].cost
    assert (things[f"checkpoints/{failed}"].wanted, things[f"checkpoints/{done}"].wanted) == (True, False)
    before = digests(jobs.folder)
    cleaned = clean([*things, f"checkpoints/{waiting}"], jobs=jobs)
    assert (len(cleaned.removed), cleaned.size) == (2, 4_000)
    assert list(cleaned.kept) == [f"checkpoints/{waiting}"]
    gone = set(before) - set(digests(jobs.folder))
    assert {Path(path).name for path in gone} == {"step.safetensors"}
    assert len(gone) == 2
    assert jobs.job(failed).resumable


def test_a_job_that_was_resumed_meanwhile_keeps_its_checkpoint(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = add_job(jobs, 1, "failed")
    things = list_removable(jobs)
    set_status(jobs, job_id, state="queued")
    monkeypatch.setattr(cleaning, "list_removable", lambda jobs: things)
    cleaned = clean([f"checkpoints/{job_id}"], jobs=jobs)
    assert not cleaned.removed
    assert "needs its checkpoint" in cleaned.kept[f"checkpoints/{job_id}"]
    assert (jobs.folder / job_id / "checkpoints" / "step.safetensors").exists()


def test_leftovers_go_when_nobody_can_be_at_them(jobs: Jobs) -> None:
    models = jobs.settings.models_dir
    old = [jobs.folder / ".deleted-20260101-000009-abcdef", models / ".job-20260101-000008-abcdef"]
    protected = [models / f".job-{add_job(jobs, 1, 'queued')}", models / ".models-of-somebody"]
    new = jobs.folder / ".deleted-20260101-000007-abcdef"
    for folder in (*old, *protected, new):
        folder.mkdir()
    for folder in (*old, *protected):
        age(folder)
    things = list_removable(jobs)
    assert {thing.path for thing in things} == set(old)
    assert len(clean([thing.id for thing in things], jobs=jobs).removed) == 2
    assert [folder.exists() for folder in (*old, *protected, new)] == [False, False, True, True, True]


def test_what_a_killed_restore_left_is_reported_and_goes(jobs: Jobs) -> None:
    folder = jobs.settings.data_dir
    names = ["models.before-restore-20260101T000000Z", ".models-20260101T000000Z", ".backup.zip.17.partial"]
    (folder / "backups").mkdir()
    names.append("backups/.team.zip.17.partial")
    for name in names:
        (folder / name).mkdir()
        age(folder / name)
    (folder / ".models-20260102T000000Z").mkdir()  # at work now
    things = list_removable(jobs)
    assert {item.path for item in things} == {folder / name for name in names}
    # The old models go by name only.
    assert {item.path for item in select_removable(things, ["leftovers"])} == {folder / n for n in names[1:]}
    assert sum(Path(name).name in problem for problem in diagnose().problems for name in names) == 4
    assert len(clean([item.id for item in things], jobs=jobs).removed) == 4
    assert not any((folder / name).exists() for name in names)


def test_logs_begin_anew(jobs: Jobs) -> None:
    log = jobs.settings.data_dir / "log" / "app.log"
    log.parent.mkdir()
    log.write_text("said\n")
    (thing,) = list_removable(jobs)
    assert (thing.id, thing.size) == ("logs/app.log", 5)
    with log.open("a") as writer:
        clean([thing.id], jobs=jobs)
        writer.write("more\n")
    assert log.read_text() == "more\n"


def test_all_of_it_leaves_trees_corpora_encoders_pointers_and_backups_alone(
    jobs: Jobs, store: CorpusStore
) -> None:
    data, models = jobs.settings.data_dir, jobs.settings.models_dir
    facts = Corpus.of("facts", ["ice is cold"])
    store.add_corpus(facts, author="Ada")
    store._database.close()
    for file in (
        models / "active" / "model.safetensors",
        models / "previous" / "model.safetensors",
        data / "models" / "own" / "model.safetensors",
        data / "models.before-restore-x" / "model.safetensors",
        data / "active.json",
        data / "backups" / "entail-1.zip",
        data / "before-restore-1.zip",
        data / "entail.db.damaged-1",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("precious")
        age(file.parent)
    before = digests(data, models)
    vectors = add_vectors(jobs)
    add_job(jobs, 1, "interrupted")
    # Models that a restore replaced go by their own name only.
    ids = [thing.id for thing in list_removable(jobs) if "before-restore" not in thing.id]
    assert clean(ids, jobs=jobs).kept == {}
    assert not list(vectors.glob("[!.]*"))
    after = digests(data, models)
    assert {path: after.get(path) for path in before} == before


def test_a_link_out_of_the_data_folder_is_not_followed(jobs: Jobs, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "precious").write_text("x")
    job_id = add_job(jobs, 1, "failed")
    folder = jobs.folder / job_id / "checkpoints"
    (folder / "step.safetensors").unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    cleaned = clean([thing.id for thing in list_removable(jobs)], jobs=jobs)
    assert not cleaned.removed
    assert (outside / "precious").exists()


def test_what_is_no_kind_is_refused_and_a_demo_removes_nothing(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = add_job(jobs, 1, "done")
    for name in ("trees/1", "models/x", "../x"):
        with pytest.raises(SettingsError):
            clean([name], jobs=jobs)
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError):
        clean([f"checkpoints/{job_id}"], jobs=jobs)
    assert (jobs.folder / job_id / "checkpoints").exists()
