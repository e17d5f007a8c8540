from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from entail.training.loop.batches import batches

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
