"""Training data from the Hub on the Models page: named, previewed, queued."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.nli.pairs import NliPair, NliReading
from entail.encoders import hub
from entail.errors import HubError, SettingsError
from entail.training.nli_source import NliSource
from entail.ui.shared.resources import jobs
from tests.ui.conftest import named, said

PAIRS = (
    NliPair("A dog runs in a park.", "An animal moves.", "entailment"),
    NliPair("A dog runs in a park.", "It sleeps.", "contradiction"),
    NliPair("Two girls sing.", "Girls sing.", "entailment"),
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Return what was read, with its split; of the Hub there are no data sets but these pairs."""
    found: list[tuple[str, str | None]] = []

    def load(source: object, *, split: str | None = None) -> NliReading:
        found.append((str(source), split))
        return NliReading(PAIRS, str(source), "parquet", {"-": 4})

    monkeypatch.setattr("entail.evaluation.nli.sources.load_nli", load)
    return found


def choose(app: AppTest, field: str, name: str) -> AppTest:
    """Name a data set in a field of the form."""
    named(app.selectbox, field).set_value("A data set on the Hub …").run()
    app.text_input(key=f"data-gausscse-{field.lower()}-name").set_value(name).run()
    assert not app.exception
    return app


@pytest.fixture
def form(view: Callable[..., AppTest]) -> AppTest:
    app = view()
    named(app.selectbox, "Method").set_value("gausscse").run()
    return app


def previewed(app: AppTest) -> AppTest:
    app.button(key="preview_training").click().run()
    for _ in range(100):
        if app.metric or app.error:
            break
        app.run()
    assert not app.exception
    return app


def test_a_data_set_of_the_hub_is_previewed_and_queued_by_its_name(
    form: AppTest, asked: list[tuple[str, str | None]]
) -> None:
    app = choose(form, "Pairs", "snli")
    app = choose(app, "Dev", "me/mine@v1:pairs")
    named(app.text_input, "Dev split").set_value("trial").run()
    assert asked == [], "nothing is fetched before a person asks"
    app = previewed(app)
    assert asked == [("snli", "train"), ("me/mine@v1:pairs", "trial")]
    assert [(m.label, m.value) for m in app.metric] == [
        ("Triplets", "2"),
        ("Premises", "2"),
        ("With a contradiction", "1"),
        ("Dev pairs", "3"),
    ]
    assert "4 rows with another label" in said(app)
    named(app.button, "Start training").click().run()
    (job,) = jobs().jobs()
    kept = {name: job.spec.source[name] for name in ("pairs", "dev", "dev_split")}
    assert kept == {"pairs": "snli", "dev": "me/mine@v1:pairs", "dev_split": "trial"}
    assert job.spec.about == "snli"


def test_nothing_is_fetched_when_the_page_opens(
    form: AppTest,
    view: Callable[..., AppTest],
    asked: list[tuple[str, str | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr(hub, "hub_api", refuse)
    app = choose(choose(form, "Pairs", "snli"), "Dev", "snli")
    named(app.button, "Start training").click().run()
    (job,) = jobs().jobs()
    assert job.spec.source["pairs"] == "snli"
    for address in ({}, {"job": "new"}, {"job": job.id}, {"job": "new", "like": job.id}):
        opened = view(**address)
        assert "snli" in said(opened) or address == {"job": "new"}
    assert "As in" in str([control.options for control in opened.segmented_control])
    assert asked == []


def test_a_judge_learns_from_pairs_of_every_label(view: Callable[..., AppTest], asked: Any) -> None:
    app = view()
    named(app.selectbox, "Method").set_value("judge").run()
    named(app.selectbox, "Pairs").set_value("A data set on the Hub …").run()
    app.text_input(key="data-judge-pairs-name").set_value("snli").run()
    app = previewed(app)
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Pairs"] == str(len({(pair.premise, pair.hypothesis) for pair in PAIRS}))
    assert shown["Entailment"] == str(sum(pair.label == "entailment" for pair in PAIRS))
    assert named(app.number_input, "Rank").value == 40
    named(app.button, "Start training").click().run()
    (job,) = jobs().jobs()
    assert (job.spec.method, job.spec.source["pairs"]) == ("judge", "snli")


def test_who_has_chosen_nothing_yet_is_told_what_comes_first(form: AppTest) -> None:
    assert not form.error
    assert form.info
    assert named(form.button, "Start training").disabled


def test_offline_the_preview_says_so(form: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise HubError("stanfordnlp/snli: the Hub cannot be reached; look at the network", reason="offline")

    monkeypatch.setattr("entail.evaluation.nli.sources.ask", refuse)
    monkeypatch.setattr(hub, "hub_api", lambda: None)
    app = previewed(choose(form, "Pairs", "stanfordnlp/snli@no-such-revision"))
    assert "the Hub cannot be reached" in said(app)
    # The training may begin later, where there is a network.
    assert not named(app.button, "Start training").disabled


def test_what_is_no_name_of_a_data_set_is_said_at_its_field(form: AppTest) -> None:
    app = choose(form, "Pairs", "nonsense")
    assert "expected the name of a data set on the Hub (snli, multi_nli, sick, or organisation/name" in said(
        app
    )
    assert named(app.button, "Start training").disabled


@pytest.mark.parametrize(
    "name", ["a b/c", "../up/there", "pairs.jsonl", "http://x/y", "x" * 300, "a/b/c", "a\0b/c", "-"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(SettingsError, match="expected the name of a data set on the Hub"):
        NliSource.named(name)


def test_a_path_that_cannot_be_one(form: AppTest) -> None:
    named(form.selectbox, "Pairs").set_value("A file on the server …").run()
    for path in ("/" + "x" * 5000, "~nobody-of-this-name/pairs.csv"):
        named(form.text_input, "Path").set_value(path).run()
        assert not form.exception
        assert f"There is no file {path}" in said(form)


def test_a_file_here_of_the_same_name_is_not_read_by_mistake(
    form: AppTest, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "snli").mkdir()
    monkeypatch.chdir(tmp_path)
    app = choose(form, "Pairs", "snli")
    assert "name the data set with its organisation: stanfordnlp/snli" in said(app)
    app = choose(app, "Pairs", "stanfordnlp/snli")
    assert not app.error


def test_a_method_that_takes_files_alone_offers_files_alone(view: Callable[..., AppTest]) -> None:
    app = view()
    assert "A data set on the Hub …" not in named(app.selectbox, "Trees").options
    named(app.selectbox, "Method").set_value("arcf").run()
    assert "A data set on the Hub …" not in named(app.selectbox, "Questions").options
