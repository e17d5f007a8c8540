"""Options of what ranks facts."""

from dataclasses import dataclass
from typing import Any

import pytest

from entail.arcf.scorer_form import ScorerForm
from entail.cli.ranking import RankingOptions
from entail.data.worldtree_tables import Fact, FactTables

FACTS = FactTables(tuple(Fact(f"u{i}", f"fact {i}", "T") for i in range(9)))


@dataclass(frozen=True)
class _Scorer:
    form: ScorerForm
    revision: str = "x@1"


@pytest.mark.parametrize(
    ("given", "forms", "k"),
    [
        ({}, {"arcf-minilm": ScorerForm()}, 2),
        ({}, {"arcf-minilm": ScorerForm(reading="apart", k=4)}, 4),
        ({"k": 3}, {"arcf-minilm": ScorerForm(reading="apart", k=4)}, 3),
        (
            {"method": "ensemble", "parts": "arcf+single-fact=joint"},
            {"arcf-minilm": ScorerForm(reading="apart", k=4), "joint": ScorerForm()},
            2,
        ),
    ],
)
def test_as_many_facts_are_visible_as_suit_the_scorer(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], forms: dict[str, ScorerForm], k: int
) -> None:
    monkeypatch.setattr("entail.arcf.scorer_form.AFFORDED", 2)
    monkeypatch.setattr("entail.arcf.scorer.load_scorer", lambda name, **told: _Scorer(forms[name]))
    loaded = RankingOptions(**given).load(FACTS, progress=None)
    assert loaded.neighbourhoods.k == loaded.options.k == k
    assert loaded.settings["k"] == str(k)


def test_without_a_scorer_as_many_as_can_be_afforded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.arcf.scorer_form.AFFORDED", 2)
    assert RankingOptions(method="tfidf").load(FACTS, progress=None).neighbourhoods.k == 2
