"""Events of a training and their points for charts; files that a job reads."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from entail.data.bundled import sample_dir
from entail.errors import DatabaseError, EntailError, JobError
from entail.jobs import jobs as module
from entail.jobs.events import EventLog, EventWriter, panels
from entail.jobs.jobs import Jobs, absolute, store
from entail.training.loop.task import Evaluated, Event


class Rows(list[str]):
    """Events of a job, as the database keeps them."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def read(self, after: int) -> list[tuple[int, str]]:
        self.reads.append(after)
        return list(enumerate(self, start=1))[after:]

    @property
    def events(self) -> list[Any]:
        return [json.loads(content) for content in self]


@pytest.fixture
def rows() -> Rows:
    return Rows()


def step(number: int, loss: float = 1.0, **more: float) -> Event:
    return Event(number, 10, 0, {"loss": loss, **more}, 0.01)


def test_steps_hold_means_and_others_are_written_at_once(rows: Rows) -> None:
    writer = EventWriter(rows.extend, attempt=2, every=1e9)
    for number, loss in enumerate((4.0, 2.0, 3.0), start=1):
        writer(step(number, loss))
    writer(Event(3, 10, 1, evaluated=Evaluated(1, 0.25, {"MAP": 0.25}, 2.0)))
    writer(Event(10, 10, 0, {"loss": 7.0}, 0.01))
    events = rows.events
    assert [event["kind"] for event in events] == ["begin", "step", "evaluation", "step"]
    assert {event["attempt"] for event in events} == {2}
    steps = [event for event in events if event["kind"] == "step"]
    assert [(e["step"], e["over"], e["terms"]["loss"]) for e in steps] == [(1, 1, 4.0), (10, 3, 4.0)]
    assert steps[-1]["memory"]["resident"] > 0
    assert (events[2]["figures"], steps[-1]["learning_rate"]) == ({"MAP": 0.25}, 0.01)


def test_events_that_could_not_be_written_follow_later(rows: Rows) -> None:
    is_down = False

    def append(contents: Sequence[str]) -> None:
        if is_down:
            raise DatabaseError("it does not answer")
        rows.extend(contents)

    writer = EventWriter(append, attempt=1, every=0)
    is_down = True
    writer(step(1))
    writer(step(2))
    is_down = False
    writer(step(3))
    assert [event.get("step") for event in rows.events] == [None, 1, 2, 3]
    writer(step(4, float("nan"), active=float("inf")))
    last = json.loads(rows[-1], parse_constant=lambda name: pytest.fail(name))
    assert last["terms"] == {"loss": None, "active": None}
    assert panels(rows.events[-1:])[0].series == ("learning rate",)


def test_steps_of_a_chart_are_thinned() -> None:
    events = [
        {"kind": "step", "step": s, "epoch": 0, "learning_rate": 0.1, "terms": {"loss": 1.0 / s}, "rate": 2.0}
        for s in range(1, 1001)
    ]
    charts = panels(events, most=100)
    assert [panel.series for panel in charts] == [("loss",), ("learning rate",), ("steps a second",)]
    assert (len(charts[0].points), charts[0].points[-1]["step"]) == (100, 1000)


def test_each_event_is_read_once(rows: Rows) -> None:
    log = EventLog(rows.read)
    assert log.events() == []
    writer = EventWriter(rows.extend, attempt=1, every=0)
    writer(step(1))
    writer(step(2))
    assert [event["kind"] for event in log.events()] == ["begin", "step", "step"]
    rows.extend(["{", "[]"])
    EventWriter(rows.extend, attempt=2, every=0)(step(2))
    events = [(event["kind"], event["attempt"]) for event in log.events()]
    assert events == [("begin", 1), ("step", 1), ("begin", 2), ("step", 2)]
    assert sorted(set(rows.reads)) == [0, 3, 7]


