"""Versions of a corpus as sets of keys, which are made from one another."""

import numpy as np
import pytest

from entail.index.engines import Numbers
from entail.index.servers.versions import Version, rank

RANDOM = np.random.default_rng(3)
NUMBERS = RANDOM.integers(0, 2**64, 500, dtype=np.uint64)
NEW = RANDOM.integers(0, 2**64, 5, dtype=np.uint64)


@pytest.mark.parametrize(
    "numbers",
    [
        NUMBERS,
        np.concatenate([NUMBERS, NEW]),
        np.delete(NUMBERS, [0, 17, 499]),
        np.concatenate([np.delete(NUMBERS, 40), NEW[:1]]),
        np.where(np.arange(500) == 40, NEW[0], NUMBERS),
        RANDOM.permutation(NUMBERS),
        RANDOM.permutation(np.concatenate([NUMBERS[::2], NEW])),
        NEW,
    ],
    ids=["same", "added", "retired", "moved", "replaced", "shuffled", "mixed", "other"],
)
def test_a_version_from_another_is_the_one_from_its_keys(numbers: Numbers) -> None:
    before = Version.of(NUMBERS)
    change, expected = before.change(numbers), Version.of(numbers)
    np.testing.assert_array_equal(change.after.numbers, expected.numbers)
    np.testing.assert_array_equal(change.after.order, expected.order)
    assert change.after.name == expected.name
    np.testing.assert_array_equal(change.added, np.setdiff1d(expected.numbers, before.numbers))
    np.testing.assert_array_equal(change.retired, np.setdiff1d(before.numbers, expected.numbers))
    np.testing.assert_array_equal(change.after.positions(numbers), np.arange(len(numbers)))


def test_versions_are_the_same_in_any_order_alone() -> None:
    assert Version.of(NUMBERS).name == Version.of(NUMBERS[::-1]).name
    assert Version.of(NUMBERS).name != Version.of(NUMBERS[1:]).name


def test_equal_scores_are_in_order_of_position() -> None:
    version, halves = Version.of(NUMBERS), np.ones((500, 2), np.float16)
    hits = rank(version, np.ones((1, 2), np.float32), [(version.numbers, halves)], 4)
    assert hits.positions.tolist() == [[0, 1, 2, 3]]
