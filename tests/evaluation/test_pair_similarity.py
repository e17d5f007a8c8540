import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import NliPair
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import EvaluationError, UnknownEncoderError
from entail.evaluation.nli.pair_similarity import pair_encoder, pair_similarities


class Told:
    """A Gaussian encoder of one dimension, told each sentence's mean and log variance."""

    name, revision, dimension, kind, threshold = "told", "told@1", 1, "kl", None

    def __init__(self, told: dict[str, tuple[float, float]]) -> None:
        self.told = told
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> Gaussians:
        self.asked.append(list(texts))
        return Gaussians.of(np.array([self.told[text] for text in texts], dtype=np.float32))


class Points:
    """An encoder of two towers: vectors told by text, the query's turned by a quarter."""

    name, revision, premise_revision, dimension = "points", "points@1", "points@1", 2

    def __init__(self, *, symmetric: bool) -> None:
        self.symmetric = symmetric
        self.asked: list[tuple[str, list[str]]] = []

    def encode_queries(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        self.asked.append(("query", list(texts)))
        return self._vectors(texts, 0.0 if self.symmetric else math.pi / 2)

    def encode_premises(self, texts: Sequence[str], *, progress: Any = None) -> Any:
        self.asked.append(("premise", list(texts)))
        return self._vectors(texts, 0.0)

    def cut(self, texts: Sequence[str]) -> list[bool]:
        return [len(text) > 2 for text in texts]

    def _vectors(self, texts: Sequence[str], turn: float) -> Any:
        angles = np.array([len(text) for text in texts]) * math.pi / 12 + turn
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


PAIRS = [NliPair("p", "h", "entailment"), NliPair("p", "g", "neutral"), NliPair("h", "h", "entailment")]


def test_gaussians_by_hand() -> None:
    encoder = Told({"p": (0.0, 2.0), "h": (0.0, 0.0), "g": (1.0, 2.0)})
    similarities = pair_similarities(PAIRS, encoder)
    # KL(h || p) = (2 + e^-2 - 1) / 2, KL(p || h) = (-2 + e^2 - 1) / 2; of equal variances v 1 / (2 v).
    narrow = 1 / (1 + (2 + math.exp(-2) - 1) / 2)
    wide = 1 / (1 + (-2 + math.exp(2) - 1) / 2)
    same = 1 / (1 + math.exp(-2) / 2)
    assert similarities.forward == pytest.approx([narrow, same, 1])
    assert similarities.backward == pytest.approx([wide, same, 1])
    assert similarities.wider == pytest.approx([1, 0, 0])
    assert similarities.truncated is None


def test_every_distinct_sentence_is_encoded_once() -> None:
    encoder = Told({"p": (0.0, 2.0), "h": (0.0, 0.0), "g": (1.0, 2.0)})
    pair_similarities(PAIRS, encoder)
    (sentences,) = encoder.asked
    assert sorted(sentences) == ["g", "h", "p"]
    points = Points(symmetric=True)
    pair_similarities(PAIRS, points)
    ((_, sentences),) = points.asked
    assert sorted(sentences) == ["g", "h", "p"]


def test_points_are_compared_by_cosine() -> None:
    pairs = [NliPair("ab", "abcd", "neutral"), NliPair("ab", "ab", "entailment")]
    similarities = pair_similarities(pairs, Points(symmetric=True))
    assert similarities.forward == pytest.approx([math.cos(math.pi / 6), 1], abs=1e-6)
    assert similarities.backward is None
    assert similarities.wider is None
    assert similarities.truncated == 1


def test_of_two_towers_the_hypothesis_is_the_query() -> None:
    encoder = Points(symmetric=False)
    similarities = pair_similarities(
        [NliPair("ab", "a", "neutral"), NliPair("ab", "abcd", "neutral")], encoder
    )
    assert encoder.asked == [("premise", ["ab"]), ("query", ["a", "abcd"])]
    turned = [math.cos(math.pi / 2 - math.pi / 12), math.cos(math.pi / 2 + math.pi / 6)]
    assert similarities.forward == pytest.approx(turned, abs=1e-6)


def test_what_is_no_similarity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Points(symmetric=True)
    monkeypatch.setattr(broken, "_vectors", lambda texts, turn: np.full((len(texts), 2), np.nan))
    with pytest.raises(EvaluationError, match="points: expected finite similarities, found 1 of 1"):
        pair_similarities([NliPair("p", "h", "neutral")], broken)
    with pytest.raises(EvaluationError, match="at least one pair"):
        pair_similarities([], broken)


def test_an_encoder_by_name(tiny_home: Path) -> None:
    encoder = pair_encoder("tiny")
    assert isinstance(encoder, BiEncoder)
    same = NliPair("ba be", "ba be", "entailment")
    assert pair_similarities([same, NliPair("ba be", "do", "neutral")], encoder).forward[0] == pytest.approx(
        1
    )
    with pytest.raises(UnknownEncoderError, match="no encoder is called 'gausscse-none'"):
        pair_encoder("gausscse-none")
