"""The process that trains: one attempt at one job, of which the worker sees how it ended.

    python -m entail.jobs.child FOLDER ATTEMPT PIPE

PIPE is a descriptor that ends when the worker does, or wants this process to. Whatever happens here is told
in `outcome.json`, where that can be written, and by the exit code (`endings.EXITS`).
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
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from entail.data.writing import write_text
from entail.errors import DataError, EntailError, JobError
from entail.jobs.endings import EXITS, ended, outcome_of_error
from entail.jobs.events import EventWriter
from entail.jobs.folder import JobFolder
from entail.jobs.method import Method, Run, method
from entail.jobs.record import Outcome
from entail.progress import Progress
from entail.settings import load_settings

ORPHANED = 30.0
"""Seconds that a training without a worker is given to write its checkpoint."""

TELLS = 0.25
"""Seconds between two signs of progress."""


class Attempt:
    """One attempt at one job.

    Args:
        folder: The job's.
        attempt: Its number.
        checkpoint_seconds: Between two checkpoints.
    """

    def __init__(self, folder: Path, attempt: int, *, checkpoint_seconds: float = 30.0) -> None:
        self.job = JobFolder(folder)
        self.attempt = attempt
        self.checkpoint_seconds = checkpoint_seconds
        self.orphaned = threading.Event()
        self._told, self._what = float("-inf"), ""
        models = load_settings().models_dir
        self._staged = staging(models, self.job.spec.id) / self.job.spec.name
        self._target = models / self.job.spec.name

    def run(self) -> Outcome:
        """Train, compare, put the encoder in its place; every error becomes an outcome."""
        events = EventWriter(self.job.events, attempt=self.attempt)
        try:
            outcome = self._work(events)
        except BaseException as error:
            # On a full disk the log takes no more.
            with contextlib.suppress(OSError):
                traceback.print_exception(error)
            outcome = self._failed(error)
        events.write("end", state=outcome.state, ending=outcome.ending, what=outcome.what)
        return outcome

    def stop(self) -> bool:
        """Say whether to stop: somebody wishes it, or the worker is gone."""
        return self.orphaned.is_set() or self.job.wish() is not None

    def _failed(self, error: BaseException) -> Outcome:
        if self.job.wish() is not None:
            return ended(self.attempt, "cancelled")
        if self.orphaned.is_set():
            return ended(self.attempt, "stopped_worker")
        return outcome_of_error(self.attempt, error)

    def _work(self, events: EventWriter) -> Outcome:
        spec = self.job.spec
        if self._is_placed():
            # Killed when all was done, and before it could say so.
            return self._done(json.loads((self.job.path / "result.json").read_text(encoding="utf-8")))
        if self._target.exists():
            raise JobError(
                f"there is an encoder called {spec.name!r} by now, and decisions may rest on it; submit this "
                "anew under another name"
            )
        how = method(spec.method)
        config = how.configured(spec.config)
        data = how.reading(spec.source).read(keep=self.job.path)
        shutil.rmtree(self._staged.parent, ignore_errors=True)
        self._staged.parent.mkdir(parents=True)
        result = dict(
            how.train(
                data,
                config,
                Run(
                    out=self._staged,
                    work=self.job.checkpoints,
                    device=spec.device,
                    checkpoint_seconds=self.checkpoint_seconds,
                    progress=self._tell,
                    watch=events,
                    stop=self.stop,
                ),
            )
        )
        if not self._staged.is_dir():
            raise JobError(f"the method {how.name!r} wrote no encoder into the folder that it was given")
        evaluation, why_not = self._compare(how, data)
        if why_not:
            result["warnings"] = [*result.get("warnings", ()), why_not]
        told = {"result": {**result, "name": spec.name}, "evaluation": evaluation}
        write_text(self.job.path / "result.json", json.dumps(told, ensure_ascii=False))
        self._place()
        return self._done(told)

    def _done(self, told: Mapping[str, Any]) -> Outcome:
        return Outcome(self.attempt, "done", result=told["result"], evaluation=told["evaluation"])

    def _compare(
        self,
        how: Method,
        data: Any,  # noqa: ANN401 - the method's own
    ) -> tuple[dict[str, Any] | None, str | None]:
        """Return the candidate's figures beside the active encoder's, or why there are none."""
        from entail.jobs.candidates import compared_with, fairly

        try:
            candidate = how.evaluate(self._staged, data, self._tell)
            if candidate is None:
                return None, None
            # It is measured where it is not yet in its place, and shall be known by its name there.
            candidate = replace(candidate, encoder=self.job.spec.name)
            given = getattr(data, "given", None)
            name = compared_with(how, given.name if given is not None else None)
            present = how.evaluate(name, data, self._tell) if name is not None else None
            if present is None or name is None:
                return None, None
            return fairly(present, candidate, names=(name, str(self._staged))).to_json(), None
        except EntailError as error:
            return None, f"it could not be compared with the active encoder: {error}"

    def _place(self) -> None:
        """Move the encoder under `models/`, whole; what was moved is remembered first."""
        for file in self._staged.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
        at = self._staged.stat()
        write_text(self.job.path / "placed.json", json.dumps([at.st_dev, at.st_ino]))
        try:
            self._staged.rename(self._target)
        except OSError as error:
            raise JobError(f"the encoder cannot be put into {self._target.parent}: {error}") from error
        shutil.rmtree(self._staged.parent, ignore_errors=True)

    def _is_placed(self) -> bool:
        try:
            remembered = json.loads((self.job.path / "placed.json").read_text(encoding="utf-8"))
            at = self._target.stat()
        except (OSError, ValueError):
            return False
        return bool(remembered == [at.st_dev, at.st_ino])

    def _tell(self, progress: Progress) -> None:
        now = time.monotonic()
        known, same = progress.done < progress.total, progress.what == self._what
        if known and same and now - self._told < TELLS:
            return
        self._told, self._what = now, progress.what
        self.job.tell(progress)


def staging(models: Path, job_id: str) -> Path:
    """Return the folder in which a job's encoder is made; no catalogue lists what begins with a dot."""
    return models / f".job-{job_id}"


def finish(job: JobFolder, outcome: Outcome) -> int:
    """Tell how it ended, by file where that can be written, and return the exit code."""
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
        time.sleep(ORPHANED)
        # Whatever it is at does not ask whether to stop.
        os._exit(EXITS["stopped_worker"])

    threading.Thread(target=watch_worker, name="watch the worker", daemon=True).start()
    return finish(work.job, work.run())


if __name__ == "__main__":
    _code = main(sys.argv[1:])
    for _stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            _stream.flush()
    # The code is the message: nothing on the way out may change it.
    os._exit(_code)
