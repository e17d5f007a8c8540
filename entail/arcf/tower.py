"""A scorer in training: a cross-encoder of one output, the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from entail.arcf.explanatory_power import Explanations
from entail.arcf.scorer_form import POWER, SHARED_PIECES, SIMILARITY
from entail.arcf.shared_pieces import SharedPieces
from entail.arcf.word_similarity import WordSimilarity
from entail.encoders.pairs import Pair
from entail.index.protocol import Floats
from entail.training.cross_tower import CrossTower

if TYPE_CHECKING:
    from torch import Tensor


class ScorerTower(CrossTower):
    """A cross-encoder that learns to score; see `CrossTower`.

    What is known of a candidate without reading it may be a term of its score, with a learnt weight: the
    overlap of its word pieces, its explanatory power, its likeness to the question.
    """

    pieces: SharedPieces | None = None
    explanations: Explanations | None = None
    words: WordSimilarity | None = None

    def know_pieces(self, pieces: SharedPieces, *, weight: float) -> None:
        """Add the overlap of prefix and candidate to all scores."""
        self.pieces = pieces
        self._add(SHARED_PIECES, weight)

    def know_explanations(self, explanations: Explanations, *, weight: float) -> None:
        """Let the evidence that scores are asked with count; it is kept where the scorer is."""
        self.explanations = explanations
        self._add(POWER, weight)

    def know_words(self, words: WordSimilarity, *, weight: float) -> None:
        """Let the similarity that scores are asked with count; its weights are kept where the scorer is."""
        self.words = words
        self._add(SIMILARITY, weight)

    def scores(self, pairs: Sequence[Pair], evidence: Floats | None = None) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs,), fp32.

        Args:
            pairs: What is read.
            evidence: What is known of each candidate, (pairs, terms), as `entail.arcf.known` has it.
        """
        found = self.outputs(pairs)[:, 0]
        for term in self._known(pairs, evidence):
            found = found + term
        return found

    def score(self, pairs: Sequence[Pair], evidence: Floats | None = None) -> Floats:
        """Return a score a pair without gradient and dropout, shape (pairs,)."""
        found = self.values(pairs)[:, 0]
        for term in self._known(pairs, evidence):
            found = found + term.detach().cpu().numpy()
        return found

    def save(self, folder: Path) -> None:
        """Write all that was learnt, and what is known, into a new or empty folder.

        Raises:
            OSError: If the folder cannot be written.
        """
        super().save(folder)
        for known in (self.pieces, self.explanations, self.words):
            if known is not None:
                known.save(folder)

    def _add(self, name: str, weight: float) -> None:
        import torch

        parameter = torch.nn.Parameter(torch.full((1,), float(np.log(weight)), device=self.device))
        self.head.register_parameter(name, parameter)
        self.parameters[f"head.{name}"] = parameter

    def _known(self, pairs: Sequence[Pair], evidence: Floats | None) -> Iterator[Tensor]:
        if self.pieces is not None:
            yield self._term(SHARED_PIECES, self.pieces(pairs))
        if evidence is not None:
            names = [POWER] * (self.explanations is not None) + [SIMILARITY] * (self.words is not None)
            for name, term in zip(names, evidence.T, strict=True):
                yield self._term(name, np.ascontiguousarray(term))

    def _term(self, name: str, values: Floats) -> Tensor:
        import torch

        return self.head.get_parameter(name).exp() * torch.from_numpy(values).to(self.device)
