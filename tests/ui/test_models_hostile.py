"""Models page with broken, deleted and oddly named jobs and encoders, and in a demo."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.jobs.child import Attempt, finish
from entail.jobs.folder import JobFolder
from entail.jobs.record import Job
from entail.jobs.supervision import run_job
from entail.ui.models.comparison import splits
from entail.ui.shared.resources import Workspace, jobs
from tests.ui.conftest import said

ODD = "a|b *c* <i> :sun: $x$"


class Ended:
    pid = 0

    def poll(self) -> int:
        return 0


def submit(name: str = "mine") -> Job:
    return jobs().submit("fifth", {"steps": 2}, {}, name=name, by="Bob")


def train(job: Job) -> None:
    def here(folder: JobFolder, attempt: int, lock: int, pipe: int) -> Ended:
        finish(folder, Attempt(folder.path, attempt).run())
        return Ended()

    run_job(jobs().folder_of(job.id), stopping=lambda: False, spawn=here)


def rewrite(job: Job, file: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what stands in a job's folder, as another version, or a hand, may have left it."""
    path = jobs().folder_of(job.id).path / file
    told = json.loads(path.read_text(encoding="utf-8"))
    change(told)
    path.write_text(json.dumps(told), encoding="utf-8")
    jobs().folder_of(job.id)._spec = None  # which never changes, and is remembered


def at(app: AppTest, **address: str) -> AppTest:
    app.query_params.clear()
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def test_addresses_of_jobs_that_are_broken_gone_or_of_a_method_that_is_gone(
    view: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, strange, gone = submit("broken"), submit("strange"), submit("gone")
    (jobs().folder_of(broken.id).path / "status.json").write_text("{", encoding="utf-8")
    rewrite(strange, "spec.json", lambda told: told.update(method="seventh"))
    app = view(job=broken.id)
    assert "status.json" in said(app)
    app.button(key="all_jobs_button").click().run()
    assert "cannot be read" in said(app)
    app = at(app, job=strange.id)
    assert not app.exception
    app = at(app, job="new", like=strange.id)
    assert "strange was trained by seventh" in said(app)
    app = at(app, job=gone.id)
    assert "#### gone" in said(app)
    shutil.rmtree(jobs().folder_of(gone.id).path)
    app.run()
    assert not app.exception
    assert f"no job has the id '{gone.id}'" in said(app)
    for odd in ("../../etc", "%00", "x" * 5000, "<b>", "2"):
        assert "no job has the id" in said(at(app, job=odd))
    # A demo shows what is broken and offers nothing that it would refuse.
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    app = at(app)
    assert "cannot be read" in said(app)
    assert f"delete-{broken.id}" not in {str(button.key) for button in app.button}


def test_a_job_that_another_version_wrote(view: Callable[..., AppTest]) -> None:
    job = submit()
    train(job)
    rewrite(job, "spec.json", lambda told: told["config"].update(gone_by_now=3))
    rewrite(job, "outcome.json", lambda told: told.update(evaluation={"score": 1}))
    app = view(job=job.id)
    assert "gone_by_now".replace("_", " ").capitalize() in list(app.dataframe[0].value["setting"])
    assert app.button(key="promote_job")
    app = at(app, job="new", like=job.id)
    assert "expected" not in said(app)


def test_a_job_whose_encoder_was_taken_away(view: Callable[..., AppTest], models: Path) -> None:
    job = submit()
    train(job)
    assert view(job=job.id).success
    shutil.rmtree(models / "mine")
    app = view(job=job.id)
    assert not app.success
    assert "promote_job" not in {str(button.key) for button in app.button}


def test_what_is_no_encoder_is_not_offered_as_one(
    view: Callable[..., AppTest], fifth: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()
    train(job)
    scores = replace(fifth, encodes=False, makes="a scorer of facts", use="the Chains page builds by it")
    monkeypatch.setattr("entail.ui.models.job.methods", lambda: {"fifth": scores})
    app = view(job=job.id)
    assert "It is a scorer of facts: the Chains page builds by it" in said(app)
    assert "Ranked by" not in said(app)
    assert "promote_job" not in {str(button.key) for button in app.button}


def test_deleted_by_another_between_two_looks(
    view: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()
    train(job)
    folder = jobs().folder_of(job.id).path

    def vanish(self: Any, job_id: str, **options: Any) -> Any:
        shutil.rmtree(folder, ignore_errors=True)
        return self.folder_of(job_id)

    monkeypatch.setattr(type(jobs()), "list_events", vanish)
    app = view(job=job.id)
    assert "no job has the id" in said(app)


def test_an_encoder_that_says_odd_things_of_itself_and_goes_while_it_is_shown(
    app: AppTest, shared: Workspace, trained: Callable[..., Path], tiny_home: Path
) -> None:
    trained(trained_on={"queries": "many", "data": [ODD, 3]}, licence=ODD, figures={"measured": "none"})
    (tiny_home / ODD).mkdir()
    app.session_state["models_encoder"] = "mine"
    app = at(app.switch_page("pages/Models.py"))
    assert app.selectbox(key="models_encoder").value == "mine"
    table = next(str(m.value) for m in app.markdown if "Location" in str(m.value))
    assert "<i>" not in table
    assert "a|b" not in table, "what it says is no table, no emphasis and no HTML"
    for view in ("Figures", "Card", "Promote", "Memory and speed"):
        app.segmented_control(key="models_encoder_view").set_value(view).run()
        assert not app.exception
    shutil.rmtree(tiny_home / "mine")
    app.run()
    assert not app.exception
    assert app.selectbox(key="models_encoder").value == "minilm"
    for address in ({"models_view": "Nonsense"}, {"candidate": "mine"}, {"candidate": "../.."}):
        app = at(app, **address)
        assert app.selectbox(key="models_encoder")


def test_splits_of_broken_links_and_folders_are_skipped(shared: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "splits"
    folder.mkdir()
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "folder.jsonl").mkdir()
    (folder / "dev.jsonl").touch()
    (corpus,) = shared.corpora.corpora()
    names = [split.name for split in splits(shared, None, corpus)]
    assert [name for name in names if name.startswith(("gone", "folder"))] == []
    assert any(name.startswith("dev.jsonl") for name in names)
