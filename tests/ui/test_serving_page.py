"""Serving page: traffic, models in memory, requests to try, and the same searches by two retrievers."""

import ast
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.runtime.machine import Gpu
from entail.runtime.memory import list_residents, use_device
from entail.runtime.models import model_cache
from entail.serving.app import create_app
from entail.serving.history import History, local_history
from entail.serving.metrics import collect
from entail.serving.service import Service
from entail.ui.serving import target
from entail.ui.serving.memory import LOADING
from entail.ui.serving.replay import REPLAYS
from entail.ui.shared.resources import Workspace
from tests.serving.conftest import running
from tests.support.machine import until
from tests.ui.conftest import by, metrics, new_app, said

TOKEN = "a-token-of-some-length"
FACTS = ["ba be bi", "bo bu ca", "ce ci co", "cu da de"]


@pytest.fixture
def api(
    shared: Workspace, tiny_home: Path, write_reranker: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[target.Target]:
    """Return the API of this app on a port, over the corpus `four` and the models `tiny` and `reader`."""
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")
    shared.corpora.add_corpus(Corpus.of("four", FACTS), author="Ada")
    write_reranker("reader")
    service = Service(["tiny"], corpora=shared.corpora)
    history = History(collect)
    monkeypatch.setattr(target, "local_history", lambda: history)
    with running(create_app(service, token=TOKEN)) as (_, port, _):
        until(lambda: service.reason is None)
        own = target.Target(f"http://127.0.0.1:{port}", TOKEN, is_own=True)
        monkeypatch.setattr(target, "own_target", lambda: own)
        yield own


def opened(view: str, **state: Any) -> AppTest:
    app = by(new_app())
    for key, value in {"serving_view": view, **state}.items():
        app.session_state[key] = value
    return app.switch_page("pages/Serving.py").run()


def tables(app: AppTest) -> list[list[dict[str, Any]]]:
    return [table.value.to_dict("records") for table in app.dataframe]


def awaited(app: AppTest, group: Any) -> AppTest:
    until(lambda: all(task.done.is_set() for task in group.tasks().values()))
    return app.run()


def test_traffic_by_endpoint_and_encoder(api: target.Target, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu("H200", total=8 * 2**30, used=2 * 2**30, busy=None, driver="580")
    monkeypatch.setattr("entail.runtime.memory.list_gpus", lambda: (gpu,))
    app = opened("Traffic")
    assert metrics(app)["Requests"] == "0"
    with api.client(attempts=9) as client:
        client.encode(["ba", "bo"])
        client.search(["ba be"], premises=FACTS, k=2)
        with pytest.raises(Exception, match="no encoder"):
            client.encode(["ba"], encoder="none")
    sample = api.history._samples[0]
    api.history._samples.appendleft(replace(sample, at=sample.at - 60))
    app = app.run()
    after = metrics(app)
    assert (after["Requests"], after["Refused"], after["Errors"]) == ("3", "1", "0")
    assert after["p50"] != after["p99"] == "too few"
    endpoints, encoders = tables(app)
    assert {row["endpoint"]: row["requests"] for row in endpoints}["/encode"] == "2"
    assert {row["encoder"]: row["texts of requests"] for row in encoders}["tiny"] == "7"  # with the premises
    assert len(app.get("vega_lite_chart")) == 2
    assert [bar.proto.value for bar in app.get("progress")] == [25]


def test_models_are_loaded_and_freed(api: target.Target) -> None:
    model_cache().release("tiny")
    app = opened("Models")
    options = {option.partition(": ")[2]: option for option in app.selectbox(key="serving_load").options}
    for name in ("reader", "four"):
        app.selectbox(key="serving_load").set_value(options[name])
        app = awaited(app.run().button(key="serving_load_button").click().run(), LOADING)
    assert {resident.kind for resident in list_residents()} == {"retriever", "index", "reranker"}
    (rows,) = tables(app.run())
    marks = {(row["kind"], row["active"], row["corpus"]) for row in rows}
    assert marks >= {("Re-ranker", "active", ""), ("Index", "", "four")}
    app.selectbox(key="serving_release").set_value("reader")
    app = app.run().button(key="serving_release_button").click().run()
    assert "reader" not in {resident.name for resident in list_residents()}
    app.selectbox(key="serving_device")
    use_device("cpu")
    assert not list_residents()
    assert os.environ["ENTAIL_DEVICE"] == "cpu"


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("search", {"queries": "ba be\nbo bu", "corpus": "four"}, 8),
        ("encode", {"texts": "ba\nbe\nbi", "encoder": "tiny"}, 0),
        ("claim", {"questions": "When did it sink?", "answers": "in 1912"}, 1),
        ("chain", {"corpus": "four", "scorer": "tfidf"}, 4),
        ("direction", {}, "error"),
    ],
)
def test_each_endpoint_is_tried_and_its_call_repeats_it(
    api: target.Target, name: str, fields: dict[str, Any], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {f"serving_{name}_{field}": value for field, value in fields.items()}
    app = opened("Try it", serving_try=name, **state).button(key="serving_send").click().run()
    if expected == "error":  # no encoder of Gaussians is served
        assert app.error
        return
    assert sum(map(len, tables(app))) == expected
    shell, python = (block.value for block in app.code)
    assert TOKEN not in shell + python
    environment = {**os.environ, "ENTAIL_SERVE_TOKEN": TOKEN}
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, env=environment)
    answer = json.loads(app.json[0].value)
    body = json.loads(shlex.split(shell)[-1])
    assert (done.returncode, json.loads(done.stdout)) == (0, answer), body
    if name == "encode":
        monkeypatch.setenv("ENTAIL_SERVE_TOKEN", TOKEN)
        printed: list[int] = []
        code = compile(ast.parse(python), "call", "exec")
        exec(code, {"print": lambda vectors: printed.append(len(vectors))})
        assert printed == [3]


