"""Candidates and labels of a step, and losses, by hand."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from entail.aeenc.config import AeencConfig
from entail.aeenc.losses import LOSSES, LossOptions, contrastive, drift, softmax, triplet_margin
from entail.aeenc.pairs import TrainingPairs, judged_pairs
from entail.aeenc.task import AeencTask
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.index.protocol import Floats

FACTS = Corpus.of("facts", ["q", "near", "child", "far", "other"])
# Angles to q by their cosines; "other" belongs to no tree.
ANGLES = {
    text: np.arccos(cosine)
    for text, cosine in {"q": 1.0, "near": 0.9, "child": 0.8, "far": 0.1, "other": 0.6}.items()
}


def unit(texts: Sequence[str]) -> Floats:
    return np.array([[np.cos(ANGLES[t]), np.sin(ANGLES[t])] for t in texts], dtype=np.float32)


class Given:
    """A tower whose vectors are given."""

    device = "cpu"

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.from_numpy(unit(texts)).requires_grad_()


def closed(**accepted: tuple[str, ...]) -> Judgements:
    return Judgements({q: dict.fromkeys(texts) for q, texts in accepted.items()}, closed=True)


def task(
    judgements: Judgements, pairs: TrainingPairs, *, towers: Any = "single", **settings: Any
) -> AeencTask:
    tower: Any = Given()
    return AeencTask(
        AeencConfig(**{"gold": True, "live_k": 0, "towers": towers, "alpha": 0.0, **settings}),
        FACTS,
        pairs,
        judgements,
        queries=tower,
        premises=None if towers == "single" else tower,
        base_premises=unit(FACTS.texts),
        base_queries=unit,
        resample=lambda: pytest.fail("nothing is sampled here"),
        evaluate=lambda: None,
    )


def labels_of(made: AeencTask, *queries: int) -> list[dict[str, int]]:
    batch = np.array(queries)
    vectors = unit([made.pairs.queries[i] for i in queries])
    columns, labels = made._candidates(batch, torch.from_numpy(vectors))
    return [
        {FACTS.texts[int(c)]: int(label) for c, label in zip(columns, row, strict=True)} for row in labels
    ]


def pairs(**positives: str) -> TrainingPairs:
    return judged_pairs(FACTS, Judgements.of_pairs(JudgedPair(q, p, True) for q, p in positives.items()))


def test_live_negatives_are_the_nearest() -> None:
    aeenc_task = task(closed(q=("child",)), pairs(q="child"), live_k=2)
    assert labels_of(aeenc_task, 0) == [{"near": -1, "child": 1, "other": -1}]
    aeenc_task = task(closed(q=("child",)), pairs(q="child"), live_k=2, spare_equals=False)  # as in the paper
    assert labels_of(aeenc_task, 0) == [{"q": -1, "near": -1, "child": 1}]


def test_what_equals_a_child_but_for_capitals_is_no_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, cosine in (("Child", 0.85), ("Q", 0.99)):
        monkeypatch.setitem(ANGLES, text, np.arccos(cosine))
    monkeypatch.setattr(sys.modules[__name__], "FACTS", Corpus.of("facts", list(ANGLES)))
    (labels,) = labels_of(task(closed(q=("child",)), pairs(q="child"), live_k=7), 0)
    assert labels["child"] == 1
    assert {labels.get(text, 0) for text in ("Child", "Q", "q")} == {0}
    assert labels["near"] == -1
    named = replace(pairs(q="child"), negatives=(np.array([FACTS.position("Child"), FACTS.position("far")]),))
    assert labels_of(task(closed(q=("child",)), named), 0) == [{"child": 1, "far": -1}]


def test_what_authors_did_not_reject_is_no_negative() -> None:
    judgements = Judgements.of_pairs([JudgedPair("q", "child", True), JudgedPair("q", "far", False)])
    aeenc_task = task(judgements, judged_pairs(FACTS, judgements), live_k=5)
    assert labels_of(aeenc_task, 0) == [{"child": 1, "far": -1}]


def test_a_positive_weighs_as_it_is_certain() -> None:
    judgements = replace(closed(q=("child", "far")), weights={"q": {"far": 0.25}})
    aeenc_task = task(judgements, judged_pairs(FACTS, judgements), live_k=5)
    batch = np.array([0])
    columns, labels = aeenc_task._candidates(batch, torch.from_numpy(unit(["q"])))
    assert dict(zip((FACTS.texts[int(c)] for c in columns), labels[0].tolist(), strict=True)) == {
        **{"near": -1, "other": -1},
        **{"child": 1, "far": 0.25},
    }
    sure, doubtful = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.25, -1.0]])
    similarities = torch.tensor([[0.5, 0.5]])
    options = LossOptions(contrastive_margin=0.5)
    for loss in LOSSES.values():
        whole, part = (loss(similarities, labels, options)[0].item() for labels in (sure, doubtful))
        assert part == pytest.approx(whole / 4)


def test_what_was_judged_both_ways_is_no_negative() -> None:
    judgements = replace(closed(q=("child",)), contradictions=(("q", "near"), ("other", "far")))
    aeenc_task = task(judgements, pairs(q="child"), live_k=7)
    (labels,) = labels_of(aeenc_task, 0)
    assert labels["child"] == 1
    assert "near" not in labels
    assert labels["far"] == -1


def test_a_step_that_encodes_premises_takes_a_quarter_of_negatives_at_least() -> None:
    judgements = Judgements.of_pairs(
        [JudgedPair("q", text, True) for text in ("near", "child", "far", "other")]
        + [JudgedPair("q", "q", False)]
    )
    aeenc_task = task(judgements, judged_pairs(FACTS, judgements), towers="siamese", premises_per_step=4)
    labels = labels_of(aeenc_task, 0)[0]
    assert labels["q"] == -1
    assert sorted(labels.values()) == [-1, 1, 1, 1]
    assert labels_of(aeenc_task, 0) == [labels]  # the same lot again: a training that resumes draws it
    lots = set()
    for epoch in range(20):
        aeenc_task.begin_epoch(epoch)
        lots.add(tuple(labels_of(aeenc_task, 0)[0]))
    assert len(lots) > 1


SIMILARITIES = torch.tensor([[0.9, 0.8, 0.2, 0.5], [0.1, 0.4, 0.3, 0.0]])
LABELS = torch.tensor([[1, -1, -1, 0], [-1, 1, 1, -1]], dtype=torch.int8)


def test_triplet_margin_by_hand() -> None:
    # m .2; query 0: p+ .9 against .8 and .2: .1, 0; query 1: .4 against .1, .0: 0, 0; .3 against both: 0, 0
    loss, active = triplet_margin(SIMILARITIES, LABELS, LossOptions(reduction="mean"))
    assert loss.item() == pytest.approx(0.1 / 6)
    assert active.item() == pytest.approx(1 / 6)
    loss, _ = triplet_margin(SIMILARITIES, LABELS, LossOptions())
    assert loss.item() == pytest.approx(0.1 / 2)


def test_contrastive_by_hand() -> None:
    # D = 1 - cos; positives .1, .6, .7: D^2 / 2; negatives within m = .5: D = .2 -> .3^2 / 2; others beyond
    loss, active = contrastive(SIMILARITIES, LABELS, LossOptions())
    expected = (0.1**2 + 0.6**2 + 0.7**2 + 0.3**2) / 2 / 7
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert active.item() == pytest.approx(1 / 4)


def test_softmax_by_hand() -> None:
    tau = 0.5
    first = -math.log(math.exp(1.8) / (math.exp(1.8) + math.exp(1.6) + math.exp(0.4)))
    rivals = math.exp(0.2) + math.exp(0.0)
    second = [-math.log(math.exp(s / tau) / (math.exp(s / tau) + rivals)) for s in (0.4, 0.3)]
    loss, wrong = softmax(SIMILARITIES, LABELS, LossOptions(temperature=tau))
    assert loss.item() == pytest.approx((first + sum(second)) / 3, rel=1e-5)
    assert wrong.item() == 0
    without_negative = torch.tensor([1, 0, 0, 0], dtype=torch.int8)  # takes no part
    loss, _ = softmax(SIMILARITIES, torch.stack([LABELS[0], without_negative]), LossOptions(temperature=tau))
    assert loss.item() == pytest.approx(first, rel=1e-5)


@pytest.mark.parametrize("loss", [*LOSSES.values()], ids=[*LOSSES])
class TestEveryLoss:
    """Properties of every entry of the table, so of a new one too."""

    def test_the_gradient_raises_positives_and_lowers_negatives(self, loss: Any) -> None:
        similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
        value, _ = loss(similarities, torch.tensor([[1, -1, 0]], dtype=torch.int8), LossOptions())
        value.backward()
        positive, negative, unlabelled = similarities.grad[0].tolist()
        assert positive < 0 < negative
        assert unlabelled == 0

    @pytest.mark.parametrize("labels", [[[0, 0, 0]], [[1, 1, 0]], [[-1, -1, 0]]])
    def test_one_class_gives_a_finite_loss_and_gradient(self, loss: Any, labels: Any) -> None:
        similarities = torch.tensor([[0.5, 0.6, 0.4]], requires_grad=True)
        value, active = loss(similarities, torch.tensor(labels, dtype=torch.int8), LossOptions())
        assert math.isfinite(value.item())
        assert 0 <= active.item() <= 1
        if value.requires_grad:
            value.backward()
            assert torch.isfinite(similarities.grad).all()


def test_drift_is_the_squared_distance_to_the_base() -> None:
    base = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert drift(base, base).item() == 0
    assert drift(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), base).item() == pytest.approx(1.0)
