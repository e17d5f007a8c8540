"""The bench of the app beside a training: turns change sides, and medians are compared."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def bench(load_script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, of which nothing starts a server, a browser or a training."""
    pytest.importorskip("playwright", reason="the program drives a browser; tests/requirements.txt names it")
    for name in ("ENTAIL_DATA_DIR", "ENTAIL_MODELS_DIR"):
        monkeypatch.setenv(name, "")  # so that it is as before when this is over
    module = load_script("bench_app")
    for name in ("start_to_page", "stop", "end_workers"):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(module, "start", lambda _: (None, "http://here"))
    monkeypatch.setattr(module, "tree_ids", lambda _: [f"t{number}" for number in range(9)])
    return module


def test_sides_take_turns_and_each_has_a_tree_of_its_own(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, str, int]] = []
    trains: list[int] = []

    def one_turn(browser: Any, url: str, tree: str, words: str, *, accepts: int) -> dict[str, list[float]]:
        calls.append(("beside" if trains else "alone", tree, accepts))
        return {"accept_ms": [0.4 if trains else 0.25] * accepts, "search_ms": [0.5]}

    @contextmanager
    def training(turn: int) -> Iterator[Callable[[], tuple[int, float]]]:
        trains.append(turn)
        steps = iter([(10, 100.0), (40, 110.0)])
        yield lambda: next(steps)
        trains.pop()

    monkeypatch.setattr(bench, "one_turn", one_turn)
    monkeypatch.setattr(bench, "training", training)
    figures = bench.beside_training(None, tmp_path, turns=2, accepts=5)
    assert calls == [
        ("alone", "t0", 1),  # what warms up counts for neither
        ("alone", "t1", 3),
        ("beside", "t2", 3),
        ("beside", "t3", 2),
        ("alone", "t4", 2),
    ]
    assert figures["accept_ms"] == {
        "alone, p50": 250,
        "beside training, p50": 400,
        "ratio": pytest.approx(1.6),
        "n_each": 5,
    }
    assert (figures["search_ms"]["ratio"], figures["training_steps_per_s_meanwhile"]) == (1, 3)


def test_speed_shows_it_where_it_was_measured(
    load_script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed = load_script("write_speed")
    monkeypatch.setattr(speed, "RESULTS", tmp_path)
    title = speed._FURTHER["app_beside_training"]
    assert list(speed._further("app_beside_training", title)) == []
    hardware = '{"cpu": "x", "cores": 2, "memory_gib": 4, "gpus": []}'
    (tmp_path / "app_beside_training.json").write_text(
        '{"figures": {"accept_ms": {"alone, p50": 250.0, "ratio": 1.6}}, "commit": "abc", "command": "c", '
        f'"hardware": {hardware}}}',
        encoding="utf-8",
    )
    lines = list(speed._further("app_beside_training", title))
    assert f"## {title}" in lines
    assert "| accept ms, alone, p50 | 250.000 |" in lines
    assert "| accept ms, ratio | 1.600 |" in lines
