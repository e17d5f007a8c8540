from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from entail.training.loop.batches import BatchTask, batches

LENGTHS = st.lists(st.integers(1, 200), max_size=200)


@given(LENGTHS, st.integers(1, 17), st.integers(0, 5), st.integers(0, 5))
def test_every_text_is_in_one_batch(lengths: Sequence[int], size: int, seed: int, epoch: int) -> None:
    dealt = batches(lengths, batch_size=size, seed=seed, epoch=epoch)
    assert sorted(np.concatenate([*dealt, np.empty(0, dtype=int)]).tolist()) == list(range(len(lengths)))
    assert all(0 < len(batch) <= size for batch in dealt)
    again = batches(lengths, batch_size=size, seed=seed, epoch=epoch)
    assert all(np.array_equal(a, b) for a, b in zip(dealt, again, strict=True))


def test_like_lengths_go_together() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=512)
    padded = sum(len(b) * lengths[b].max() for b in batches(lengths, batch_size=32, seed=0, epoch=0))
    assert padded < 1.15 * lengths.sum()


def test_epochs_combine_other_texts() -> None:
    first, second = (batches([10] * 64, batch_size=8, seed=0, epoch=e) for e in (0, 1))
    assert {frozenset(b.tolist()) for b in first} != {frozenset(b.tolist()) for b in second}


def test_steps_count_the_batches_of_all_epochs() -> None:
    task = BatchTask(SimpleNamespace(batch_size=2, seed=0), [1] * 5)
    assert task.steps(2) == 2 * len(task.batches(0)) == 6
