"""Prompts of masked hypothesis prediction, and the masking of their tokens (Dai et al. 2024).

A prompt reads `premise entails that claim`. Each token of the claim is masked independently with probability
beta, and becomes [MASK]: the first row of the paper's Table 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.cross.pairs import wrap_tokenizer
from entail.errors import TrainingError
from entail.tuning.examples import EntailedPair

Ids = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ENTAILS = " entails that "
"""Separator of premise and hypothesis."""

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One pair as tokens, special ones included: those from `first` to before `last` are the hypothesis.

    `is_cut` tells that tokens of the premise did not fit.
    """

    ids: Ids
    first: int
    last: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """A prompt with masked tokens: ids and mask, shape (tokens,), and the masked original tokens."""

    ids: Ids
    masked: Booleans
    labels: Ids


class Prompts:
    """Builder of prompts with a base's tokenizer.

    A pair of more than `max_length` tokens loses some from the end of the premise, never of the hypothesis.

    Raises:
        TrainingError: If the tokenizer is slow or has no [MASK].
        EncoderError: If it cannot join two texts.
    """

    def __init__(self, tokenizer: Any, *, max_length: int, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False) or tokenizer.mask_token_id is None:
            raise TrainingError(
                f"{name}: expected a base with a fast tokenizer that has a mask token, found none; pass one "
                "that was trained by masking, such as minilm or google-bert/bert-base-uncased"
            )
        self._tokenizer, self.max_length = tokenizer, max_length
        self._tokenize, self._frame = wrap_tokenizer(tokenizer, name=name)

    def of(self, pairs: Sequence[EntailedPair]) -> list[Prompt]:
        """Return the prompts of the pairs whose hypothesis fits."""
        head, tail = self._frame.head, self._frame.tail
        prompts = []
        for at in range(0, len(pairs), _AT_ONCE):
            batch = pairs[at : at + _AT_ONCE]
            premises = self._tokenize([pair.premise for pair in batch])
            for premise, (separator, hypothesis) in zip(premises, self._hypotheses(batch), strict=True):
                room = self.max_length - sum(map(len, (head, tail, separator, hypothesis)))
                if room < 0 or not hypothesis:
                    continue
                ids = [*head, *premise[:room], *separator, *hypothesis, *tail]
                last = len(ids) - len(tail)
                first, is_cut = last - len(hypothesis), len(premise) > room
                prompts.append(Prompt(np.array(ids, dtype=np.int64), first, last, is_cut))
        return prompts

    def mask(self, prompt: Prompt, *, beta: float, draw: np.random.Generator) -> MaskedPrompt:
        """Mask each token of a prompt's hypothesis with probability beta."""
        masked = np.zeros(len(prompt.ids), dtype=bool)
        masked[prompt.first : prompt.last] = draw.random(prompt.last - prompt.first) < beta
        ids = np.where(masked, int(self._tokenizer.mask_token_id), prompt.ids)
        return MaskedPrompt(ids, masked, prompt.ids[masked])

    def pad(self, rows: Sequence[MaskedPrompt]) -> tuple[Ids, Booleans, Booleans, Ids]:
        """Return ids, attended tokens and masked tokens, each (rows, tokens), and all labels in order."""
        lengths = np.array([len(row.ids) for row in rows])
        attended = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(attended.shape, self._frame.padding, dtype=np.int64)
        masked = np.zeros_like(attended)
        ids[attended] = np.concatenate([row.ids for row in rows])
        masked[attended] = np.concatenate([row.masked for row in rows])
        return ids, attended, masked, np.concatenate([row.labels for row in rows])

    def frequencies(self, prompts: Iterable[Prompt]) -> NDArray[np.float64]:
        """Return the smoothed share of each token among those of hypotheses, shape (vocabulary,)."""
        hypotheses = np.concatenate([prompt.ids[prompt.first : prompt.last] for prompt in prompts])
        counts = 1 + np.bincount(hypotheses, minlength=len(self._tokenizer))
        shares: NDArray[np.float64] = counts / counts.sum()
        return shares

    def _hypotheses(self, pairs: Sequence[EntailedPair]) -> list[tuple[list[int], list[int]]]:
        """Return the tokens of separator and hypothesis of each pair."""
        encoded = self._tokenizer(
            [ENTAILS + pair.hypothesis for pair in pairs],
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        # The hypothesis begins where a token ends behind "that": its white space may belong to either.
        border = len(ENTAILS.rstrip())
        splits = []
        for ids, offsets in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
            cut = next((at for at, (_, end) in enumerate(offsets) if end > border), len(ids))
            splits.append((list(ids[:cut]), list(ids[cut:])))
        return splits
