"""A training that is interrupted anywhere and resumed has the files of an uninterrupted one, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc import training
from entail.data.records import Corpus
from entail.training.loop import fit
from entail.training.method import Run
from tests.aeenc.conftest import Trees, small


class Interrupted(BaseException):
    """Stands for the end of the process."""


def interrupting(count: int, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return work that ends the process after its n-th call."""
    calls = iter(range(1, 1000))

    def counted(*args: Any, **kwargs: Any) -> Any:
        result = work(*args, **kwargs)
        if next(calls) == count:
            raise Interrupted
        return result

    return counted


def test_a_training_of_two_rounds(
    home: Path, facts: Corpus, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(towers="dual", rounds=2, epochs=2, premises_per_step=12, alpha=0.1)

    def train(name: str, watch: Any = None) -> tuple[dict[str, Any], int]:
        run = Run(out=home / name, checkpoint_seconds=0.0, watch=watch)
        done = training.train_aeenc(facts, config, trees=trees, dev=trees, run=run)
        fitted = done.fitted
        figures = {
            "samples": done.further["samples"],
            "evaluations": [[e.epoch, e.score] for e in fitted.evaluations],
            "counts": dict(done.counts),
        }
        return figures, fitted.resumed

    whole, _ = train("whole")
    # In the first sampling, of which nothing is kept; next to its place; in the second round; half saved.
    moments = ((training, "sample"), (fit.os, "fsync"), (None, ""), (training, "write_training_queries"))
    for owner, name in moments:
        watch = None if owner else interrupting(6, lambda event: None)
        with monkeypatch.context() as patch:
            if owner:
                patch.setattr(owner, name, interrupting(1, getattr(owner, name)))
            with pytest.raises(Interrupted):
                train("parts", watch)
        assert not (home / "parts").exists()
    parts, resumed = train("parts")
    assert resumed >= 2
    assert parts == whole
    contents = [
        {
            path.relative_to(home / name): path.read_bytes()
            for path in (home / name).rglob("*")
            if path.is_file() and path.name != "README.md"  # the card has the folder's name
        }
        for name in ("whole", "parts")
    ]
    assert contents[0] == contents[1]
    assert not [path.name for path in home.iterdir() if path.name.startswith(".")]
