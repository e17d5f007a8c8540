"""Queue of job ids: Huey over SQLite in the data folder, or over Redis or PostgreSQL by URL.

The queue holds ids only; a job's folder holds its state. A lost queue therefore loses no job: a worker
enqueues again what is `queued`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from entail.data.private import make_folder
from entail.errors import JobError
from entail.masking import mask_url

_NAME = "entail-jobs"
_TASK = "train"


class JobQueue:
    """First-in, first-out queue of job ids; its methods raise `JobError` if it cannot be used.

    It is a file of SQLite in a folder, or at a `redis://` or `postgresql://` URL, which is never shown, as it
    may contain a password.
    """

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self._url = url or ""
        with self._explained("the queue cannot be opened"):
            self.huey = _open_huey(folder, url)
        # Huey leaves its connection to the garbage collector, which Python 3.13 warns of.
        weakref.finalize(self, self.huey.storage.close)
        self._work: Callable[[str], None] | None = None
        self._put = self.huey.task(name=_TASK)(self._run)

    def put(self, job_id: str) -> None:
        """Enqueue a job."""
        with self._explained("the job cannot be queued"):
            self._put(job_id)

    def waiting(self) -> list[str]:
        """Return the queued ids, the next one first."""
        with self._explained("the queue cannot be read"):
            return [task.args[0] for task in self.huey.pending()]

    def consumer(self, work: Callable[[str], None], *, jobs: int) -> Any:  # noqa: ANN401 - Huey has no types
        """Return a consumer that calls `work` with each id, in `jobs` threads."""
        self._work = work
        return self.huey.create_consumer(
            workers=jobs,
            worker_type="thread",
            periodic=False,
            initial_delay=0.1,
            max_delay=1.0,
            # A stopped worker does not wait here: its trainings stop with a checkpoint.
            shutdown_timeout=0.1,
        )

    def _run(self, job_id: str) -> None:
        if self._work is None:
            raise JobError(f"job {job_id} was dequeued by a process that is no worker")
        self._work(job_id)

    @contextlib.contextmanager
    def _explained(self, message: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            missing = "redis" in str(error) and importlib.util.find_spec("redis") is None
            hint = "; pip install redis" if missing else ""
            reason = f"{type(error).__name__}: {mask_url(str(error), self._url)}{hint}"
            raise JobError(f"{message}: {reason}") from None


def _open_huey(folder: Path, url: str | None) -> Any:  # noqa: ANN401 - Huey has no types
    import huey
    from huey.registry import Message
    from huey.serializer import Serializer

    class Json(Serializer):  # type: ignore[misc]  # Huey has no types
        """JSON messages in place of Huey's pickles."""

        def _serialize(self, data: Any) -> bytes:  # noqa: ANN401 - Huey's messages
            return json.dumps(data).encode()

        def _deserialize(self, data: bytes) -> Any:  # noqa: ANN401 - as above
            return Message(*json.loads(data))

    options: dict[str, Any] = {"results": False, "serializer": Json()}
    if url is None:
        make_folder(folder)
        return huey.SqliteHuey(_NAME, filename=str(folder / "queue.db"), strict_fifo=True, **options)
    if url.startswith("postgresql://"):
        return huey.PostgresHuey(_NAME, dsn=url, **options)
    return huey.RedisHuey(_NAME, url=url, **options)
