"""Jobs from submission to the model, and every ending."""

import errno
import json
import platform
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from entail.encoders.catalogue import resolve
from entail.errors import (
    CheckpointError,
    EncoderError,
    JobError,
    LockedDatabaseError,
    SettingsError,
    TrainingError,
    UnknownJobError,
)
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs import worker
from entail.jobs.handle import JobHandle
from entail.jobs.jobs import Jobs
from entail.jobs.locks import machine_of
from entail.jobs.record import EXITS, TODO, Job, Outcome, outcome_of_error, outcome_of_exit
from entail.jobs.worker import run_job
from entail.trees.installation.backup import backup, restore
from entail.trees.store.state import home_of
from tests.jobs.conftest import Run, Submit, fork_child, weights
from tests.jobs.rows import damage, rewrite, set_status


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_train_compare_publish(jobs: Jobs, submit: Submit, run: Run) -> None:
    job = submit(steps=4)
    assert (job.state, job.queue_position, job.spec.by, job.spec.config["steps"]) == ("queued", 1, "Ann", 4)
    done = run(job)
    assert (done.state, done.status.ending, done.status.attempt) == ("done", None, 1)
    assert (done.result["steps"], done.result["name"], done.warnings) == (4, "mine", ("it only wanders",))
    assert resolve("mine").dimension == 64
    compared = PairedComparison.from_json(done.evaluation)
    assert compared.verdict == "better"
    assert compared.measures["luck"].difference == pytest.approx(0.5)
    assert (compared.candidate, compared.active) == (resolve("mine").revision, resolve("minilm").revision)
    # Nothing is left to go on from, and nothing half made.
    assert not jobs.handle(job.id).checkpoints.exists()
    assert not hidden(jobs.settings.models_dir)
    kinds = [event["kind"] for event in jobs.list_events(job.id)]
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"
    assert {"step", "evaluation"} < set(kinds)
    # Another process sees the same job, also by the beginning of its id.
    assert Jobs().job(job.id[:-1]) == done
    assert json.loads(json.dumps(done.to_json()))["state"] == "done"


@pytest.mark.parametrize(
    ("trouble", "state", "ending", "what"),
    [
        ("nan", "failed", "diverged", "nan at step 3"),
        ("memory", "failed", "out_of_memory", "memory"),
        ("disk", "failed", "disk_full", "disk"),
        ("brim", "failed", "disk_full", "disk"),
        ("killed", "interrupted", "killed", "SIGKILL"),
        ("bug", "failed", "error", "KeyError"),
        ("nothing", "failed", "refused", "no model"),
    ],
)
def test_endings(
    jobs: Jobs, submit: Submit, run: Run, trouble: str, state: str, ending: str, what: str
) -> None:
    ended = run(submit(trouble=trouble))
    assert (ended.state, ended.status.ending) == (state, ending)
    assert re.search(what, str(ended.status.what))
    assert ended.status.todo == TODO[ended.status.ending]  # type: ignore[index]  # not None, by the line above
    assert ended.status.ended is not None
    assert ended.resumable
    assert not (jobs.settings.models_dir / "mine").exists()
    assert trouble != "bug" or "KeyError" in jobs.log_tail(ended.id)


def test_resume_continues_and_gives_the_same_weights(jobs: Jobs, submit: Submit, run: Run) -> None:
    run(submit("whole"))
    ended = run(submit(trouble="killed"))
    again = jobs.resume(ended.id)
    assert (again.state, again.queue_position, again.status.attempt) == ("queued", 1, 1)
    # The trouble is the same again, so that it never comes by: once more, without.
    rewrite(jobs, ended.id, "spec", lambda spec: spec["config"].update(trouble="none"))
    done = run(again)
    assert (done.state, done.status.attempt) == ("done", 2)
    assert done.result["begun_at"] == 2
    assert weights("mine") == weights("whole")
    assert done.seconds > ended.seconds > 0  # those of both attempts
    assert [e["step"] for e in jobs.list_events(done.id) if e["kind"] == "step"][-1] == 5


def test_cancel_queued_job(jobs: Jobs, submit: Submit, run: Run) -> None:
    first, second = submit("first"), submit("second")
    assert (first.queue_position, second.queue_position) == (1, 2)
    gone = jobs.cancel(first.id, by="Bob")
    assert (gone.state, gone.cancelled_by, gone.queue_position) == ("cancelled", "Bob", None)
    assert jobs.job(second.id).queue_position == 1
    assert run(first).state == "cancelled"
    # Resumed it stands at the end of the queue.
    assert jobs.resume(first.id).queue_position == 2
    assert [job.name for job in jobs.queued()] == ["second", "first"]
    assert jobs.job(first.id).cancelled_by is None


