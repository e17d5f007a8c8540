"""Queue of job ids, without workers."""

import gc
from pathlib import Path

import psutil

from entail.jobs.queue import JobQueue


def test_a_queue_that_is_gone_leaves_no_file_open(tmp_path: Path) -> None:
    queue = JobQueue(tmp_path)
    queue.put("a")
    assert open_files(tmp_path)
    connection = queue.huey.storage.conn
    del queue
    gc.collect()
    # Held here, the connection is closed by nobody but the queue.
    assert connection is not None
    assert not open_files(tmp_path)


def open_files(folder: Path) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if Path(file.path).parent == folder]
