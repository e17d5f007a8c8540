"""Metrics of the API: what is counted, shown, shared over processes, and kept."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from entail.errors import ServingError
from entail.runtime.memory import list_residents
from entail.runtime.shared_metrics import FOLDER
from entail.serving.client import Client
from entail.serving.history import History, Sample, Traffic, read_metrics, split_traffic, take_sample
from tests.serving.conftest import JSON, TOKEN, Served
from tests.support.machine import until


def sampled(served: Served) -> Sample:
    with Client(served.url, token=served.token) as client:
        return take_sample(read_metrics(client))


def test_requests_are_counted_by_endpoint_and_status(serve: Callable[..., Served]) -> None:
    served = serve(token=TOKEN)
    assert served.send("GET", "/metrics").status == 401
    before = sampled(served)
    authorised = {"Authorization": f"Bearer {TOKEN}"}
    for path, status in (("/info", 200), ("/nothing", 404), ("/health", 200), ("/metrics", 200)):
        assert served.send("GET", path, headers=authorised).status == status
    assert served.post("/encode", texts=["ba"]).status == 401
    assert served.send("POST", "/encode", b'{"texts": ["ba", "bo"]}', authorised | JSON).status == 200
    traffic = Traffic(before, sampled(served))
    total = {
        (endpoint, status): traffic.count("entail_requests_total", endpoint=endpoint, status=status)
        for endpoint, status in [("/info", "200"), ("other", "404"), ("/encode", "401"), ("/encode", "200")]
    }
    assert set(total.values()) == {1.0}
    assert traffic.count("entail_requests_total") == 4, "health and metrics do not count"
    assert traffic.count("entail_batch_texts_sum", encoder="tiny", source="api") == 2
    median = traffic.quantile("entail_request_seconds", 0.5, endpoint="/encode")
    assert median is not None
    assert 0 < median < 20


def test_a_full_queue_and_the_models_in_memory_show(served: Served) -> None:
    finish = served.hold()
    more = served.send_together(("/encode", {"texts": ["ba", "bi"]}))
    until(lambda: served.waiting == 2)
    sample = sampled(served)
    assert list(sample.select("entail_queue_texts", encoder="tiny").values()) == [2.0]
    assert list(sample.select("entail_requests_in_progress", endpoint="/encode").values()) == [2.0]
    served.release()
    assert [reply.status for reply in finish() + more()] == [200, 200]
    assert served.post("/search", queries=["ba"], corpus="grove", retriever="tiny").status == 200
    sample = sampled(served)
    sizes = sample.values["entail_model_bytes"]
    rows = {(dict(key)["kind"], dict(key)["name"]): dict(key) for key, size in sizes.items() if size}
    assert set(rows) == {("retriever", "tiny"), ("index", "tiny")}
    assert rows["index", "tiny"]["corpus"] == "grove"
    assert rows["retriever", "tiny"]["device"] == "cpu"
    residents = {resident.kind: resident for resident in list_residents()}
    assert residents["retriever"].size > residents["index"].size > 0
    assert residents["retriever"].since <= residents["retriever"].used <= time.time()
    assert list(sample.select("entail_queue_texts", encoder="tiny").values()) == [0.0]


def histogram(counts: Mapping[str, float]) -> Mapping[str, Any]:
    return {"h_bucket": {(("endpoint", "/x"), ("le", limit)): count for limit, count in counts.items()}}


@pytest.mark.parametrize(
    ("before", "after", "share", "expected"),
    [
        ({"1.0": 0, "2.0": 0, "+Inf": 0}, {"1.0": 5, "2.0": 10, "+Inf": 10}, 0.5, 1.0),
        ({"1.0": 5, "2.0": 5, "+Inf": 5}, {"1.0": 5, "2.0": 9, "+Inf": 9}, 0.5, 1.5),
        ({"1.0": 0, "2.0": 0, "+Inf": 0}, {"1.0": 0, "2.0": 0, "+Inf": 4}, 0.99, 2.0),
        ({"1.0": 9, "2.0": 9, "+Inf": 9}, {"1.0": 1, "2.0": 1, "+Inf": 1}, 1.0, 1.0),  # restarted
        ({"1.0": 3, "2.0": 3, "+Inf": 3}, {"1.0": 3, "2.0": 3, "+Inf": 3}, 0.5, None),
    ],
)
def test_quantiles(
    before: dict[str, float], after: dict[str, float], share: float, expected: float | None
) -> None:
    traffic = Traffic(Sample(0, histogram(before)), Sample(10, histogram(after)))
    assert traffic.quantile("h", share, endpoint="/x") == expected


def test_a_history_of_hours_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    history = History(list)
    for _ in range(8 * 720):  # a reader every 5 seconds, for 8 hours
        history.samples(0)
        now[0] += 5
    samples = history.samples(90_000)
    assert samples[-1].at == now[0]
    assert samples[-1].at - samples[0].at == pytest.approx(6 * 3_600, abs=30)
    gaps = {second.at - first.at for first, second in pairwise(samples[:-1])}
    assert gaps == {20.0}
    assert len(history.samples(900)) == pytest.approx(46, abs=1)
    assert 50 <= len(list(split_traffic(samples, 60))) <= 67
    assert not list(split_traffic(samples[:1], 60))

    def fail() -> Any:
        raise ServingError("no answer", status=0)

    unreachable = History(fail)
    assert not unreachable.samples(900)
    assert isinstance(unreachable.error, ServingError)


def test_processes_of_one_data_folder_add_up(tmp_path: Path) -> None:
    code = (
        "from entail.runtime.shared_metrics import share_metrics; share_metrics()\n"
        "from entail.runtime.metrics import REQUESTS; REQUESTS.labels('/x', '200').inc(3)\n"
        "from entail.serving.metrics import metrics; print(metrics().body.decode()); input()\n"
    )
    environment = {**os.environ, FOLDER: str(tmp_path / "metrics")}

    def start() -> tuple[subprocess.Popen[str], float]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        lines = []
        while not (line := process.stdout.readline()).startswith("entail_requests_total"):  # type: ignore[union-attr]  # a pipe
            lines.append(line)
        sample = take_sample(text_string_to_metric_families("".join([*lines, line])))
        return process, sum(sample.values["entail_requests_total"].values())

    first, counted = start()
    assert counted == 3
    second, counted = start()
    assert counted == 6
    first.kill()
    first.communicate()
    third, counted = start()
    assert counted == 6, "those of a killed process are removed"
    for process in (second, third):
        process.communicate("\n")
    assert not (tmp_path / "metrics").exists()
