"""Training process: one attempt at one job.

    python -m entail.jobs.child FOLDER ATTEMPT PIPE

PIPE is a descriptor that closes when the worker ends, or stops this process. The outcome goes into
`outcome.json`, if that can be written, and into the exit code (`record.EXITS`).
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
from pathlib import Path
from typing import Any

from entail.data.stored import read_json
from entail.data.writing import write_text
from entail.errors import DataError, EntailError, JobError
from entail.jobs.candidates import compare_with_active, cross_validate
from entail.jobs.events import EventWriter
from entail.jobs.folder import JobFolder, staging_folder
from entail.jobs.record import EXITS, Outcome, make_outcome, outcome_of_error
from entail.progress import Progress
from entail.settings import load_settings
from entail.training.method import Run, method
from entail.trees.review.decisions import read_source

_ORPHAN_TIMEOUT = 30.0
"""Seconds in which a training without a worker has to write its checkpoint."""

_PROGRESS_EVERY = 0.25


class Attempt:
    """One attempt at the job of a folder, given by its number."""

    def __init__(self, folder: Path, attempt: int, *, checkpoint_seconds: float = 30.0) -> None:
        self.job = JobFolder(folder)
        self.attempt = attempt
        self.checkpoint_seconds = checkpoint_seconds
        self.orphaned = threading.Event()
        self._last_progress, self._what = float("-inf"), ""
        models = load_settings().models_dir
        self._staged = staging_folder(models, self.job.spec.id) / self.job.spec.name
        self._target = models / self.job.spec.name

    def run(self) -> Outcome:
        """Train, compare, publish the model; every error becomes an outcome."""
        events = EventWriter(self.job.events, attempt=self.attempt)
        try:
            # An earlier attempt may have been killed before it wrote its outcome.
            done = (
                self.job.read("result.json", dict[str, Any]) if self._is_published() else self._train(events)
            )
            outcome = Outcome(self.attempt, "done", result=done["result"], evaluation=done["evaluation"])
        except BaseException as error:
            # On a full disk the log cannot be written.
            with contextlib.suppress(OSError):
                traceback.print_exception(error)
            if self.job.cancel_request is not None:
                outcome = make_outcome(self.attempt, "cancelled")
            elif self.orphaned.is_set():
                outcome = make_outcome(self.attempt, "stopped_worker")
            else:
                outcome = outcome_of_error(self.attempt, error)
        events.write("end", state=outcome.state, ending=outcome.ending, what=outcome.what)
        return outcome

    def stop(self) -> bool:
        """Return whether to stop: a user cancelled the job, or the worker is gone."""
        return self.orphaned.is_set() or self.job.cancel_request is not None

    def _train(self, events: EventWriter) -> dict[str, Any]:
        """Return the content of `result.json`: result of the method, comparison with the active model."""
        spec = self.job.spec
        if self._target.exists():
            raise JobError(
                f"a model called {spec.name!r} exists meanwhile; submit the job again under another name"
            )
        trainer = method(spec.method)
        config = trainer.make_config(spec.config)
        data = read_source(trainer.make_source(spec.source), keep=self.job.path)
        shutil.rmtree(self._staged.parent, ignore_errors=True)
        self._staged.parent.mkdir(parents=True)
        run = Run(
            out=self._staged,
            work=self.job.checkpoints,
            device=spec.device,
            checkpoint_seconds=self.checkpoint_seconds,
            progress=self._report,
            watch=events,
            stop=self.stop,
        )
        result = {**trainer.train(data, config, run), "name": spec.name}
        if not self._staged.is_dir():
            raise JobError(f"the method {trainer.name!r} wrote no model into its folder")
        comparison, premises = None, getattr(data, "given", None)
        corpus = premises.name if premises is not None else None
        try:
            comparison = compare_with_active(
                trainer, self._staged, data, corpus=corpus, name=spec.name, progress=self._report
            ) or cross_validate(trainer, config, data, run, encoder=self._staged, corpus=corpus)
        except EntailError as error:
            if self.stop():
                raise
            failure = f"it could not be compared with the active model: {error}"
            result["warnings"] = [*result.get("warnings", ()), failure]
        done = {"result": result, "evaluation": comparison.to_json() if comparison is not None else None}
        write_text(self.job.path / "result.json", json.dumps(done, ensure_ascii=False))
        self._publish()
        return done

    def _publish(self) -> None:
        """Move the model under `models/` in one move; its inode is written first, see `_is_published`."""
        for file in self._staged.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        at = self._staged.stat()
        write_text(self.job.path / "placed.json", json.dumps([at.st_dev, at.st_ino]))
        try:
            self._staged.rename(self._target)
        except OSError as error:
            raise JobError(f"the model cannot be moved to {self._target.parent}: {error}") from error
        shutil.rmtree(self._staged.parent, ignore_errors=True)

    def _is_published(self) -> bool:
        try:
            published = read_json(self.job.path / "placed.json", object)
            at = self._target.stat()
        except (OSError, DataError):
            return False
        return bool(published == [at.st_dev, at.st_ino])

    def _report(self, progress: Progress) -> None:
        now = time.monotonic()
        unfinished, same = progress.done < progress.total, progress.what == self._what
        if unfinished and same and now - self._last_progress < _PROGRESS_EVERY:
            return
        self._last_progress, self._what = now, progress.what
        self.job.write_progress(progress)


def finish(job: JobFolder, outcome: Outcome) -> int:
    """Write the outcome, if the disk allows, and return the exit code."""
    try:
        job.write_outcome(outcome)
    except DataError as error:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{error}\n")
        if outcome.state == "done":
            return EXITS["disk_full"]
    return 0 if outcome.state == "done" or outcome.ending is None else EXITS[outcome.ending]


def main(arguments: list[str]) -> int:
    """Run one attempt."""
    folder, attempt, pipe = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    work = Attempt(folder, attempt)

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