def test_the_events_in_memory_are_bounded(rows: Rows) -> None:
    log = EventLog(rows.read, most=50)
    writer = EventWriter(rows.extend, attempt=1, every=0)
    for number in range(1, 501):
        writer(Event(number, 500, 0, {"loss": 1.0}, 0.1))
        if number % 100 == 0:
            steps = [event["step"] for event in log.events() if event["kind"] == "step"]
            assert 25 <= len(steps) <= 100
            assert steps[-1] == number
            assert steps == sorted(steps)


@dataclass(frozen=True)
class Reads:
    trees: Annotated[Path | None, "a file"] = None
    limit: Annotated[int, "a number"] = 3


def test_store_by_content_whatever_the_folders_of_the_name(tmp_path: Path) -> None:
    first = store(tmp_path, "trees.jsonl", b"one")
    assert first.read_bytes() == b"one"
    assert first.name == "trees.jsonl"
    assert store(tmp_path, "trees.jsonl", b"one") == first
    assert store(tmp_path, "trees.jsonl", b"two") != first
    assert first.read_bytes() == b"one"
    for name in ("../../up.txt", "/etc/up.txt", "a/b/up.txt"):
        path = store(tmp_path / "inputs", name, b"x")
        assert path.resolve().is_relative_to(tmp_path / "inputs")
        assert path.name == "up.txt"


def test_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert absolute(Reads(Path("t.jsonl"))) == {"trees": str(tmp_path / "t.jsonl"), "limit": 3}
    assert absolute(Reads()) == {"trees": None, "limit": 3}
    with pytest.raises(JobError, match="trees: expected a file, found none"):
        absolute(Reads(Path("gone.jsonl")))


def test_delete_prunes_the_inputs(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, trees = (
        jobs.keep_file(name, (sample_dir() / name).read_bytes())
        for name in ("premises.jsonl.gz", "trees.jsonl.gz")
    )
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


SQUAD = json.dumps({"data": [{"title": "Ice", "paragraphs": [{"context": "Ice is cold.", "qas": []}]}]})
PAIRS = "premise,hypothesis,label\nIt rains.,It is wet.,entailment\n"
ASKED = (
    "questionID\tAnswerKey\tquestion\texplanation\tflags\nq1\tA\tIce? (A) cold (B) hot\tu9|CENTRAL\tREADY\n"
)


@pytest.mark.parametrize(
    ("method", "files", "message"),
    [
        ("arcf", {"tables": "", "questions": SQUAD}, "questions.txt, line 1: expected WorldTree's columns"),
        ("arcf", {"tables": "", "questions": ASKED}, "expected questions to train on, found none"),
        ("judge", {"pairs": SQUAD}, "expected columns premise, hypothesis and label"),
        ("gausscse", {"pairs": PAIRS.replace("entailment", "neutral")}, "expected triplets"),
        ("dpr", {"questions": PAIRS}, "questions.txt"),
        ("tuning", {"questions": SQUAD}, "expected"),
        ("aeenc", {"corpus": "ice is cold", "trees": '\n{"id": "t1"}'}, "trees.txt, line 2"),
        ("reranker", {"corpus": "ice is cold", "trees": SQUAD}, "trees.txt, line 1"),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused_before_the_queue(
    jobs: Jobs, tmp_path: Path, method: str, files: dict[str, str], message: str
) -> None:
    source = {}
    for field, text in files.items():
        file = tmp_path / f"{field}.txt"
        file.write_text(text, encoding="utf-8")
        source[field] = [str(file)] if field == "pairs" else str(file)
    if "tables" in files:
        (tmp_path / "tables").mkdir()
        (tmp_path / "tables" / "A.tsv").write_text("THING\t[SKIP] UID\nice is cold\tu1\n", encoding="utf-8")
        source["tables"] = str(tmp_path / "tables")
    with pytest.raises(EntailError, match=re.escape(message)) as raised:
        jobs.submit(method, {}, source, name="mine", by="Ann")
    assert str(tmp_path) not in str(raised.value), "a page shows no path of the server"
    assert jobs.jobs() == []
