"""An installation with something of everything on its disk."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from entail.jobs.handle import columns_of
from entail.jobs.jobs import Jobs
from entail.jobs.record import JobSpec, State, Status
from entail.settings import load_settings
from entail.trees.store.state import JobRow


def add_job(jobs: Jobs, number: int, state: State) -> str:
    """Put a job into the data folder as a worker would have left it, with a checkpoint of 2,000 bytes."""
    job_id, now = f"20260101-00000{number}-abcdef", datetime(2026, 1, 1, tzinfo=UTC)
    folder = jobs.folder / job_id
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "step.safetensors").write_bytes(b"0" * 2_000)
    spec = JobSpec(job_id, "aeenc", {}, {}, "gold trees", f"mine-{number}", "Ada", now)
    status = Status(state=state, since=now, queued=now, started=now, ended=now, attempt=1)
    row = JobRow(id=job_id, name=spec.name, spec=json.dumps(spec.to_json()), **columns_of(status))
    assert jobs.state.add_job(row)
    (folder / "log.txt").write_text("a step was made\n")
    return job_id


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Return the jobs of an empty installation."""
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "models").mkdir()
    (tmp_path / "data").mkdir()
    return Jobs(load_settings())
