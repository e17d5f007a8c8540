"""Judges of entailment: any classifier whose labels are those of natural language inference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.errors import EncoderError
from entail.judge.judges import NliJudge


def classifier(place: Path, tiny: Path, labels: Sequence[str]) -> Any:
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig.from_pretrained(tiny, id2label=dict(enumerate(labels)), num_labels=len(labels))
    model = BertForSequenceClassification(config)
    model.save_pretrained(place)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(place)
    return model.eval()


def test_any_classifier_of_entailment_is_a_judge(tiny_home: Path) -> None:
    import torch

    model = classifier(tiny_home / "nli", tiny_home / "tiny", ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"])
    judge = NliJudge("nli")
    premises = ["ba be bi", "bo " * 100, "ba"]
    entailments = judge.entailment(premises, ["ba", "be", "bi bo"])
    ids = [[2, 5, 6, 7, 3, 5, 3], [2, 5, 3, 7, 8, 3]]
    for at, token_ids in zip((0, 2), ids, strict=True):
        types = [0] * (token_ids.index(3) + 1)
        types += [1] * (len(token_ids) - len(types))
        with torch.no_grad():
            scores = model(torch.tensor([token_ids]), token_type_ids=torch.tensor([types])).logits
        assert entailments[at] == pytest.approx(float(scores.softmax(dim=1)[0, 1]), abs=1e-5)
    assert np.isfinite(entailments).all()
    assert judge.name == "nli"
    assert np.isfinite(judge.entailment(["ba be", "ba " * 99], ["bi " * 200, "bo"])).all()
    probabilities = judge.probabilities(premises, ["ba", "be", "bi bo"])
    assert probabilities[:, 0].tolist() == entailments.tolist()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(3))


def test_what_judges_no_entailment_is_refused(tiny_home: Path) -> None:
    classifier(tiny_home / "nli", tiny_home / "tiny", ["entailment", "other"])
    two = NliJudge("nli")
    assert two.entailment(["ba"], ["be"]).shape == (1,)
    with pytest.raises(EncoderError):
        two.probabilities(["ba"], ["be"])
    classifier(tiny_home / "mood", tiny_home / "tiny", ["good", "bad"])
    with pytest.raises(EncoderError):
        NliJudge("mood")
