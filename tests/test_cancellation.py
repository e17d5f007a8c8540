"""Loops that take long consult the check of their context at each step, and end where it raises."""

import contextvars
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from entail.arcf.chains.chain import Search, Step, follow
from entail.arcf.scoring.bi_encoder import BiEncoderScorer, Head
from entail.cancellation import cancellable, cancelled_by, check_cancelled
from entail.data.records import Corpus
from entail.encoders.cross.encoder import CrossEncoder
from entail.encoders.cross.pairs import Frame, Pair
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Gaussians
from entail.index.gaussian import LiftedGaussians
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.ranking import top_k
from entail.progress import Meter

TEXTS = ["ice is cold", "melting ice", "fire is hot", "the sun melts wax", "wax burns"]
CORPUS = Corpus.of("tiny", TEXTS)
FRAME = Frame((1,), (2,), (2,), 0, False)
PAIRS: list[Pair] = [((3, 4), (number,)) for number in range(5, 10)]


class EndedError(Exception):
    """The check's own error."""


def end() -> None:
    raise EndedError


def test_check_belongs_to_its_context() -> None:
    check_cancelled()  # there is none
    outcomes: list[str] = []

    def work() -> None:
        try:
            check_cancelled()
            outcomes.append("went on")
        except EndedError:
            outcomes.append("ended")

    with cancelled_by(end):
        context = contextvars.copy_context()
        for target in (work, lambda: context.run(work)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        with pytest.raises(EndedError):
            next(cancellable("a"))
    check_cancelled()
    assert outcomes == ["went on", "ended"]


def test_iteration_ends_where_it_is_cancelled() -> None:
    cancelled = threading.Event()
    with cancelled_by(lambda: end() if cancelled.is_set() else None):
        items = cancellable("abc")
        assert next(items) == "a"
        cancelled.set()
        with pytest.raises(EndedError):
            next(items)


def report_progress() -> None:
    meter = Meter(5, "counting")
    for _ in range(5):
        meter.add(1)


def read_pairs() -> None:
    CrossEncoder(
        lambda ids, mask, second: torch.zeros(len(ids), 2),
        (torch.zeros(1, 2), torch.zeros(1)),
        tokenize=lambda texts: [],
        frame=FRAME,
        max_length=16,
        budget=1,
    ).score(PAIRS)


def read_apart() -> None:
    def forward(ids: torch.Tensor, attention: torch.Tensor | None) -> torch.Tensor:
        return torch.ones(*ids.shape, 2)

    head = Head(torch.ones(1, 2), torch.zeros(1), torch.ones(1))
    BiEncoderScorer(
        forward,
        forward,
        head,
        tokenize=lambda texts: [],
        frame=FRAME,
        max_length=16,
        device="cpu",
        budget=1,
    ).score(PAIRS)


def grow_chain() -> None:
    follow(lambda facts: Step(facts, (len(facts),), (0.0,), None, frozenset()), Search(length=5))


def gaussians(count: int) -> Gaussians:
    draw = np.random.default_rng(0)
    return Gaussians.of(draw.normal(size=(count, 4)).astype(np.float32))


STEPS: dict[str, Callable[[], object]] = {
    "progress": report_progress,
    "cross-encoder": read_pairs,
    "bi-encoder": read_apart,
    "chain": grow_chain,
    "fitting words": lambda: TfidfIndex(CORPUS),
    "top k": lambda: top_k(np.zeros((5, 3), dtype=np.float32), 1),
    "few Gaussians": lambda: LiftedGaussians(gaussians(9), "entailing").nearest(gaussians(5), k=2),
    "many Gaussians": lambda: LiftedGaussians(gaussians(99), "entailing").nearest(gaussians(5), k=2),
}


@pytest.mark.parametrize("work", STEPS.values(), ids=STEPS)
def test_five_steps_are_five_checks(work: Callable[[], object]) -> None:
    assert count_checks(work) >= 5
    with pytest.raises(EndedError), cancelled_by(end):
        work()


@pytest.mark.parametrize("kind", [TfidfIndex, Bm25Index])
def test_lexical_scores(kind: type[TfidfIndex] | type[Bm25Index]) -> None:
    index = kind(CORPUS)
    assert count_checks(lambda: index.scores(TEXTS)) >= len(TEXTS)
    np.testing.assert_array_equal(index.scores(TEXTS)[2], index.scores([TEXTS[2]])[0])


def test_layers_of_a_bert(tiny_home: Path, write_bert: Callable[..., Path]) -> None:
    (tiny_home / "tiny").unlink()
    write_bert(tiny_home / "tiny", num_hidden_layers=1)
    write_bert(tiny_home / "deep", num_hidden_layers=6)
    one_layer, six_layers = (
        count_checks(lambda name=name: BiEncoder(name).encode(["ba be"], "query"))
        for name in ("tiny", "deep")
    )
    assert six_layers - one_layer == 5


def count_checks(work: Callable[[], object]) -> int:
    calls: list[None] = []
    with cancelled_by(lambda: calls.append(None)):
        work()
    return len(calls)
