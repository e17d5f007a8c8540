"""Kills workers and trainings at random moments, and goes on until ten were struck; run by test_struck.

    python struck.py TREES FACTS SEED

Workers and trainings are forks of this process, since importing what trains takes longer than training.
What is printed at the end is JSON; a job that is lost, or an encoder that is half there, is an assertion.
"""

import functools
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from entail.encoders.catalogue import resolve
from entail.encoders.stock import sentence_transformer
from entail.jobs import child
from entail.jobs.folder import JobFolder
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.supervision import run_job
from entail.registry import promote

STRIKES = 10
CONFIG = {
    "base": "tiny",
    "rank": 4,
    "epochs": 2,
    "rounds": 2,
    "batch_size": 4,
    "k": 8,
    "learning_rate": 0.02,
    "precision": "fp32",
}


class Forked:
    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        done, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if done else None


def fork_child(job: JobFolder, attempt: int, lock: int, pipe: int) -> Forked:
    pid = os.fork()
    if pid:
        return Forked(pid)
    os.setsid()
    # As subprocess does: the end of the pipe that says that the worker lives is the worker's alone.
    for held in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, not files
        if held > 2 and held not in (lock, pipe):
            try:
                os.close(held)
            except OSError:
                continue
    log = os.open(job.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os._exit(child.main([str(job.path), str(attempt), str(pipe)]))


def worker_for(jobs: Jobs, job_id: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    run_job(jobs.folder_of(job_id), stopping=lambda: False, spawn=fork_child)
    os._exit(0)


def encoder(models: Path, name: str) -> dict[str, bytes]:
    folder = models / name
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    # The card says what it is called.
    return {path: held.replace(name.encode(), b"it") for path, held in files.items()}


def check(jobs: Jobs, job_id: str, whole: dict[str, bytes]) -> Job:
    """Wait until nobody is at a job; it is in a state that is one, and its encoder is whole or not there."""
    job = jobs.job(job_id)
    for _ in range(1200):
        if job.state != "running":
            break
        time.sleep(0.05)
        job = jobs.job(job_id)
    assert job.state in ("queued", "interrupted", "done"), (job.state, job.status.what, jobs.log_tail(job_id))
    assert [found.id for found in Jobs().jobs()].count(job_id) == 1
    target = jobs.settings.models_dir / job.name
    if target.exists():
        there = encoder(target.parent, job.name)
        other = [name for name in {*whole, *there} if whole.get(name) != there.get(name)]
        assert not other, (
            job.state,
            other,
            [(whole.get(n), there.get(n)) for n in other if n.endswith("json")],
        )
    assert target.exists() or job.state != "done"
    return job


def main() -> None:
    import faiss  # noqa: F401 - here, not in every child
    import peft  # noqa: F401 - as above
    import sentence_transformers  # noqa: F401 - as above

    import entail.aeenc.training
    import entail.index.factory  # noqa: F401 - as above

    # What the first loading of a model takes beyond the others is taken here.
    sentence_transformer(resolve("tiny"), device="cpu")
    trees, facts, seed = sys.argv[1:]
    draw = random.Random(int(seed))
    jobs = Jobs()
    models = jobs.settings.models_dir
    source = {"corpus": facts, "trees": trees, "dev": trees}
    child.Attempt = functools.partial(child.Attempt, checkpoint_seconds=0.0)  # type: ignore[assignment,misc]  # for this test
    promote("tiny", by="Ann", anyway=True)

    def submit(name: str) -> Job:
        return jobs.submit("aeenc", CONFIG, source, name=name, by="Ann")

    first = submit("struck-0")
    begun = time.monotonic()
    os.waitpid(worker_for(jobs, first.id), 0)
    length = time.monotonic() - begun
    assert jobs.job(first.id).state == "done", jobs.log_tail(first.id)
    whole = encoder(models, "struck-0")

    job = submit("struck-1")
    told: list[dict[str, Any]] = []
    names = 1
    while len(told) < STRIKES:
        worker = worker_for(jobs, job.id)
        victim = draw.choice(["worker", "training", "both"])
        # Anywhere: what is struck before it began, or after it was done, is looked at too.
        time.sleep(draw.uniform(0.0, 0.7 * length))
        pid = jobs.folder_of(job.id).status.pid
        for name, target in (("worker", worker), ("training", pid)):
            if victim in (name, "both") and target:
                try:
                    os.kill(target, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        os.waitpid(worker, 0)
        job = check(jobs, job.id, whole)
        told.append({"victim": victim, "state": job.state, "ending": job.status.ending})
        if job.state == "done":
            names += 1
            job = submit(f"struck-{names}")
        elif job.state == "interrupted":
            job = jobs.resume(job.id)
    os.waitpid(worker_for(jobs, job.id), 0)
    assert check(jobs, job.id, whole).state == "done"
    left = [path.name for path in models.iterdir() if path.name.startswith(".job")]
    sys.stdout.write(json.dumps({"told": told, "encoders": names, "left": left}) + "\n")


if __name__ == "__main__":
    main()
