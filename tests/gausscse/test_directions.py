"""Directions of premises, and what is asked of the encoder for them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import Calibration
from entail.gausscse.directions import Directions, join_premises
from entail.gausscse.verdict import judge

PREMISES = ["ba be bi bo", "da", "ba be", "fo fu"]


class Counting(GaussianEncoder):
    """An encoder that notes what it is asked to encode."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], **options: Any) -> Gaussians:
        self.asked.extend(texts)
        return super().encode(texts, **options)


@pytest.fixture
def counting(gaussian: str) -> Counting:
    return Counting(gaussian)


@pytest.fixture
def arrows(counting: Counting) -> Directions:
    return Directions(counting)


def test_an_arrow_is_the_verdict_on_premise_and_sentence(arrows: Directions, counting: Counting) -> None:
    sentence = "ba be"
    counting.form = replace(counting.form, entailment=Calibration(slope=1.0, intercept=-9.0))
    verdicts = arrows.between(PREMISES, sentence)
    expected = judge(counting, PREMISES, [sentence] * 4)
    assert [(v.first, v.second, v.says) for v in verdicts] == [(v.first, v.second, v.says) for v in expected]
    np.testing.assert_allclose([v.margin for v in verdicts], [v.margin for v in expected], atol=1e-5)
    np.testing.assert_allclose([v.sure for v in verdicts], [v.sure for v in expected], atol=1e-5)
    assert all(v.sure is not None and v.sure >= 0.5 for v in verdicts)
    assert verdicts[2].says == "both ways", "it is the very sentence"
    assert arrows.between([], sentence) == []


def test_a_text_is_encoded_once(arrows: Directions, counting: Counting) -> None:
    arrows.between(PREMISES, "ba be")
    assert sorted(counting.asked) == sorted(PREMISES)
    arrows.between([*PREMISES, " da "], "fo  fu")
    assert len(counting.asked) == len(PREMISES)
    arrows.between(["new"], "da")
    assert counting.asked[len(PREMISES) :] == ["new"]


def test_a_step_is_all_its_premises_together(arrows: Directions, counting: Counting) -> None:
    step = arrows.step(["ba be.", " bi  bo"], "da")
    assert (step.count, step.read) == (2, 2)
    verdict = step.verdict
    assert verdict.truncated == ()
    assert (verdict.first, verdict.second) == ("ba be and bi bo", "da")
    back = arrows.between(["da"], "ba be and bi bo")[0]
    assert verdict.margin == pytest.approx(-back.margin)
    assert arrows.step(["da"], "da").verdict.says == "both ways"
    assert join_premises(["", " . "]) == ""


def test_a_step_says_which_of_its_premises_were_read(arrows: Directions, counting: Counting) -> None:
    premises = [f"ba be {syllable} bo" for syllable in ("da", "de", "di", "do") * 10]
    long_step = arrows.step([*premises, "fo fu"], "fo fu")
    whole = [not counting.cut([join_premises(premises[: count + 1])])[0] for count in range(40)]
    assert 0 < long_step.read == sum(whole) < 40
    assert long_step.count == 41
    assert long_step.verdict.truncated == ("first",)
    # What comes after the premise in which the reading ends changes nothing, were it the conclusion itself.
    as_far, less_far = (arrows.step(premises[: long_step.read + by], "fo fu").verdict for by in (1, -1))
    assert long_step.verdict.margin == pytest.approx(as_far.margin, abs=1e-6)
    assert abs(long_step.verdict.margin - less_far.margin) > 1e-4
    alone = arrows.step(["ba " * 500], "fo fu")
    assert (alone.read, alone.count, alone.verdict.truncated) == (0, 1, ("first",))
    assert arrows.between(["ba"], "fo " * 500)[0].truncated == ("second",)