def cancel_running(jobs: Jobs, job: Job, ready: Callable[[], bool]) -> tuple[Job, list[str]]:
    states: list[str] = []
    has_begun = threading.Event()

    def spawn(*arguments: Any) -> Any:
        process = fork_child(*arguments)
        has_begun.set()
        return process

    def cancel() -> None:
        has_begun.wait()  # no thread may use the database while another one forks
        for _ in range(1200):
            if ready():
                break
            threading.Event().wait(0.05)
        states.append(jobs.cancel(job.id, by="Bob").state)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    run_job(jobs.handle(job.id), stopping=lambda: False, spawn=spawn)
    canceller.join()
    return jobs.job(job.id), states


def test_cancel_running_job_keeps_a_checkpoint(jobs: Jobs, submit: Submit, run: Run) -> None:
    reference = run(submit("whole", steps=30))
    job = submit(steps=30, pace=0.03)
    ended, states = cancel_running(jobs, job, lambda: jobs.job(job.id).progress is not None)
    assert states == ["cancelling"]
    assert (ended.state, ended.status.ending, ended.cancelled_by) == ("cancelled", "cancelled", "Bob")
    assert jobs.handle(job.id).checkpoints.is_dir()
    done = run(jobs.resume(job.id))
    assert done.state == reference.state == "done"
    assert 0 < done.result["begun_at"] < 30
    assert weights("mine") == weights("whole")


def test_cancel_unresponsive_training(jobs: Jobs, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "TERMINATE_AFTER", 0.1)
    monkeypatch.setattr(worker, "KILL_AFTER", 0.1)
    job = submit(trouble="stubborn")

    def deaf() -> bool:
        progress = jobs.job(job.id).progress
        return progress is not None and progress.what == "deaf"

    ended, _ = cancel_running(jobs, job, deaf)
    assert (ended.state, ended.status.ending) == ("cancelled", "cancelled")


def test_killed_after_publishing(jobs: Jobs, submit: Submit, run: Run) -> None:
    """The resumed job finds the published model instead of training it again."""
    done = run(submit())
    trained_weights = weights("mine")
    set_status(jobs, done.id, machine=machine_of(jobs.folder), state="running", ended=None)
    damage(jobs, done.id, "outcome")
    lost = jobs.job(done.id)
    assert (lost.state, lost.status.ending) == ("interrupted", "lost_worker")
    assert platform.node() in str(lost.status.what)
    inode = (jobs.settings.models_dir / "mine").stat().st_ino
    again = run(jobs.resume(done.id))
    assert (again.state, again.result, again.evaluation) == ("done", done.result, done.evaluation)
    assert (jobs.settings.models_dir / "mine").stat().st_ino == inode
    assert weights("mine") == trained_weights


def test_jobs_of_a_backup_go_on_where_it_is_restored(
    jobs: Jobs, submit: Submit, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, job = run(submit("first")), submit("second")
    events = jobs.list_events(done.id)
    backup(tmp_path / "backup.zip")
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "elsewhere"))
    restore(tmp_path / "backup.zip")
    restored = Jobs()
    assert restored.job(done.id) == done
    assert restored.list_events(done.id) == events
    assert restored.state.queued_ids(home_of(restored.folder)) == [job.id]
    run_job(restored.handle(job.id), stopping=lambda: False, spawn=fork_child)
    assert restored.job(job.id).state == "done"


def test_names_are_unique(jobs: Jobs, submit: Submit, run: Run) -> None:
    first = submit("mine")
    with pytest.raises(JobError, match=first.id):
        submit("MINE")
    with pytest.raises(TrainingError, match="expected a name"):
        submit("../mine")
    jobs.cancel(first.id, by="Ann")
    run(submit("mine"))
    with pytest.raises(TrainingError, match="mine"):
        jobs.resume(first.id)
    assert jobs.job(first.id).state == "cancelled"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("sixth", {}, {}), JobError, "sixth"),
        (("fifth", {"stepps": 1}, {}), SettingsError, "steps"),
        (("aeenc", {"rank": 0}, {"from_log": "x"}), TrainingError, "rank: "),
        (("aeenc", {}, {}), SettingsError, "--from-log"),
        (("aeenc", {}, {"trees": "/no/trees", "corpus": "/no/c"}), JobError, "/no/c"),
    ],
)
def test_invalid_submission(
    jobs: Jobs, arguments: tuple[Any, Any, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)):
        jobs.submit(*arguments, name="mine", by="Ann")
    assert jobs.jobs() == []
    assert not [path for path in jobs.folder.glob("*") if path.is_dir()]