def test_two_retrievers_answer_the_same_searches(api: target.Target) -> None:
    app = opened(
        "Compare",
        replay_first="tfidf",
        replay_second="tfidf",
        replay_corpus="four",
        replay_source="Own queries",
        replay_own="ba be\nbo bu\nba be",
    )
    assert app.button(key="replay_start").disabled, "one and the same"
    app.selectbox(key="replay_second").set_value("bm25")
    app = awaited(app.run().button(key="replay_start").click().run(), REPLAYS)
    (task,) = REPLAYS.tasks().values()
    result: Any = task.value
    assert (result.names, result.queries, result.overlap) == (
        ("tfidf", "bm25"),
        ("ba be", "bo bu"),
        (1.0, 1.0),
    )
    assert (result.seconds > 0).all()
    retrievers, queries = tables(app)
    assert len({row["revision"] for row in retrievers}) == 2
    assert len(queries) == 2
    app = opened("Compare", replay_corpus="four", replay_source="Recent searches")
    assert "Replay 2" in app.button(key="replay_start").label


def test_another_server_by_url_and_token(api: target.Target) -> None:
    app = opened("Traffic", serving_server=target.OTHER)
    assert not app.metric
    app.text_input(key="serving_url").set_value("file:///etc/passwd")
    assert app.run().error
    app.text_input(key="serving_url").set_value(api.url)
    assert app.run().error, "without its token"
    app.text_input(key="serving_token").set_value(TOKEN)
    app = app.run()
    assert not app.error
    assert app.metric
    app.session_state["serving_view"] = "Models"
    app = app.run()
    (rows,) = tables(app)
    assert "tiny" in {row["name"] for row in rows}
    assert not [button for button in app.button if str(button.key).startswith("serving_")]


@pytest.mark.parametrize("variables", [{"ENTAIL_DEMO": "1"}, {"ENTAIL_OPERATORS": "ada@uni.example"}])
def test_others_than_operators_only_read(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for view in ("Traffic", "Models", "Try it", "Compare"):
        app = opened(view, serving_server=target.OTHER)
        assert ":material/lock:" in said(app)
        assert not app.text_input
        assert not [button for button in app.button if str(button.key).startswith(("serving_", "replay_"))]


def test_the_api_is_off_unless_started(shared: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["app"])
    assert not target.own_target().url
    for view in ("Traffic", "Try it", "Compare"):
        assert "entail app --api" in said(opened(view))
    monkeypatch.setattr(sys, "argv", ["app", "--api"])
    assert target.own_target().url.endswith("/api")
    assert local_history() is local_history()
