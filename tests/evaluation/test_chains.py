"""MAP of rankings of facts, by hand."""

from pathlib import Path

import numpy as np
import pytest

from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import EvaluationError
from entail.evaluation.chains import evaluate_chains, fact_similarities, tfidf_rankings

TEXTS = [
    "a cube is a kind of shape",
    "melting means changing from solid to liquid",
    "ice is a solid",
    "the sun is hot",
    "ice is a solid",
    "shapes have faces",
]
FACTS = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(TEXTS)))


def question(name: str, **gold: str) -> Question:
    return Question(name, "What melts?", "ice", gold)


ONE = question("Q1", u1="CENTRAL", u2="GROUNDING", u0="CENTRAL")
TWO = question("Q2", u3="CENTRAL")
LOST = question("Q3", u3="CENTRAL", gone="LEXGLUE")
BLIND = question("Q4")
IN_ORDER = np.arange(6)


def test_average_precision_of_the_shared_task() -> None:
    # Gold at ranks 1, 2, 3 and at rank 4; a gold fact in no table makes the whole question 0.
    evaluation = evaluate_chains([ONE, TWO, LOST, BLIND], FACTS, [IN_ORDER] * 4)
    assert evaluation.values.tolist() == [1.0, 0.25, 0.0]
    assert evaluation.map == pytest.approx(1.25 / 3)
    assert evaluation.missing == (("Q3", "gone"),)
    assert evaluation.without_gold == 1
    figures = evaluation.to_json()
    assert figures["questions"] == 3
    assert figures["missing_gold"] == [["Q3", "gone"]]
    backwards = evaluate_chains([ONE], FACTS, [IN_ORDER[::-1]])
    assert backwards.map == pytest.approx((1 / 4 + 2 / 5 + 3 / 6) / 3)

    # What is left out of a ranking is not ranked at all.
    short = np.array([1, 2])
    assert evaluate_chains([ONE], FACTS, [short]).map == 0.0
    for unranked, ranking in ((BLIND, short), (ONE, np.array([1, 1]))):
        with pytest.raises(EvaluationError):
            evaluate_chains([unranked], FACTS, [ranking])


def test_facts_are_ranked_by_their_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    similarities = fact_similarities(FACTS)
    (ranking,) = tfidf_rankings([ONE], similarities)
    assert set(ranking[:3].tolist()) == {1, 2, 4}
    assert sorted(ranking.tolist()) == [0, 1, 2, 3, 4, 5]
    rows = similarities(["ice"])
    assert rows[0, 2] == rows[0, 4] > 0  # equal words, other uids
    rows = fact_similarities(FACTS, "bm25")(["solid ice"])  # the metric can be any retriever
    assert (rows.shape, int(rows[0].argmax())) == ((1, 6), 2)
