"""Form of a new training on the Models page: method, data, settings, preview, start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from entail.aeenc.config import AeencConfig, decisions_config
from entail.data.bundled import sample_corpus
from entail.data.corpora import read_corpus
from entail.data.nli.pairs import NliPair, NliReading
from entail.data.records import Corpus, Premise
from entail.errors import HubError, SettingsError
from entail.jobs.record import Job
from entail.registry.models import promote
from entail.settings import load_settings
from entail.training import method
from entail.training.nli_source import PairSource
from entail.trees.log.acts import Accept, Create
from entail.ui.shared.form import MAX_COMMON, setting_label
from entail.ui.shared.resources import Workspace, jobs
from tests.ui.conftest import metrics, named, said, settled

FACTS = Corpus.of("sky", ["ice is cold", "snow is a kind of ice", "fire is hot", "steam is a gas"])
PAIRS = (
    NliPair("A dog runs in a park.", "An animal moves.", "entailment"),
    NliPair("A dog runs in a park.", "It sleeps.", "contradiction"),
    NliPair("Two girls sing.", "Girls sing.", "entailment"),
)
HUB_SET = "A data set on the Hub …"
View = Callable[..., AppTest]


def start(app: AppTest) -> Any:
    return named(app.button, "Start training")


def submitted(app: AppTest) -> Job:
    """Return the job of the form, the only one."""
    settled(start(app).click().run())
    (job,) = jobs().jobs()
    return job


def previewed(app: AppTest) -> AppTest:
    app.button(key="preview_training").click().run()
    for _ in range(100):
        if app.metric or app.error:
            break
        app.run()
    return app


def form(view: View, name: str = "aeenc") -> AppTest:
    """Open the form of a method where its own files are chosen."""
    app = view()
    named(app.selectbox, "Method").set_value(name).run()
    for field in app.segmented_control:
        if field.label == "Learn from":
            field.set_value(field.options[-1]).run()
    return app


def edit_table(monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Edit values of the table of all settings, as a person does: tests cannot type into it."""
    draw = st.data_editor

    def edited(table: Any, **options: Any) -> Any:
        draw(table, **options)
        return table.assign(
            value=[texts.get(name, text) for name, text in table[["setting", "value"]].values]
        )

    monkeypatch.setattr(st, "data_editor", edited)


@pytest.mark.parametrize(
    "name", ["aeenc", "gausscse", "tuning", "dpr", "arcf", "judge", "reranker", "reader"]
)
def test_each_method_has_fields_for_few_settings_a_table_of_the_others_and_a_sample(
    view: View, name: str
) -> None:
    app, how = form(view, name), method.method(name)
    fields = [f for kind in (app.number_input, app.selectbox, app.checkbox, app.text_input) for f in kind]
    names = {str(f.key).removeprefix(f"set-{name}-default--") for f in fields} & {f.name for f in how.fields}
    assert 0 < len(names) <= MAX_COMMON
    (table,) = [frame.value for frame in app.dataframe]
    assert list(table["setting"]) == [setting_label(f.name) for f in how.fields if f.name not in names]
    assert list(table["value"]) == list(table["default"])
    assert all(table["help"])
    assert all(table["allowed"])
    named(app.segmented_control, "Learn from").set_value("sample").run()
    assert app.get("download_button")
    assert how.preview is not None
    counts = how.preview(how.make_source(how.sample_values()).read(), how.make_config({})).counts
    assert min(count for label, count in counts.items() if label != "entailments of other pairs") > 0
    assert submitted(app).spec.about == "the bundled sample"


def test_nothing_starts_is_stored_or_downloaded_without_a_name(view: View) -> None:
    app = view(author=None)
    assert start(app).disabled
    assert named(app.segmented_control, "Learn from").value == "sample"
    assert named(app.number_input, "Rank").help
    assert "The method sixth cannot be loaded" in said(app)
    named(app.selectbox, "Method").set_value("gausscse").run()
    named(app.segmented_control, "Learn from").set_value("").run()
    named(app.selectbox, "Pairs").set_value("Upload a file …").run()
    assert not app.file_uploader
    named(app.selectbox, "Pairs").set_value("A data set on the Hub …").run()
    assert not [field for field in app.text_input if field.label == "Data set"]


