"""Training view of the Models page: form, queue, progress and end, with an unknown method."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.bundled import sample_corpus
from entail.data.corpora import read_corpus
from entail.data.records import Corpus, Premise
from entail.jobs.child import Attempt, finish
from entail.jobs.endings import make_outcome
from entail.jobs.folder import JobFolder
from entail.jobs.record import Ending, Job, Outcome
from entail.jobs.supervision import run_job
from entail.progress import Progress
from entail.training import method
from entail.trees.log.acts import Accept, Create
from entail.ui.shared.resources import Workspace, jobs
from tests.ui.conftest import named, said

FACTS = Corpus.of("sky", ["ice is cold", "snow is a kind of ice", "fire is hot", "steam is a gas"])


@dataclass
class Gone:
    """What trains, within this process: it has ended."""

    code: int = 0
    pid: int = 0

    def poll(self) -> int:
        return self.code


def submit(name: str = "mine", **config: Any) -> Job:
    return jobs().submit("fifth", config, {}, name=name, by="Bob")


def end(job: Job, how: Callable[[JobFolder, int], Outcome]) -> Job:
    def at_it(folder: JobFolder, attempt: int, lock: int, pipe: int) -> Gone:
        folder.write_outcome(how(folder, attempt))
        return Gone()

    run_job(jobs().folder_of(job.id), stopping=lambda: False, spawn=at_it)
    return jobs().job(job.id)


def train(job: Job) -> Job:
    def here(folder: JobFolder, attempt: int, lock: int, pipe: int) -> Gone:
        return Gone(finish(folder, Attempt(folder.path, attempt).run()))

    run_job(jobs().folder_of(job.id), stopping=lambda: False, spawn=here)
    return jobs().job(job.id)


def keys(app: AppTest) -> set[str]:
    return {str(button.key) for button in app.button}


def start(app: AppTest) -> Any:
    return named(app.button, "Start training")


def test_where_nothing_was_trained_the_form_is_there(view: Callable[..., AppTest]) -> None:
    app = view(author=None)
    assert start(app).disabled
    # The paper's values, the common ones first, each with its help.
    assert [n.label for n in app.number_input][:3] == ["Limit", "Rank", "Margin"]
    assert named(app.number_input, "Rank").value == 16
    assert named(app.number_input, "Learning rate").value is None
    assert "LoRA" in named(app.selectbox, "Tuning").help
    assert {f.name.replace("_", " ").capitalize() for f in method.method("aeenc").fields} <= {
        element.label
        for kind in (app.number_input, app.selectbox, app.checkbox, app.text_input)
        for element in kind
    }
    assert "The method sixth cannot be loaded" in said(app)


def test_an_unknown_method_joins_and_is_queued(view: Callable[..., AppTest]) -> None:
    app = view()
    named(app.selectbox, "Method").set_value("fifth").run()
    assert [n.label for n in app.number_input] == ["Seed", "Steps", "Pace"]
    assert named(app.selectbox, "Trouble").options[:2] == ["none", "nan"]
    named(app.number_input, "Steps").set_value(7)
    named(app.number_input, "Seed").set_value(3)
    named(app.text_input, "Encoder name").set_value("wanderer").run()
    start(app).click().run()
    (job,) = jobs().jobs()
    assert (job.name, job.spec.method, job.spec.by, job.state) == ("wanderer", "fifth", "Ada", "queued")
    assert (job.spec.config["steps"], job.spec.source, job.spec.device) == (7, {"seed": 3}, None)
    # The address leads to the job, and any browser to the same.
    assert app.query_params["job"] == job.id
    assert "#### wanderer" in said(app)
    assert any("entail worker" in str(box.value) for box in app.warning)
    assert "#### wanderer" in said(view(author=None, job=job.id))
    # The next name is free.
    again = view(job="new")
    assert named(again.text_input, "Encoder name").value == "aeenc-1"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("Rank", 0, "rank: expected at least 1, found 0"), ("Margin", -1.0, "margin: expected 0 or more")],
)
def test_what_cannot_be_is_said_beside_the_fields(
    view: Callable[..., AppTest], field: str, value: float, words: str
) -> None:
    app = view()
    named(app.number_input, field).set_value(value).run()
    assert words in said(app)
    assert start(app).disabled


def test_a_name_that_is_taken_is_refused(view: Callable[..., AppTest]) -> None:
    app = view()
    named(app.selectbox, "Method").set_value("fifth").run()
    named(app.text_input, "Encoder name").set_value("minilm")
    start(app).click().run()
    assert "an encoder 'minilm' exists" in said(app)
    assert jobs().jobs() == []


def test_gold_trees_over_a_corpus_of_ours(view: Callable[..., AppTest]) -> None:
    app = view()
    named(app.selectbox, "Premises").set_value("EntailmentBank sample")
    named(app.selectbox, "Trees").set_value("Trees of the bundled sample")
    named(app.selectbox, "Dev trees").set_value("Trees of the bundled sample").run()
    assert app.warning
    app.button(key="preview_training").click().run()
    for _ in range(100):
        if app.metric or app.error:
            break
        app.run()
    assert [(m.label, m.value) for m in app.metric][-2:] == [("Premises", "4,785"), ("Dev trees", "120")]
    assert "not in the corpus" in said(app)
    assert list(app.dataframe[0].value.columns) == ["sentence", "premise", "the premise"]
    # What was asked for is shown, and nothing of other settings.
    named(app.number_input, "Limit").set_value(5).run()
    assert not app.metric
    start(app).click().run()
    (job,) = jobs().jobs()
    kept = Path(str(job.spec.source["corpus"]))
    assert kept.name == "EntailmentBank sample.jsonl"
    assert read_corpus(kept).corpus.texts == sample_corpus().texts
    assert job.spec.about == "the bundled sample over EntailmentBank sample"


def test_a_file_on_the_server(view: Callable[..., AppTest], tmp_path: Path) -> None:
    facts = tmp_path / "facts.txt"
    facts.write_text("\n".join(FACTS.texts), encoding="utf-8")
    app = view()
    named(app.selectbox, "Premises").set_value("A file on the server …").run()
    assert start(app).disabled
    field = named(app.text_input, "Path")
    field.set_value(str(tmp_path / "gone.txt")).run()
    assert "There is no file" in said(app)
    named(app.text_input, "Path").set_value(str(facts)).run()
    assert "There is no file" not in said(app)
    start(app).click().run()
    (job,) = jobs().jobs()
    assert job.spec.source["corpus"] == str(facts)


def test_our_own_decisions_begin_with_gentle_settings(
    view: Callable[..., AppTest], shared: Workspace
) -> None:
    info = shared.corpora.add_corpus(FACTS, author="Ada")
    tree = shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=info.id)
    for text in FACTS.texts[:2]:
        base = shared.log.history(tree).seq
        shared.log.act(tree, Accept(node="n1", premise=Premise(text)), author="Ada", base=base)
    app = view()
    assert named(app.segmented_control, "Learn from").value == "decisions"
    assert named(app.selectbox, "Corpus").options[0] == "sky (2 accepted)"
    assert "2 accepted and 0 rejected premises" in said(app)
    assert app.warning
    assert named(app.number_input, "Learning rate").value == 1e-4
    assert named(app.number_input, "Epochs").value == 20
    assert named(app.text_input, "Encoder name").value == "team-sky-1"
    start(app).click().run()
    (job,) = jobs().jobs()
    assert (job.spec.source["from_log"], job.spec.about) == (info.id, "the decisions on sky")
    assert job.spec.config["alpha"] == 1.0


def test_three_in_the_queue_and_one_that_ended(view: Callable[..., AppTest]) -> None:
    failed = end(
        submit("first"), lambda job, attempt: make_outcome(attempt, "diverged", "the loss is *no* number")
    )
    waiting = [submit(name) for name in ("second", "third", "fourth")]
    app = view()
    words = said(app)
    places = [words.index(f"**{job.name}**") for job in waiting]
    assert places == sorted(places)
    assert "the loss is *no* number" in words
    assert [b.label for b in app.button if str(b.key).startswith("open-")] == ["Open"] * 4
    app.button(key=f"open-{failed.id}").click().run()
    assert app.query_params["job"] == failed.id
    assert "#### first" in said(app)


def test_a_job_that_cannot_be_read_can_be_deleted(view: Callable[..., AppTest]) -> None:
    job = submit()
    (jobs().folder_of(job.id).path / "status.json").write_text("{", encoding="utf-8")
    app = view()
    assert "cannot be read" in said(app)
    app.button(key=f"delete-{job.id}").click().run()
    assert not jobs().unreadable()
    assert named(app.selectbox, "Method")


def test_behind_whom_it_waits_and_cancelled_there(view: Callable[..., AppTest]) -> None:
    submit("first")
    job = submit("second")
    app = view(job=job.id)
    assert "number 2, after **first**" in said(app)
    app.button(key="cancel_job").click().run()
    gone = jobs().job(job.id)
    assert (gone.state, gone.cancelled_by) == ("cancelled", "Ada")
    assert "**Cancelled by Ada.**" in said(app)
    app.button(key="resume_job").click().run()
    assert jobs().job(job.id).state == "queued"
    assert "cancel_job" in keys(app)


def test_how_it_goes(view: Callable[..., AppTest]) -> None:
    job = submit()
    seen: list[AppTest] = []

    def look(folder: JobFolder, attempt: int) -> Outcome:
        folder.write_progress(Progress(5, 10, 1.0, "wandering", "steps"))
        folder.log.write_text("a library says something\n", encoding="utf-8")
        row = {"at": 1.0, "attempt": 1, "step": 1, "epoch": 0}
        told = [
            {
                **row,
                "kind": "step",
                "learning_rate": 0.1,
                "terms": {"loss": 2.0, "active": 0.5},
                "memory": {"gpu": 2**20},
            },
            {**row, "kind": "warning", "text": "they have all but become *one* vector"},
        ]
        folder.events.write_text("".join(json.dumps(line) + "\n" for line in told), encoding="utf-8")
        seen.append(view(job=job.id))
        return make_outcome(attempt, "killed")

    end(job, look)
    (app,) = seen
    assert [bar.proto.text.replace("\\", "") for bar in app.get("progress")] == [
        "wandering: 5 of 10 steps, 5 steps/s, 0:01 left"
    ]
    assert len(app.get("vega_lite_chart")) == 4
    assert "they have all but become *one* vector" in said(app)
    assert app.code[0].value == "a library says something"
    assert {"cancel_job", "like_job"} <= keys(app)
    assert "delete_job_now" not in keys(app)


@pytest.mark.parametrize(
    ("ending", "todo"),
    [
        ("diverged", "lower learning_rate"),
        ("disk_full", "free space"),
        ("out_of_memory", "smaller batch_size"),
    ],
)
def test_an_end_says_what_happened_and_what_to_do(
    view: Callable[..., AppTest], ending: Ending, todo: str
) -> None:
    job = end(submit(), lambda folder, attempt: make_outcome(attempt, ending, "it *broke*"))
    app = view(job=job.id)
    assert "**Failed after" in said(app)
    assert "it *broke*" in said(app)
    assert todo in said(app).partition("**What to do:**")[2]
    # What would do the same again is no first choice.
    kinds = {key: app.button(key=key).proto.type for key in ("resume_job", "like_job")}
    first = "like_job" if ending == "diverged" else "resume_job"
    assert kinds == {"resume_job": "secondary", "like_job": "secondary"} | {first: "primary"}


def test_deleted_after_a_question(view: Callable[..., AppTest]) -> None:
    job = end(submit(), lambda folder, attempt: make_outcome(attempt, "killed"))
    app = view(job=job.id)
    app.button(key="delete_job_now").click().run()
    assert jobs().jobs() == []
    assert "job" not in app.query_params


def test_done_it_leads_to_its_promotion(view: Callable[..., AppTest]) -> None:
    done = train(submit(steps=3))
    assert done.state == "done"
    app = view(job=done.id)
    assert app.success
    assert "it only wanders" in said(app)
    assert list(app.dataframe[0].value["measure"]) == ["luck"]
    app.button(key="promote_job").click().run()
    assert app.session_state["models_view"] == "Encoders"
    assert app.session_state["models_encoder"] == "mine"
    assert "job" not in app.query_params


def test_done_an_encoder_of_gaussians_leads_to_its_promotion_too(
    view: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = train(submit(steps=3))
    monkeypatch.setattr("entail.ui.models.job.role_of", lambda name: "direction")
    app = view(job=done.id)
    assert "Direction page" in said(app)
    assert "Ranked by" not in said(app)
    app.button(key="promote_job").click().run()
    assert app.session_state["models_encoder"] == "mine"


def test_done_a_scorer_leads_to_its_promotion_where_it_builds_chains(
    view: Callable[..., AppTest], fifth: Any, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = train(submit(steps=3))
    no_encoder = replace(fifth, encodes=False, makes="a scorer of facts")
    monkeypatch.setattr("entail.ui.models.job.methods", lambda: {"fifth": no_encoder})
    app = view(job=done.id)
    assert "It is a scorer of facts" in said(app)
    assert "promote_job" not in keys(app), "its role is unknown"
    (models / "mine" / "head.safetensors").write_bytes(b"a head")
    told = {"method": "arcf", "base": "minilm", "scorer": {"scheme": "arcf"}}
    (models / "mine" / "entail.json").write_text(json.dumps(told), "utf-8")
    (models / "mine" / "adapter").mkdir()
    shutil.copytree(models / "mine", models / "other")
    app = view(job=done.id)
    app.button(key="promote_job").click().run()
    assert app.session_state["models_scorer"] == "mine"
    assert "candidate" not in app.query_params


def test_the_next_one_begins_like_another(view: Callable[..., AppTest]) -> None:
    job = end(submit(steps=41, pace=0.5), lambda folder, attempt: make_outcome(attempt, "killed"))
    app = view(job=job.id)
    app.button(key="like_job").click().run()
    assert app.query_params["like"] == job.id
    assert named(app.number_input, "Steps").value == 41
    named(app.number_input, "Steps").set_value(42).run()
    start(app).click().run()
    newest = jobs().jobs()[0]
    assert (newest.spec.config["steps"], newest.spec.config["pace"]) == (42, 0.5)
    assert (newest.spec.source, newest.spec.about) == (job.spec.source, job.spec.about)


def test_an_address_that_leads_nowhere(view: Callable[..., AppTest]) -> None:
    submit()
    app = view(job="20260101-000000-abcdef")
    assert app.error
    app.button(key="all_jobs_button").click().run()
    assert "new_training" in keys(app)


def test_a_demo_shows_and_trains_nothing(
    view: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    app = view()
    assert f"open-{job.id}" in keys(app)
    assert "new_training" not in keys(app)
    assert not {"cancel_job", "like_job"} & keys(view(job=job.id))
