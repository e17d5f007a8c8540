"""Two machines with nothing in common but a database and a store of artifacts."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from entail.data.bundled import sample_dir
from entail.encoders.catalogue import model_folder, resolve
from entail.errors import DataError, JobError
from entail.jobs import child
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.worker import run_job
from entail.registry import pointers
from entail.registry.models import active, promote, roll_back
from entail.trees.store.state import home_of
from tests.attack.forks import Fork
from tests.jobs.conftest import fork_child, run_to_its_end, weights
from tests.jobs.rows import rewrite, silence
from tests.support.machine import until

KILLS = int(os.environ.get("ENTAIL_JOB_KILLS", "5"))
STEPS = 12
Machine = Callable[[str], contextlib.AbstractContextManager[Jobs]]


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    is_s3 = getattr(request, "param", "folder") == "s3"
    return request.getfixturevalue("s3_url")() if is_s3 else str(tmp_path / "store")


@pytest.fixture
def machine(
    jobs: Jobs,
    blank_url: str,
    store_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Machine:
    """Return what makes this process one of the machines, with folders of its own."""
    monkeypatch.setattr(pointers, "FRESH", 0.0)
    monkeypatch.setitem(child.Attempt.__init__.__kwdefaults__, "checkpoint_seconds", 0.0)
    monkeypatch.setattr(child, "_PUSH_SHARE", 1e9)

    @contextmanager
    def become(name: str) -> Iterator[Jobs]:
        with monkeypatch.context() as patch:
            patch.setenv("ENTAIL_DATA_DIR", str(tmp_path / name / "data"))
            patch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / name / "models"))
            patch.setenv("ENTAIL_DATABASE_URL", blank_url)
            patch.setenv("ENTAIL_ARTIFACTS", store_url)
            (tmp_path / name / "models").mkdir(parents=True, exist_ok=True)
            yield Jobs()

    return become


@pytest.mark.parametrize(
    ("blank_url", "store_url"),
    [("sqlite", "s3"), pytest.param("postgres", "folder", marks=pytest.mark.postgres)],
    indirect=True,
)
def test_one_machine_begins_and_another_ends(machine: Machine) -> None:
    with machine("a") as jobs:
        assert run_to_its_end(jobs, jobs.submit("fifth", {}, {}, name="whole", by="Ann")).state == "done"
        expected = weights("whole")
        begun = run_to_its_end(jobs, jobs.submit("fifth", {"trouble": "killed"}, {}, name="mine", by="Ann"))
        assert begun.state == "interrupted"
        rewrite(jobs, begun.id, "spec", lambda spec: spec["config"].update(trouble="none"))
        jobs.handle(begun.id).log.write_text("a worked\n")
        jobs.handle(begun.id).push_log()
    with machine("b") as jobs:
        jobs.resume(begun.id)
        done = run_to_its_end(jobs, begun)
        assert (done.state, done.status.attempt) == ("done", 2)
        assert done.result["begun_at"] == 2
        assert weights("mine") == expected
        steps = [event["step"] for event in jobs.list_events(done.id) if event["kind"] == "step"]
        assert steps == sorted(set(steps))
        assert model_folder("whole") is None
        log = jobs.handle(done.id).log
        log.write_text(f"{log.read_text()}b worked\n")
        jobs.handle(done.id).push_log()
        with pytest.raises(Exception, match="whole"):
            jobs.submit("fifth", {}, {}, name="whole", by="Bob")
        promoted = promote("mine", by="Bob", anyway=True)
        promote("whole", by="Bob", anyway=True)
        assert weights("whole") == expected
        roll_back(by="Bob")
    with machine("a") as jobs:
        assert jobs.job(done.id) == done
        assert jobs.log_tail(done.id) == "a worked\nb worked"
        assert model_folder("mine") is None
        now = active()
        assert (now.encoder, now.revision, now.number) == ("mine", promoted.revision, 3)
        assert resolve("mine").revision == promoted.revision
        now.check()
        jobs.delete(done.id)
    with machine("c") as jobs:
        assert [job.name for job in jobs.jobs()] == ["whole"]
        assert active().encoder == "mine", "the model outlives its job"
        assert weights("mine") == expected


@pytest.mark.parametrize("blank_url", ["sqlite"], indirect=True)
def test_a_job_that_was_killed_after_its_model_was_stored(machine: Machine) -> None:
    with machine("a") as jobs:
        done = run_to_its_end(jobs, jobs.submit("fifth", {}, {}, name="mine", by="Ann"))
        expected = weights("mine")
        row = jobs.handle(done.id).row
        status = row.status.replace('"done"', '"interrupted"')
        assert jobs.state.change_job(row, status=status, state="interrupted", outcome=None)
    with machine("b") as jobs:
        jobs.resume(done.id)
        again = run_to_its_end(jobs, done)
        assert (again.state, again.result, again.evaluation) == ("done", done.result, done.evaluation)
        assert weights("mine") == expected


@pytest.mark.parametrize("blank_url", ["sqlite"], indirect=True)
def test_files_of_the_machine_that_submitted_are_read_by_the_other(machine: Machine) -> None:
    files = {"corpus": "premises.jsonl.gz", "trees": "trees.jsonl.gz"}
    with machine("a") as jobs:
        contents = {field: (sample_dir() / name).read_bytes() for field, name in files.items()}
        source = {field: jobs.keep_file(name, contents[field]) for field, name in files.items()}
        job = jobs.submit("aeenc", {}, source, name="mine", by="Ann")
        assert jobs.handle(job.id).source_values()["trees"] == str(source["trees"])
        for path in source.values():
            path.unlink()
    with machine("b") as jobs:
        assert jobs.state.queued_ids(home_of(jobs.folder)) == [job.id]
        values = jobs.handle(job.id).source_values()
        for field, name in files.items():
            assert Path(values[field]).read_bytes() == contents[field]
            assert Path(values[field]).name == name


@pytest.mark.parametrize("blank_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("store_url", [""])
def test_without_a_store_a_job_stays_on_its_machine(machine: Machine) -> None:
    with machine("a") as jobs:
        job = jobs.submit("fifth", {}, {}, name="mine", by="Ann")
        assert jobs.state.queued_ids(home_of(jobs.folder)) == [job.id]
    with machine("b") as jobs:
        assert [other.id for other in jobs.jobs()] == [job.id], "it is seen"
        assert jobs.state.queued_ids(home_of(jobs.folder)) == []


@pytest.mark.parametrize("blank_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("store_url", ["nosuch://store"])
def test_a_store_that_does_not_answer_refuses_the_job(machine: Machine) -> None:
    with machine("a") as jobs:
        with pytest.raises(DataError, match="ENTAIL_ARTIFACTS"):
            jobs.submit("fifth", {}, {}, name="mine", by="Ann")
        assert jobs.jobs() == []


def test_a_lost_lease_writes_nothing_any_more(machine: Machine) -> None:
    with machine("a") as jobs:
        job = jobs.submit("fifth", {}, {}, name="mine", by="Ann")
        lost = jobs.handle(job.id)
        lost.make_folder()
        assert (
            lost.claim(lambda status: type(status)("running", status.since, status.queued, 1, "a"))
            is not None
        )
        assert lost.beat()
        with machine("b") as second:
            assert second.job(job.id).state == "running"
            silence(jobs, job.id)
            assert second.job(job.id).status.ending == "lost_worker"
            second.resume(job.id)
            done = run_to_its_end(second, job)
            assert (done.state, done.status.attempt) == ("done", 2)
        assert not lost.beat()
        with pytest.raises(JobError):
            lost.write_attempt(result={})
        lost.add_events(['{"kind": "step"}'])
        assert jobs.job(job.id) == done
        assert {event["attempt"] for event in jobs.list_events(job.id)} == {2}


def strike(jobs: Jobs, job: Job, draw: random.Random, *, kill: bool) -> int:
    """Run a job, and kill its worker, its training or both at a random moment; return the number of kills."""
    handle, kills = jobs.handle(job.id), 0
    begun, step = handle.status.attempt, draw.randint(0, STEPS)
    worker = Fork(lambda report: run_job(handle, stopping=lambda: False, spawn=fork_child) and None)

    def is_time() -> bool:
        if worker.has_ended():
            return True
        return handle.status.attempt > begun and getattr(handle.load().progress, "done", 0) >= step

    if kill:
        until(is_time)
        time.sleep(draw.uniform(0.0, 0.1))
        training = handle.status.pid
        for victim in draw.choice([(worker.pid,), (training,), (worker.pid, training)]):
            if victim and handle.status.state == "running":
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself since
                    os.kill(victim, signal.SIGKILL)
                    kills += 1
    worker.join()
    until(lambda: jobs.job(job.id).state != "running")
    return kills


def test_kills(machine: Machine) -> None:
    """Workers and trainings of two machines are killed at random moments; every job ends once."""
    draw, kills, names = random.Random(53), 0, ["whole"]
    with machine("a") as jobs:
        job = run_to_its_end(jobs, jobs.submit("fifth", {"steps": STEPS}, {}, name="whole", by="Ann"))
        expected = weights("whole")
    while kills < KILLS or job.state != "done":
        with machine(draw.choice("ab")) as jobs:
            if job.state == "done":
                names.append(f"m{len(names)}")
                job = jobs.submit("fifth", {"steps": STEPS, "pace": 0.02}, {}, name=names[-1], by="Ann")
            elif job.resumable:
                job = jobs.resume(job.id)
            kills += strike(jobs, job, draw, kill=kills < KILLS)
            job = jobs.job(job.id)
            assert job.state in ("queued", "interrupted", "done"), (job.status.what, jobs.log_tail(job.id))
            if job.state == "done":
                assert weights(job.name) == expected
                ends = [event for event in jobs.list_events(job.id) if event.get("state") == "done"]
                # A training that was killed before its outcome was written is ended by the next attempt.
                assert sum(not event["published"] for event in ends) <= 1, "run to its end once"
    with machine("c") as jobs:
        assert sorted((job.name, job.state) for job in jobs.jobs()) == sorted((n, "done") for n in names)