def test_settings_of_the_table_are_used_and_wrong_ones_explained(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, text in (("Margin", "-1"), ("Margin", "many"), ("Loss", "none"), ("Temperature", "")):
        with monkeypatch.context() as table:
            edit_table(table, **{setting: text})
            app = view()
        assert f"{setting}: expected" in said(app)
        assert start(app).disabled
    edit_table(monkeypatch, Loss="softmax", Margin="0.5", Dropout="", **{"Reference triplets": "true"})
    app = view()
    named(app.number_input, "Rank").set_value(4).run()
    changes = ("Rank 4", "Loss softmax", "Margin 0.5", "Reference triplets true", "Dropout none,")
    assert all(change in said(app) for change in changes)
    config = {"rank": 4, "loss": "softmax", "margin": 0.5, "gold": True, "dropout": None}
    assert submitted(app).spec.config.items() >= config.items()


def test_only_devices_that_are_there_are_offered(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "training_device" not in {field.key for field in view().selectbox}
    monkeypatch.setattr("entail.ui.models.training.list_devices", lambda: ["cpu", "cuda:0"])
    app = view()
    assert named(app.selectbox, "Device").options == ["Default of the worker", "cpu", "GPU 0"]
    named(app.selectbox, "Device").set_value("cuda:0").run()
    assert submitted(app).spec.device == "cuda:0"


def test_a_preset_is_a_start(view: View) -> None:
    app = view()
    for preset, config in (("decisions", decisions_config()), ("default", AeencConfig())):
        named(app.selectbox, "Preset").set_value(preset).run()
        assert named(app.number_input, "Epochs").value == config.epochs


def test_a_method_of_another_package_is_queued(view: View) -> None:
    app = form(view, "fifth")
    assert [n.label for n in app.number_input] == ["Seed", "Steps", "Pace"]
    assert named(app.selectbox, "Trouble").options[:2] == ["none", "nan"]
    named(app.text_input, "Model name").set_value("minilm")
    settled(start(app).click().run())
    assert "an encoder 'minilm' exists" in said(app)
    named(app.number_input, "Steps").set_value(7)
    named(app.number_input, "Seed").set_value(3)
    named(app.text_input, "Model name").set_value("wanderer").run()
    job = submitted(app)
    assert (job.name, job.spec.method, job.spec.by, job.state) == ("wanderer", "fifth", "Ada", "queued")
    assert (job.spec.config["steps"], job.spec.source, job.spec.device) == (7, {"seed": 3}, None)
    # The address leads to the job, in any browser.
    assert app.query_params["job"] == job.id
    assert any("entail worker" in str(box.value) for box in app.warning)
    assert "#### wanderer" in said(view(author=None, job=job.id))
    assert named(view(job="new").text_input, "Model name").value == "aeenc-1"


def test_reference_trees_over_a_stored_corpus_are_previewed_and_queued(view: View) -> None:
    app = form(view)
    named(app.selectbox, "Corpus").set_value("EntailmentBank sample")
    named(app.selectbox, "Trees").set_value("Trees of the bundled sample").run()
    app = previewed(app)
    assert metrics(app).items() >= {"Premises": "4,785", "Dev trees": "12"}.items()
    assert "not in the corpus" in said(app)
    assert list(app.dataframe[-1].value.columns) == ["sentence", "premise", "the premise"]
    named(app.selectbox, "Dev").set_value("Trees of the bundled sample").run()
    assert app.warning
    assert not app.metric, "a preview is of the data that it was asked for"
    named(app.selectbox, "Dev").set_value("None").run()
    job = submitted(app)
    stored = Path(str(job.spec.source["corpus"]))
    assert read_corpus(stored).corpus.texts == sample_corpus().texts
    assert job.spec.about == "the bundled sample over EntailmentBank sample"
    assert job.spec.source["hold_out"] == 10


def test_files_of_the_data_folder_are_offered_and_no_path_is_typed(view: View) -> None:
    home = load_settings().data_dir
    tables = home / "worldtree" / "mine" / "tables"
    tables.mkdir(parents=True)
    questions = tables.parent / "questions.tsv"
    (tables / "KINDOF.tsv").write_text("THING\t[SKIP] UID\nice is cold\tu1\n", encoding="utf-8")
    questions.write_text(
        "questionID\tAnswerKey\tquestion\texplanation\tflags\n"
        "q1\tA\tWhat is ice? (A) cold (B) hot\tu1|CENTRAL\tSUCCESS\n",
        encoding="utf-8",
    )
    (home / "secret.txt").write_text("", encoding="utf-8")
    app = form(view, "arcf")
    offered = named(app.selectbox, "Tables").options
    assert {"worldtree/mine/tables", "worldtree/mine/questions.tsv"} <= {*offered}
    assert not any("secret" in option for option in offered)
    named(app.selectbox, "Tables").set_value("worldtree/mine/tables")
    named(app.selectbox, "Questions").set_value("worldtree/mine/questions.tsv").run()
    assert not [field for field in app.text_input if "path" in (field.label or "").lower()]
    (tables.parent / "squad.json").write_text('{"data": []}', encoding="utf-8")
    wrong = named(app.run().selectbox, "Questions").set_value("worldtree/mine/squad.json").run()
    assert "squad.json, line 1" in said(settled(start(wrong).click().run()))
    assert jobs().jobs() == []
    named(app.selectbox, "Questions").set_value("worldtree/mine/questions.tsv").run()
    source = submitted(app).spec.source
    assert (source["tables"], source["questions"]) == (str(tables), str(questions))


def test_a_model_is_named_not_read_from_a_path(
    view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = form(view, "gausscse")
    for typed in (str(tmp_path), "~/models", "mine,../other"):
        with monkeypatch.context() as table:
            edit_table(table, Teachers=typed)
            assert app.run().error
        assert start(app).disabled
    edit_table(monkeypatch, Teachers="mine,org/other")
    assert not app.run().error
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "other").mkdir(parents=True)
    assert app.run().error


def test_decisions_of_the_team_begin_with_gentle_settings_at_the_active_retriever(
    trained: Callable[..., Path], view: View, shared: Workspace
) -> None:
    info = shared.corpora.add_corpus(FACTS, author="Ada")
    tree = shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=info.id)
    for text in FACTS.texts[:2]:
        base = shared.log.history(tree).seq
        shared.log.act(tree, Accept(node="n1", premise=Premise(text)), author="Ada", base=base)
    app = view()
    assert named(app.segmented_control, "Learn from").value == "decisions"
    assert named(app.selectbox, "Corpus").options[0] == "sky"
    assert app.warning, "too few decisions"
    assert named(app.number_input, "Learning rate").value == 2e-4
    assert named(app.number_input, "Epochs").value == 10
    assert named(app.text_input, "Model name").value == "team-sky-1"
    named(app.number_input, "Hold out").set_value(3)
    named(app.selectbox, "Votes").set_value("weighted").run()
    job = submitted(app)
    assert job.spec.source.items() >= {"from_log": info.id, "votes": "weighted", "hold_out": 3}.items()
    assert job.spec.about == "the decisions on sky"
    assert job.spec.config["complete"]
    assert job.spec.config["initial"] == "", "a whole model ranks the corpus"
    trained("mine")
    promote("mine", by="Ada", corpus="sky", anyway=True)
    settled(start(view(job="new")).click().run())
    job = next(job for job in jobs().jobs() if job.name == "team-sky-2")
    assert (job.spec.config["base"], job.spec.config["initial"]) == ("tiny", "mine")


def choose(app: AppTest, field: str, name: str) -> AppTest:
    """Name a data set of the Hub in a field of the form."""
    named(app.selectbox, field).set_value(HUB_SET).run()
    app.text_input(key=f"data-gausscse-{field.lower().replace(', file ', '-')}-name").set_value(name).run()
    return app


def test_a_data_set_of_the_hub_is_previewed_and_queued_by_its_name(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, str | None]] = []

    def load(source: object, *, split: str | None = None) -> NliReading:
        read.append((str(source), split))
        if "missing" in str(source):
            raise HubError("the Hub cannot be reached", reason="offline")
        return NliReading(PAIRS, str(source), {"-": 4})

    monkeypatch.setattr("entail.evaluation.nli.sources.load_nli", load)
    app = form(view, "gausscse")
    assert not app.error
    assert app.info, "nothing is chosen yet"
    assert start(app).disabled
    app = previewed(choose(app, "Pairs", "stanfordnlp/missing"))
    assert "the Hub cannot be reached" in said(app)
    assert not start(app).disabled, "the training may reach it"
    app = choose(choose(app, "Pairs", "snli"), "Dev", "me/mine@v1:pairs")
    named(app.text_input, "Dev split").set_value("trial").run()
    choose(app, "Pairs, file 2", "multi_nli")
    assert len(read) == 1, "nothing is fetched before a person asks"
    app = previewed(app)
    assert read[1:] == [("snli", "train"), ("multi_nli", "train"), ("me/mine@v1:pairs", "trial")]
    counts = {"Triplets": "2", "Premises": "2", "With a contradiction": "1", "Dev pairs": "3"}
    assert metrics(app) == counts
    assert "8 rows with another label" in said(app)
    job = submitted(app)
    source = {name: job.spec.source[name] for name in ("pairs", "dev", "dev_split")}
    assert source == {"pairs": ["snli", "multi_nli"], "dev": "me/mine@v1:pairs", "dev_split": "trial"}
    assert job.spec.about == "snli, multi_nli"
    read.clear()
    for address in ({}, {"job": job.id}, {"job": "new", "like": job.id}):
        view(**address)
    assert read == [], "no page fetches by itself"


def test_a_name_that_is_no_data_set_is_refused_at_its_field(
    view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = choose(form(view, "gausscse"), "Pairs", "nonsense")
    assert "expected the name of a data set on the Hub" in said(app)
    assert start(app).disabled
    (tmp_path / "snli").mkdir()  # a local file of the same name is not meant
    monkeypatch.chdir(tmp_path)
    assert "name the data set with its organisation" in said(choose(app, "Pairs", "snli"))
    for name in ("a b/c", "../up/there", "pairs.jsonl", "http://x/y", "x" * 300, "a\0b/c"):
        with pytest.raises(SettingsError, match="data set on the Hub"):
            PairSource.named(name)
