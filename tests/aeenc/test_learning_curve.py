"""The simulated author of `scripts/learning_curve.py`."""

from collections.abc import Callable
from types import ModuleType

import pytest

from entail.data.records import Corpus, ExplanationTree, Step
from entail.data.worldtree.questions import Question, QuestionReading, WorldtreeRelease
from entail.data.worldtree.tables import Fact, FactTables


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("learning_curve")


def test_the_author_rejects_what_stands_above_the_last_accepted_premise(script: ModuleType) -> None:
    corpus = Corpus.of("c", ["ice is cold water", "ice is cold", "cold ice", "water freezes", "fire is hot"])
    tree = ExplanationTree("t", "ice is cold", {"sent1": "cold ice"}, steps=(Step(("sent1",), "hypothesis"),))
    judgements = script.decide(corpus, [tree], "tfidf")
    assert set(judgements.accepted["ice is cold"]) == {"cold ice"}
    assert set(judgements.rejected.get("ice is cold", ())) <= {"ice is cold water"}
    tree = ExplanationTree(
        "t", "ice is cold", {"sent1": "water freezes"}, steps=(Step(("sent1",), "hypothesis"),)
    )
    judgements = script.decide(corpus, [tree], "tfidf")
    assert set(judgements.rejected["ice is cold"]) >= {"ice is cold water", "cold ice"}
    assert "ice is cold" not in judgements.rejected["ice is cold"], "the query itself is not read"


def test_explained_questions_of_train_are_trees_of_one_step(script: ModuleType) -> None:
    facts = FactTables(
        (Fact("a", "ice is cold", "KINDOF"), Fact("b", "cold is a feeling", "KINDOF")), "digest"
    )
    roles = {"b": "CENTRAL", "a": "LEXGLUE", "gone": "CENTRAL"}
    train = QuestionReading(
        "questions.train.tsv",
        "2020",
        (
            Question("1", "How is ice?", "cold", roles),
            Question("2", "Known?", "yes", roles),
            Question("3", "Unexplained?", "yes", {}),
        ),
    )
    dev = QuestionReading("questions.dev.tsv", "2020", (Question("4", "Dev?", "yes", roles),))
    (tree,) = script.question_trees(WorldtreeRelease("w", facts, (train, dev)), {"2"})
    assert tree.hypothesis == "How is ice? cold"
    assert set(tree.pairs) == {(tree.hypothesis, "cold is a feeling"), (tree.hypothesis, "ice is cold")}


def test_an_interval_is_students_over_the_splits(script: ModuleType) -> None:
    assert script.interval([0.01, 0.02, 0.03]) == pytest.approx(
        (0.02 - 4.3027 * 0.01 / 3**0.5, 0.04484), abs=1e-5
    )
    assert script.interval([0.01]) is None
