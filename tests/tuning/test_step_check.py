"""The check of steps by a judge, and the script that measures it."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import EvaluationError
from entail.gausscse.verdict import Verdict
from entail.index.lexical import TfidfIndex
from entail.judge.judges import join_premises, judge_steps
from entail.statistics.classification import Values

CORPUS = Corpus.of(
    "five", ["ice is cold", "snow is ice", "snow is cold", "snow is cold stuff", "fire is hot"]
)
TREE = ExplanationTree(
    id="t",
    hypothesis="snow is cold",
    sentences={"sent1": "snow is ice", "sent2": "ice  is cold", "sent3": "snow is frozen"},
    intermediates={"int1": "snow is frozen water"},
    steps=(Step(("sent3",), "int1"), Step(("sent1", "sent2"), "hypothesis")),
)


class Words:
    """A judge that gives the share of the conclusion's words that the premises hold."""

    name, revision = "words", "words@1"

    def entailment(self, premises: Sequence[str], hypotheses: Sequence[str], **_: Any) -> Values:
        pairs = zip(premises, hypotheses, strict=True)
        return np.array([np.mean([word in p.split() for word in h.split()]) for p, h in pairs])


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("measure_step_check")


def test_a_step_is_all_its_premises_together() -> None:
    judge: Any = Words()
    steps = [(["snow is ice.", "ice is cold"], "snow is cold"), (["snow is ice"], "snow is cold")]
    assert judge_steps(judge, steps).tolist() == pytest.approx([1, 2 / 3])
    assert judge_steps(judge, []).shape == (0,)
    assert join_premises(["", " . "]) == ""


def test_steps_are_spoilt_in_one_premise(script: ModuleType) -> None:
    steps = script.distinct_steps([TREE, TREE])
    assert steps == [(("snow is ice", "ice is cold"), "snow is cold")]
    spoilt = script.spoil(steps, CORPUS, TfidfIndex(CORPUS), seed=0)
    assert spoilt[script.WHOLE] == steps
    ((left, conclusion),) = spoilt[script.DROPPED]
    assert (len(left), set(left) < set(steps[0][0]), conclusion) == (1, True, "snow is cold")
    ((exchanged, _),) = spoilt[script.REPLACED]
    assert set(exchanged) == {*left, "snow is cold stuff"}, (
        "the nearest that is neither premise nor conclusion"
    )
    assert spoilt == script.spoil(steps, CORPUS, TfidfIndex(CORPUS), seed=0)
    with pytest.raises(EvaluationError, match="found none"):
        script.distinct_steps([])


def test_readers_are_compared_on_all_kinds(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = script.spoil(script.distinct_steps([TREE]), CORPUS, TfidfIndex(CORPUS), seed=0)

    def blind(encoder: Any, first: Sequence[str], second: Sequence[str]) -> list[Verdict]:
        return [Verdict("", "", 0.9, 0.9, "both ways", 0.0, None, None) for _ in first]

    monkeypatch.setattr(script, "judge", blind)
    monkeypatch.setattr(script, "threshold_of", lambda form: 0.5)

    class Encoder:
        revision, form = "blind@1", None

    figures = script.measure(spoilt, Words(), Encoder())
    by_words, by_nobody = figures["readers"].values()
    assert [kind["share"] for kind in by_nobody["supported"].values()] == [1, 1, 1]
    assert set(by_nobody["auroc"].values()) == {0.5}
    assert by_words["auroc"][script.DROPPED] == 1
    result = {
        "figures": figures,
        "commit": "c",
        "hardware": {"cpu": "x", "cores": 1},
        "wall_seconds": 1.0,
        "command": "python scripts/measure_step_check.py",
    }
    page = "\n".join(script.markdown(result))
    assert "`words@1`" in page
    assert "1 distinct steps" in page
