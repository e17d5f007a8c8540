"""Fixtures of cards."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home


@pytest.fixture
def encoder(trained: Callable[..., Path]) -> Callable[..., Path]:
    return trained
