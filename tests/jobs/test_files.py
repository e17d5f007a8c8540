"""Events of a training and their points for charts; files that a job reads."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from entail.errors import JobError
from entail.jobs import jobs as module
from entail.jobs.events import EventFile, EventWriter, panels, read_events
from entail.jobs.jobs import Jobs, absolute, store
from entail.training.loop.task import Evaluated, Event


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def step(number: int, loss: float = 1.0, **more: float) -> Event:
    return Event(number, 10, 0, {"loss": loss, **more}, 0.01)


def test_step_lines_hold_means_and_others_are_written_at_once(file: Path) -> None:
    writer = EventWriter(file, attempt=2, every=1e9)
    for number, loss in enumerate((4.0, 2.0, 3.0), start=1):
        writer(step(number, loss))
    writer(Event(3, 10, 1, evaluated=Evaluated(1, 0.25, {"MAP": 0.25}, 2.0)))
    writer(Event(10, 10, 0, {"loss": 7.0}, 0.01))
    events = read_events(file)[0]
    assert [event["kind"] for event in events] == ["begin", "step", "evaluation", "step"]
    assert {event["attempt"] for event in events} == {2}
    steps = [event for event in events if event["kind"] == "step"]
    assert [(e["step"], e["over"], e["terms"]["loss"]) for e in steps] == [(1, 1, 4.0), (10, 3, 4.0)]
    assert steps[-1]["memory"]["resident"] > 0
    assert (events[2]["figures"], steps[-1]["learning_rate"]) == ({"MAP": 0.25}, 0.01)


def test_incomplete_line(file: Path) -> None:
    EventWriter(file, attempt=1, every=0)(step(1))
    with file.open("a", encoding="utf-8") as opened:
        opened.write('{"kind": "step", "st')
    assert [event["kind"] for event in read_events(file)[0]] == ["begin", "step"]
    EventWriter(file, attempt=2, every=0)(step(2))
    events = [(event["kind"], event["attempt"]) for event in read_events(file)[0]]
    assert events == [("begin", 1), ("step", 1), ("begin", 2), ("step", 2)]


def test_nan_becomes_null(file: Path) -> None:
    EventWriter(file, attempt=1, every=0)(step(1, float("nan"), active=float("inf")))
    last = file.read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(last, parse_constant=lambda name: pytest.fail(name))["terms"] == {
        "loss": None,
        "active": None,
    }
    assert panels(read_events(file)[0])[0].series == ("learning rate",)


def test_steps_of_a_chart_are_thinned() -> None:
    events = [
        {"kind": "step", "step": s, "epoch": 0, "learning_rate": 0.1, "terms": {"loss": 1.0 / s}, "rate": 2.0}
        for s in range(1, 1001)
    ]
    charts = panels(events, most=100)
    assert [panel.series for panel in charts] == [("loss",), ("learning rate",), ("steps a second",)]
    assert (len(charts[0].points), charts[0].points[-1]["step"]) == (100, 1000)


def test_event_file_reads_each_line_once(file: Path) -> None:
    event_file = EventFile(file)
    assert event_file.events() == []
    writer = EventWriter(file, attempt=1, every=0)
    writer(step(1))
    writer(step(2))
    assert [event["kind"] for event in event_file.events()] == ["begin", "step", "step"]
    # What was read is read no more: it is gone, and still known.
    file.write_bytes(b" " * (file.stat().st_size - 1) + b"\n")
    EventWriter(file, attempt=2, every=0)(step(2))
    events = [(event["kind"], event["attempt"]) for event in event_file.events()]
    assert events == [("begin", 1), ("step", 1), ("begin", 2), ("step", 2)]


def test_event_file_is_bounded(file: Path) -> None:
    event_file = EventFile(file, most=50)
    writer = EventWriter(file, attempt=1, every=0)
    for number in range(1, 501):
        writer(Event(number, 500, 0, {"loss": 1.0}, 0.1))
        if number % 100 == 0:
            steps = [event["step"] for event in event_file.events() if event["kind"] == "step"]
            assert 25 <= len(steps) <= 100
            assert steps[-1] == number
            assert steps == sorted(steps)


@dataclass(frozen=True)
class Reads:
    trees: Annotated[Path | None, "a file"] = None
    limit: Annotated[int, "a number"] = 3


def test_store_by_content(tmp_path: Path) -> None:
    first = store(tmp_path, "trees.jsonl", b"one")
    assert first.read_bytes() == b"one"
    assert first.name == "trees.jsonl"
    assert store(tmp_path, "trees.jsonl", b"one") == first
    assert store(tmp_path, "trees.jsonl", b"two") != first
    assert first.read_bytes() == b"one"


@pytest.mark.parametrize("name", ["../../up.txt", "/etc/up.txt", "a/b/up.txt"])
def test_store_ignores_folders_of_the_name(tmp_path: Path, name: str) -> None:
    path = store(tmp_path / "given", name, b"x")
    assert path.resolve().is_relative_to(tmp_path / "given")
    assert path.name == "up.txt"


def test_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert absolute(Reads(Path("t.jsonl"))) == {"trees": str(tmp_path / "t.jsonl"), "limit": 3}
    assert absolute(Reads()) == {"trees": None, "limit": 3}
    with pytest.raises(JobError, match="trees: expected a file, found none"):
        absolute(Reads(Path("gone.jsonl")))


def test_delete_prunes_the_inputs(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, trees = jobs.keep_file("facts.txt", b"ice is cold"), jobs.keep_file("trees.jsonl", b"{}")
    monkeypatch.setattr(module, "MAX_AGE", -1.0)
    source = {"corpus": corpus, "trees": trees}
    first, second = (jobs.submit("aeenc", {}, source, name=name, by="Ann") for name in ("one", "two"))
    for job in (first, second):
        jobs.cancel(job.id, by="Ann")
    jobs.delete(first.id)
    assert corpus.exists()
    jobs.delete(second.id)
    assert not corpus.exists()
    unused = jobs.keep_file("more.txt", b"fire is hot")
    jobs.keep_file("others.txt", b"snow is white")
    assert not unused.exists()
