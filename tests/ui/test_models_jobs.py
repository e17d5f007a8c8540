"""Jobs on the Models page: queue, progress, end and what to do, broken folders, charts."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.child import Attempt, finish
from entail.jobs.events import panels
from entail.jobs.handle import JobHandle
from entail.jobs.record import Ending, Job, Outcome, make_outcome
from entail.jobs.worker import run_job
from entail.progress import Progress
from entail.ui.models.job import describe
from entail.ui.shared.resources import jobs
from tests.jobs.rows import damage, rewrite
from tests.ui.conftest import buttons, keys, named, said, settled

View = Callable[..., AppTest]


def at(app: AppTest, **address: str) -> AppTest:
    app.query_params.clear()
    app.query_params.update(address)
    return app.run()


def submit(name: str = "mine", **config: Any) -> Job:
    return jobs().submit("fifth", config, {}, name=name, by="Bob")


def trained_here(job: Job, training: Callable[[JobHandle, int], int]) -> Job:
    """Return a job after a training within this process, which returns the exit code."""

    def spawn(folder: JobHandle, attempt: int, lock: int, pipe: int) -> Any:
        code = training(folder, attempt)
        return SimpleNamespace(pid=0, poll=lambda: code)

    run_job(jobs().handle(job.id), stopping=lambda: False, spawn=spawn)
    return jobs().job(job.id)


def end(job: Job, outcome: Callable[[JobHandle, int], Outcome]) -> Job:
    """Return a job after a training with this outcome."""

    def training(folder: JobHandle, attempt: int) -> int:
        folder.write_attempt(outcome=outcome(folder, attempt).to_json())
        return 0

    return trained_here(job, training)


def killed(folder: JobHandle, attempt: int) -> Outcome:
    return make_outcome(attempt, "killed")


def test_the_list_has_the_queue_in_order_and_ended_jobs(view: View) -> None:
    failed = end(
        submit("first"), lambda job, attempt: make_outcome(attempt, "diverged", "the loss is *no* number")
    )
    waiting = [submit(name) for name in ("second", "third", "fourth")]
    app = view()
    words = said(app)
    offsets = [words.index(f"**{job.name}**") for job in waiting]
    assert offsets == sorted(offsets)
    assert "the loss is *no* number" in words
    assert len(buttons(app, "open-")) == 4
    app.button(key=f"open-{failed.id}").click().run()
    assert app.query_params["job"] == failed.id
    assert "#### first" in said(app)


def test_a_job_is_cancelled_resumed_and_deleted_by_who_has_a_name(view: View) -> None:
    submit("first")
    job = submit("second")
    assert view(author=None, job=job.id).button(key="cancel_job").disabled
    app = view(job=job.id)
    assert "number 2" in said(app)
    app.button(key="cancel_job").click().run()
    cancelled = jobs().job(job.id)
    assert (cancelled.state, cancelled.cancelled_by) == ("cancelled", "Ada")
    app.button(key="resume_job").click().run()
    assert jobs().job(job.id).state == "queued"
    assert "cancel_job" in keys(app)
    end(job, killed)
    app = view(author=None, job=job.id)
    assert app.button(key="resume_job").disabled
    assert app.button(key="delete_job_now").disabled
    assert [field for field in app.text_input if field.label == "Your name"]
    app = view(job=job.id)
    app.button(key="delete_job_now").click().run()
    assert [other.name for other in jobs().jobs()] == ["first"]
    assert "job" not in app.query_params


def test_a_running_job_shows_progress_charts_warnings_and_log(view: View) -> None:
    job = submit()
    pages: list[AppTest] = []

    def look(folder: JobHandle, attempt: int) -> Outcome:
        folder.write_attempt(progress=asdict(Progress(5, 10, 1.0, "wandering", "steps")))
        folder.log.write_text("a library says something\n", encoding="utf-8")
        event = step(1, 0.1, loss=2.0, active=0.5) | {"at": 1.0, "attempt": 1, "memory": {"gpu": 2**20}}
        folder.add_events([json.dumps(event)])
        pages.append(view(job=job.id))
        return killed(folder, attempt)

    end(job, look)
    (app,) = pages
    (bar,) = app.get("progress")
    assert "5 of 10 steps" in bar.proto.text
    assert len(app.get("vega_lite_chart")) == 4
    assert app.code[0].value == "a library says something"
    assert {"cancel_job", "like_job"} <= keys(app)
    assert "delete_job_now" not in keys(app)


@pytest.mark.parametrize(
    ("ending", "state", "todo", "primary"),
    [
        ("diverged", "failed", "lower learning_rate", "like_job"),
        ("disk_full", "failed", "free space", "resume_job"),
        ("out_of_memory", "failed", "smaller batch_size", "resume_job"),
        ("killed", "was interrupted", "last checkpoint", "resume_job"),
    ],
)
def test_an_end_shows_its_cause_and_the_remedy(
    view: View, ending: Ending, state: str, todo: str, primary: str
) -> None:
    job = end(submit(), lambda folder, attempt: make_outcome(attempt, ending, "it *broke*"))
    app = view(job=job.id)
    assert f"** {state} after" in said(app)
    assert "it *broke*" in said(app)
    assert todo in said(app).partition("**What to do:**")[2]
    # A repetition of the same failure is no first choice.
    kinds = {key: app.button(key=key).proto.type for key in ("resume_job", "like_job")}
    assert kinds == {"resume_job": "secondary", "like_job": "secondary"} | {primary: "primary"}


@pytest.mark.parametrize(("role", "page"), [(None, "Trees page"), ("direction", "Direction page")])
def test_a_done_job_leads_to_its_promotion(
    view: View, models: Path, monkeypatch: pytest.MonkeyPatch, role: str | None, page: str
) -> None:
    done = trained_here(submit(steps=3), lambda folder, _: finish(folder, Attempt(folder).run()))
    if role is not None:
        monkeypatch.setattr("entail.ui.models.job.role_of", lambda name: role)
    app = view(job=done.id)
    assert page in str(app.success[0].value)
    assert "it only wanders" in said(app)
    assert list(app.dataframe[0].value["measure"]) == ["luck"]
    assert app.button(key="promote_job").proto.type == "primary"
    with monkeypatch.context() as patch:
        patch.setattr(PairedComparison, "verdict", "worse")
        assert view(job=done.id).button(key="promote_job").proto.type == "secondary"
    app.button(key="promote_job").click().run()
    assert app.session_state["models_view"] == "Installed"
    assert app.session_state["models_encoder"] == "mine"
    assert "job" not in app.query_params
    shutil.rmtree(models / "mine")
    app = view(job=done.id)
    assert not app.success
    assert "promote_job" not in keys(app)


def test_settings_are_duplicated(view: View) -> None:
    job = end(submit(steps=41, pace=0.5), killed)
    app = view(job=job.id)
    app.button(key="like_job").click().run()
    assert app.query_params["like"] == job.id
    assert named(app.number_input, "Steps").value == 41
    named(app.number_input, "Steps").set_value(42).run()
    settled(named(app.button, "Start training").click().run())
    newest = jobs().jobs()[0]
    assert (newest.spec.config["steps"], newest.spec.config["pace"]) == (42, 0.5)
    assert (newest.spec.source, newest.spec.about) == (job.spec.source, job.spec.about)


def test_broken_and_missing_jobs_and_methods(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, strange, gone = submit("broken"), submit("strange"), submit("gone")
    damage(jobs(), broken.id, "status")
    rewrite(jobs(), strange.id, "spec", lambda spec: spec.update(method="seventh"))
    app = view(job=broken.id)
    assert broken.id in said(app)
    app.button(key="all_jobs_button").click().run()
    assert "cannot be read" in said(app)
    assert "new_training" in keys(app)
    at(app, job=strange.id)
    assert "strange was trained by seventh" in said(at(app, job="new", like=strange.id))
    jobs().state.delete_job(gone.id)
    for odd in (gone.id, "../../etc", "%00", "x" * 5000, "<b>", "20260101-000000-abcdef"):
        assert "no job has the id" in said(at(app, job=odd))
    # A demo shows what is broken and offers nothing that it would refuse.
    with monkeypatch.context() as demo:
        demo.setenv("ENTAIL_DEMO", "1")
        app = at(app)
        assert "cannot be read" in said(app)
        assert f"delete-{broken.id}" not in keys(app)
        assert f"open-{strange.id}" in keys(app)
        assert "new_training" not in keys(app)
        assert not {"cancel_job", "like_job"} & keys(at(app, job=strange.id))
    at(app).button(key=f"delete-{broken.id}").click().run()
    assert not jobs().unreadable()


def step(number: int, rate: float | None = None, **terms: float) -> dict[str, Any]:
    return {"kind": "step", "step": number, "epoch": 0, "learning_rate": rate, "terms": terms}


def dev(number: int, score: float, **figures: float) -> dict[str, Any]:
    return {"kind": "evaluation", "step": number, "epoch": 0, "score": score, "figures": figures}


def test_terms_of_the_loss_share_a_chart_and_repeated_dev_figures_are_left_out() -> None:
    charts = panels(
        [
            step(1, 0.1, loss=3.0, triplet=2.5, active=0.9),
            dev(1, 0.4, **{"query_excluded.MAP": 0.4, "paper.MAP": 0.3}),
            step(2, 0.2, loss=2.0, triplet=1.5, active=0.4),
            dev(2, 0.5, **{"query_excluded.MAP": 0.5, "paper.MAP": 0.4}),
        ]
    )
    assert [(panel.title, panel.series) for panel in charts] == [
        ("Loss and its terms", ("loss", "triplet")),
        ("Dev figures, query excluded", ("MAP",)),
        ("Dev figures, paper", ("MAP",)),
        ("Learning rate", ("learning rate",)),
        ("Active triplets (share)", ("active",)),
    ]
    assert describe(charts[0]).endswith("loss 2, triplet 1.5")
    assert panels([]) == []
    assert [panel.series for panel in panels([dev(1, 0.4, MAP=0.4), dev(2, 0.6, MAP=0.5)])] == [
        ("dev", "MAP")
    ]
