"""The page of what carries AE-Enc further, and of what does not."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

RESULT = Path(__file__).parent.parent.parent / "docs" / "results" / "aeenc_further.json"


@pytest.fixture(scope="module")
def further(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("aeenc_further")


def test_the_page_is_made_from_the_committed_figures(further: ModuleType) -> None:
    page = RESULT.with_suffix(".md").read_text(encoding="utf-8")
    told = "\n".join(further.markdown(json.loads(RESULT.read_text(encoding="utf-8"))))
    assert page == told.rstrip() + "\n"