def test_delete(jobs: Jobs, submit: Submit, run: Run) -> None:
    job = submit(trouble="killed")
    with pytest.raises(JobError, match="is queued; cancel it first"):
        jobs.delete(job.id)
    ended = run(job)
    assert jobs.disk(job.id) > 0
    assert hidden(jobs.settings.models_dir) == [f".job-{job.id}"]
    jobs.delete(ended.id)
    assert jobs.jobs() == []
    assert not hidden(jobs.settings.models_dir)
    with pytest.raises(UnknownJobError):
        jobs.job(job.id)
    finished_job = run(submit("mine"))
    jobs.delete(finished_job.id)
    assert resolve("mine").dimension == 64


def test_unreadable_job(jobs: Jobs, submit: Submit) -> None:
    first, second = submit("first"), submit("second")
    damage(jobs, first.id, "status")
    assert [job.name for job in Jobs().jobs()] == ["second"]
    other = Jobs()
    assert list(other.unreadable()) == [first.id]
    other.delete(first.id)
    assert other.unreadable() == {}
    assert other.job(second.id).queue_position == 1


def test_concurrent_workers_run_a_job_once(jobs: Jobs, submit: Submit) -> None:
    job = submit(steps=3, pace=0.1)

    def take(handle: JobHandle) -> Any:
        return run_job(handle, stopping=lambda: False, spawn=fork_child)

    with ThreadPoolExecutor(3) as threads:
        ends = list(threads.map(take, [Jobs().handle(job.id) for _ in range(3)]))
    assert [end.state for end in ends if end is not None] == ["done"]
    assert jobs.job(job.id).status.attempt == 1


def test_a_locked_database_refuses_the_job(jobs: Jobs, submit: Submit) -> None:
    submit("first")
    database = jobs.state._open()  # type: ignore[attr-defined]  # of a database
    object.__setattr__(database, "wait_seconds", 0.05)
    with database.writing(), pytest.raises(LockedDatabaseError):
        Jobs().submit("fifth", {}, {}, name="mine", by="Ann")
    assert [job.name for job in jobs.jobs()] == ["first"]


def test_late_outcome_is_ignored(jobs: Jobs, submit: Submit, run: Run) -> None:
    ended = run(submit(trouble="killed"))
    jobs.resume(ended.id)
    folder = jobs.handle(ended.id)
    assert folder.finish(Outcome(1, "done")).state == "queued"
    set_status(jobs, ended.id, machine="another", state="running", attempt=2, host="elsewhere")
    assert folder.finish(Outcome(1, "done")).state == "running"
    assert jobs.job(ended.id).state == "running"
    assert folder.finish(Outcome(2, "failed")).state == "failed"


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
        (chained(CheckpointError("not written"), OSError(errno.ENOSPC, "No space")), "disk_full"),
        # safetensors tells it as text
        (Exception("Error while serializing: I/O error: No space left (os error 28)"), "disk_full"),
        (OSError(errno.EACCES, "Permission denied"), "error"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out_of_memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory"),
        (EncoderError("no encoder is called 'x'"), "refused"),
    ],
)
def test_outcome_of_error(error: Exception, ending: str) -> None:
    outcome = outcome_of_error(3, error)
    assert (outcome.attempt, outcome.state, outcome.ending) == (3, "failed", ending)
    assert outcome.what
    assert outcome.todo == TODO[outcome.ending]  # type: ignore[index]  # not None, by the line above


@pytest.mark.parametrize(
    ("code", "memory", "state", "ending", "words"),
    [
        (-9, True, "failed", "out_of_memory", "OOM killer"),
        (-99, False, "interrupted", "killed", "99"),
        (EXITS["disk_full"], False, "failed", "disk_full", ""),
    ],
)
def test_outcome_of_exit(
    tmp_path: Path, code: int, memory: bool, state: str, ending: str, words: str
) -> None:
    outcome = outcome_of_exit(1, code, folder=tmp_path, out_of_memory=memory)
    assert (outcome.state, outcome.ending) == (state, ending)
    assert words in str(outcome.what)


def test_outcome_of_exit_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.jobs.record._LITTLE_SPACE", 1 << 62)
    assert outcome_of_exit(1, 1, folder=tmp_path, out_of_memory=False).ending == "disk_full"
