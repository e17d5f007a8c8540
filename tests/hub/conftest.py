"""What the tests of the Hub share."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home
