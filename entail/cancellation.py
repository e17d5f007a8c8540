"""Cooperative cancellation: loops that take long call `check_cancelled` once a batch and end where it raises.

Whoever starts such a loop sets the check that ends it, for a thread or an asyncio task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def cancelled_by(check: Callable[[], None]) -> Iterator[None]:
    """Let loops inside end as soon as `check` raises.

    Tasks of asyncio inherit it; a thread takes it over by `contextvars.copy_context`.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Raise as the check of this context does; do nothing where there is none."""
    if (check := _check.get()) is not None:
        check()


def cancellable(items: Iterable[T]) -> Iterator[T]:
    """Yield items and call `check_cancelled` before each.

    >>> [word.upper() for word in cancellable(["ice", "sun"])]
    ['ICE', 'SUN']
    """
    for item in items:
        check_cancelled()
        yield item
