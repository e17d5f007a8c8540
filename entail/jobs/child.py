"""Training process: one attempt at one job.

    python -m entail.jobs.child JOB ATTEMPT PIPE

PIPE is a descriptor that closes when the worker ends, or stops this process. The outcome goes into the
database, if that answers, and into the exit code (`record.EXITS`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
import traceback
from dataclasses import asdict
from typing import Any

from entail.data.artifacts import model_artifact
from entail.data.stored import parse_as
from entail.errors import DatabaseError, EntailError, JobError
from entail.jobs.candidates import compare_with_active, cross_validate
from entail.jobs.events import EventWriter
from entail.jobs.handle import JobHandle, staging_folder
from entail.jobs.locks import machine_of
from entail.jobs.record import EXITS, Ending, Outcome, make_outcome, outcome_of_error
from entail.progress import Progress
from entail.settings import load_settings
from entail.training.loop.task import Event
from entail.training.method import Run, method
from entail.trees.review.decisions import read_source
from entail.trees.store.database import sqlite_file

_ORPHAN_TIMEOUT = 30.0
"""Seconds in which a training without a worker has to write its checkpoint."""

_PROGRESS_EVERY = 0.25

_PUSH_SHARE = 0.05
"""Largest share of the time for which a training waits until its checkpoints are with all machines."""


class Attempt:
    """One attempt at a job, given by its number."""

    def __init__(self, job: JobHandle, *, checkpoint_seconds: float = 30.0) -> None:
        self.job = job
        self.attempt = job.attempt
        self.checkpoint_seconds = checkpoint_seconds
        self.orphaned = threading.Event()
        self._last_progress, self._what = float("-inf"), ""
        self._next_push = time.monotonic() + checkpoint_seconds
        models = load_settings().models_dir
        self._spec = job.spec
        self._staged = staging_folder(models, job.id) / self._spec.name
        self._target = models / self._spec.name

    def run(self) -> Outcome:
        """Train, compare, publish the model; every error becomes an outcome."""
        events = EventWriter(self.job.add_events, attempt=self.attempt)
        published = None
        try:
            # An earlier attempt may have been killed before it wrote its outcome.
            published = self._published_result()
            done = published or self._train(events)
            outcome = Outcome(self.attempt, "done", result=done["result"], evaluation=done["evaluation"])
        except BaseException as error:
            # On a full disk the log cannot be written.
            with contextlib.suppress(OSError):
                traceback.print_exception(error)
            if self.orphaned.is_set():
                ending: Ending = "cancelled" if self._is_cancelled() else "stopped_worker"
                outcome = make_outcome(self.attempt, ending)
            else:
                outcome = outcome_of_error(self.attempt, error)
        end = {"state": outcome.state, "ending": outcome.ending, "what": outcome.what}
        events.write("end", **end, published=published is not None)
        return outcome

    def _is_cancelled(self) -> bool:
        with contextlib.suppress(EntailError):
            return self.job.cancel_request is not None
        return False

    def _train(self, events: EventWriter) -> dict[str, Any]:
        """Return the result of the method, and its comparison with the active model."""
        spec = self._spec
        if self._target.exists():
            raise JobError(
                f"a model called {spec.name!r} exists meanwhile; submit the job again under another name"
            )
        trainer = method(spec.method)
        config = trainer.make_config(spec.config)
        self.job.pull_checkpoint()
        source = trainer.make_source(self.job.source_values())
        data = read_source(source, keep=self.job.path, viewer=spec.viewer)
        shutil.rmtree(self._staged.parent, ignore_errors=True)
        self._staged.parent.mkdir(parents=True)
        run = Run(
            out=self._staged,
            work=self.job.checkpoints,
            device=spec.device,
            checkpoint_seconds=self.checkpoint_seconds,
            progress=self._report,
            watch=lambda event: self._watch(events, event),
            stop=self.orphaned.is_set,
        )
        try:
            result = {**trainer.train(data, config, run), "name": spec.name}
        except EntailError:
            with contextlib.suppress(EntailError):
                self.job.push_checkpoint()
            raise
        if not self._staged.is_dir():
            raise JobError(f"the method {trainer.name!r} wrote no model into its folder")
        comparison, premises = None, getattr(data, "given", None)
        corpus = premises.name if premises is not None else None
        try:
            comparison = compare_with_active(
                trainer, self._staged, data, corpus=corpus, name=spec.name, progress=self._report
            ) or cross_validate(trainer, config, data, run, encoder=self._staged, corpus=corpus)
        except EntailError as error:
            if self.orphaned.is_set():
                raise
            failure = f"it could not be compared with the active model: {error}"
            result["warnings"] = [*result.get("warnings", ()), failure]
        done = {"result": result, "evaluation": comparison.to_json() if comparison is not None else None}
        self.job.write_attempt(result=done)
        self._publish()
        return done

    def _watch(self, events: EventWriter, event: Event) -> None:
        """Write an event, and let all machines read the checkpoints now and then."""
        events(event)
        if (begun := time.monotonic()) >= self._next_push:
            with contextlib.suppress(EntailError):  # it is tried again
                self.job.push_checkpoint()
            now = time.monotonic()
            self._next_push = now + max(self.checkpoint_seconds, (now - begun) / _PUSH_SHARE)

    def _publish(self) -> None:
        """Move the model under `models/` in one move; its inode is written first, see `_published_result`."""
        for file in self._staged.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        if (store := self.job.artifacts) is not None:
            store.push([self._staged], model_artifact(self._spec.name, self.job.id))
        self._place()

    def _place(self) -> None:
        at = self._staged.stat()
        self.job.write_attempt(placed={"machine": machine_of(self.job.folder), "at": [at.st_dev, at.st_ino]})
        try:
            self._staged.rename(self._target)
        except OSError as error:
            raise JobError(f"the model cannot be moved to {self._target.parent}: {error}") from error
        shutil.rmtree(self._staged.parent, ignore_errors=True)

    def _published_result(self) -> dict[str, Any] | None:
        """Return the result of an earlier attempt whose model is published, None without one."""
        row, machine = self.job.row, machine_of(self.job.folder)
        if row.placed is None or row.result is None:
            return None
        with contextlib.suppress(OSError, ValueError):
            placed, result = json.loads(row.placed), parse_as(dict[str, Any], row.result)
            if placed["machine"] == machine:
                at = self._target.stat()
                return result if placed["at"] == [at.st_dev, at.st_ino] else None
            if (store := self.job.artifacts) is not None and not self._target.exists():
                shutil.rmtree(self._staged.parent, ignore_errors=True)
                store.pull(model_artifact(self._spec.name, self.job.id), self._staged.parent)
                self._place()
                return result
        return None

    def _report(self, progress: Progress) -> None:
        now = time.monotonic()
        unfinished, same = progress.done < progress.total, progress.what == self._what
        if unfinished and same and now - self._last_progress < _PROGRESS_EVERY:
            return
        self._last_progress, self._what = now, progress.what
        with contextlib.suppress(DatabaseError, JobError):  # it is written again, or the lease is lost
            self.job.write_attempt(progress=asdict(progress))


def finish(job: JobHandle, outcome: Outcome) -> int:
    """Write the outcome, if the database answers, and return the exit code."""
    try:
        job.write_attempt(outcome=outcome.to_json())
    except EntailError as error:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{error}\n")
        if outcome.state == "done":  # the model is there: the job finds it when it is resumed
            return EXITS["disk_full" if sqlite_file(job.settings.database_url) else "refused"]
    return 0 if outcome.state == "done" or outcome.ending is None else EXITS[outcome.ending]


def main(arguments: list[str]) -> int:
    """Run one attempt."""
    job_id, attempt, pipe = arguments[0], int(arguments[1]), int(arguments[2])
    work = Attempt(JobHandle(job_id, load_settings(), attempt=attempt))

    def watch_worker() -> None:
        os.read(pipe, 1)
        work.orphaned.set()
        time.sleep(_ORPHAN_TIMEOUT)
        # The current piece of work does not call `stop`.
        os._exit(EXITS["stopped_worker"])

    threading.Thread(target=watch_worker, name="watch the worker", daemon=True).start()
    return finish(work.job, work.run())


if __name__ == "__main__":
    _code = main(sys.argv[1:])
    for _stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            _stream.flush()
    # The worker reads the exit code: nothing at shutdown may change it.
    os._exit(_code)
