"""Priors of premises given a question, as terms of their scores; no encoder pass is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.scoring.explanatory_power import Explanations, ExplanatoryPower, Power
from entail.arcf.scoring.terms import WordSimilarity
from entail.data.worldtree.tables import FactTables
from entail.index.protocol import Floats


@dataclass(frozen=True)
class Weights:
    """Weight of each term.

    Attributes:
        power: Explanatory power.
        similarity: Similarity of words.
    """

    power: float = 1.0
    similarity: float = 1.0


@dataclass(frozen=True)
class Evidence:
    """Priors of premises given one question.

    Attributes:
        power: Their explanatory power; None where it is no term.
        similar: How like the question each is, (facts,); None where that is no term.
        weights: What the terms count.
    """

    power: Power | None
    similar: Floats | None
    weights: Weights

    def terms(self, chosen: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the terms of candidates behind chosen facts, unweighted, shape (candidates, terms)."""
        some: list[Floats] = []
        if self.power is not None:
            some.append(self.power(chosen, candidates))
        if self.similar is not None:
            some.append(self.similar[list(candidates)])
        found: Floats = np.stack(some, axis=1)
        return found

    def __call__(self, chosen: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return what is added to the scores of candidates behind chosen facts, shape (candidates,)."""
        own = [self.weights.power] * (self.power is not None)
        own += [self.weights.similarity] * (self.similar is not None)
        found: Floats = self.terms(chosen, candidates) @ np.array(own, dtype=np.float32)
        return found

    @property
    def nearness(self) -> Floats | None:
        """Bonus on each premise's similarity to the question, for what is visible, shape (facts,)."""
        return self.power.nearness if self.power is not None else None


class PremisePriors:
    """Priors of the premises of tables, or of a corpus.

    Args:
        facts: The facts.
        explanations: What was explained before; None where explanatory power is no term.
        words: The weights of words; None where similarity is no term.
        weights: What the terms count.
    """

    def __init__(
        self,
        facts: FactTables,
        *,
        explanations: Explanations | None = None,
        words: WordSimilarity | None = None,
        weights: Weights | None = None,
    ) -> None:
        self._power = ExplanatoryPower(explanations, facts) if explanations is not None else None
        self._similar = words.to(facts.texts) if words is not None else None
        self.weights = weights or Weights()

    def behind(self, text: str, before: Sequence[str] = ()) -> Evidence:
        """Return what is known of facts behind a question, and behind sentences of its explanation.

        Raises:
            EncoderError: If the encoder cannot be loaded, or is another than the vectors came from.
        """
        power = self._power.behind(text, before) if self._power is not None else None
        similar = self._similar([text])[0] if self._similar is not None else None
        return Evidence(power, similar, self.weights)

    def behind_each(self, texts: Sequence[str]) -> list[Evidence]:
        """Return the same for many questions, in the time of few."""
        none = [None] * len(texts)
        powers = self._power.behind_each(texts) if self._power is not None else none
        similar = self._similar(texts) if self._similar is not None else none
        return [Evidence(one, row, self.weights) for one, row in zip(powers, similar, strict=True)]
