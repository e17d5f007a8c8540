"""The program that asks what carries AE-Enc further: its figures, its page, and what it distils."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, ExplanationTree, Step
from entail.index.lexical import TfidfIndex

RESULT = Path(__file__).parent.parent.parent / "docs" / "results" / "aeenc_further.json"
CORPUS = Corpus.of("tiny", ["ice is cold", "melting ice", "fire is hot", "the sun melts wax"])


@pytest.fixture(scope="module")
def further(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("aeenc_further")


@pytest.fixture(scope="module")
def cross(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("aeenc_cross")


def unit(*rows: list[float]) -> Any:
    found = np.array(rows, dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_a_vector_moves_towards_what_is_preferred_of_its_neighbours(cross: ModuleType) -> None:
    premises = unit([1, 0, 0], [0.9, 0.4, 0], [0, 0, 1])
    vectors = unit([1, 0.2, 0])
    near = np.array([0, 1])
    second = (near, np.array([0.0, 1.0]))
    moved = cross.distilled(vectors, premises, [second], step=0.5)
    assert np.linalg.norm(moved[0]) == pytest.approx(1)
    assert moved[0] @ premises[1] > vectors[0] @ premises[1]
    assert moved[0] @ premises[1] - moved[0] @ premises[0] > vectors[0] @ (premises[1] - premises[0])
    cosines = premises[near] @ vectors[0]
    own = np.exp((cosines - 1) / cross.SHARP)
    as_it_is = cross.distilled(vectors, premises, [(near, own / own.sum())], step=0.5)
    np.testing.assert_allclose(as_it_is, vectors, atol=1e-6)  # who agrees moves nothing


def test_a_judge_learns_from_children_and_from_neighbours_that_are_none(cross: ModuleType) -> None:
    tree = ExplanationTree(
        id="t",
        hypothesis="ice is cold",
        sentences={"sent1": "melting ice"},
        steps=(Step(premises=("sent1",), conclusion="hypothesis"),),
    )
    found = cross.examples(CORPUS, [tree], [TfidfIndex(CORPUS)])
    assert [(pair.premise, pair.label) for pair in found if pair.label == "entailment"] == [
        ("melting ice", "entailment")
    ]
    others = {pair.premise for pair in found if pair.label == "neutral"}
    assert others == {"fire is hot", "the sun melts wax"}  # neither the child nor the parent itself
    assert {pair.hypothesis for pair in found} == {"ice is cold"}


def test_the_page_is_made_from_the_committed_figures(further: ModuleType) -> None:
    page = RESULT.with_suffix(".md").read_text(encoding="utf-8")
    told = "\n".join(further.markdown(json.loads(RESULT.read_text(encoding="utf-8"))))
    assert page == told.rstrip() + "\n"
