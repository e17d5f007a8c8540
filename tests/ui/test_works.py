"""Work done once for all, in a thread of its own."""

import threading

from entail.errors import EntailError
from entail.progress import Progress, ProgressCallback
from entail.ui.works import Works


def test_the_same_place_is_made_once() -> None:
    works, made = Works(9, failure="no luck"), []

    def make(_: ProgressCallback) -> str:
        made.append(1)
        return "value"

    assert [works.take("a", make, wait=5).value for _ in range(3)] == ["value"] * 3
    assert len(made) == 1


def test_who_does_not_wait_sees_how_far_it_is() -> None:
    works, go, told = Works(9, failure="no luck"), threading.Event(), threading.Event()

    def make(report: ProgressCallback) -> int:
        report(Progress(1, 2, 0.1, "ranking"))
        told.set()
        go.wait(5)
        return 3

    work = works.take("a", make, wait=0)
    assert told.wait(5)
    assert work.value is None
    assert work.progress is not None
    assert work.progress.fraction == 0.5
    go.set()
    assert works.take("a", make, wait=5).value == 3


def test_what_failed_is_told_and_tried_again() -> None:
    works, answers = Works(9, failure="no luck"), iter([EntailError("no vectors"), ValueError("odd"), None])

    def make(_: ProgressCallback) -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "fine"

    first, second = works.take("a", make, wait=5), None
    assert str(first.error) == "no vectors"
    second = works.take("a", make, wait=5)
    assert str(second.error) == "no luck (ValueError: odd)"
    assert works.take("a", make, wait=5).value == "fine"


def test_the_least_recently_used_goes_first() -> None:
    works, made = Works(2, failure="no luck"), []

    def make(_: ProgressCallback) -> int:
        made.append(1)
        return len(made)

    for place in ("a", "b", "a", "c", "a", "b"):
        works.take(place, make, wait=5)
    assert len(made) == 4  # b was dropped for c, and made again


def test_a_look_begins_nothing_and_what_is_dropped_is_made_again() -> None:
    works, made = Works(9, failure="no luck"), []

    def make(_: ProgressCallback) -> int:
        made.append(1)
        return len(made)

    assert works.look("a") is None
    first = works.take("a", make, wait=5)
    assert works.look("a") is first
    works.take("b", make, wait=5)
    works.drop(lambda place: place == "a")
    assert works.look("a") is None
    assert works.look("b") is not None
    assert works.take("a", make, wait=5).value == 3
