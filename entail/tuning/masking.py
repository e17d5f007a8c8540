"""Prompts of masked hypothesis prediction, and the masking of their tokens (Dai et al. 2024, Table 5).

========== =============================== ================================ ========================
variant    text                            maskable tokens                  default share
========== =============================== ================================ ========================
hypothesis `premise entails that claim`    the claim                        0.8
full       the same                        all but the frame ([CLS], [SEP]) 0.8
question   `premise [SEP] question`        the question                     0.8
plain      as hypothesis                   all but the frame                0.15
========== =============================== ================================ ========================

Each maskable token is masked independently with probability beta, and always becomes [MASK]. `plain` follows
BERT: of the masked tokens 80 % become [MASK], 10 % another token, 10 % stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.errors import TrainingError
from entail.tuning import config
from entail.tuning.examples import EntailedPair

Ids = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ENTAILS = " entails that "
"""Separator of premise and hypothesis."""

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One pair as tokens, frame included: those from `first` to before `last` are maskable.

    `dropped` tokens of the premise did not fit.
    """

    ids: Ids
    first: int
    last: int
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """A prompt with masked tokens: ids and mask, shape (tokens,), and the masked original tokens."""

    ids: Ids
    masked: Booleans
    labels: Ids


class Prompts:
    """Builder of prompts of one variant, with a base's tokenizer.

    A pair of more than `max_length` tokens loses some from the end of the premise, never of the hypothesis.

    Raises:
        TrainingError: If the tokenizer is slow or has no [MASK] or [SEP].
    """

    def __init__(self, tokenizer: Any, *, variant: config.Prompt, max_length: int, name: str) -> None:  # noqa: ANN401 - of transformers, not typed
        if not getattr(tokenizer, "is_fast", False) or tokenizer.mask_token_id is None:
            raise TrainingError(
                f"{name}: expected a base with a fast tokenizer that has a mask token, found none; pass one "
                "that was trained by masking, such as minilm or google-bert/bert-base-uncased"
            )
        if variant == "question" and tokenizer.sep_token_id is None:
            raise TrainingError(f"{name}: expected a tokenizer with a separator, for prompt=question")
        self._tokenizer, self.variant, self.max_length, self.name = tokenizer, variant, max_length, name
        self.mask_id = int(tokenizer.mask_token_id)
        self.padding = int(tokenizer.pad_token_id or 0)
        self.size = len(tokenizer)
        special = set(tokenizer.all_special_ids)
        self.plain_ids = np.array(
            [token for token in range(self.size) if token not in special], dtype=np.int64
        )
        self.head, self.tail = self._frame()

    def of(self, pairs: Sequence[EntailedPair]) -> list[Prompt]:
        """Return the prompts of the pairs whose hypothesis fits."""
        prompts = []
        for at in range(0, len(pairs), _AT_ONCE):
            batch = pairs[at : at + _AT_ONCE]
            premises = self._ids([pair.premise for pair in batch])
            hypotheses = self._hypotheses(batch)
            for premise, (separator, hypothesis) in zip(premises, hypotheses, strict=True):
                room = self.max_length - sum(map(len, (self.head, self.tail, separator, hypothesis)))
                if room < 0 or not hypothesis:
                    continue
                premise_ids = premise[:room]
                ids = [*self.head, *premise_ids, *separator, *hypothesis, *self.tail]
                last = len(ids) - len(self.tail)
                is_whole = self.variant in ("full", "plain")
                first = len(self.head) if is_whole else last - len(hypothesis)
                dropped = len(premise) - len(premise_ids)
                prompts.append(Prompt(np.array(ids, dtype=np.int64), first, last, dropped))
        return prompts

    def mask(self, prompt: Prompt, *, beta: float, draw: np.random.Generator) -> MaskedPrompt:
        """Mask each maskable token of a prompt with probability beta."""
        masked = np.zeros(len(prompt.ids), dtype=bool)
        masked[prompt.first : prompt.last] = draw.random(prompt.last - prompt.first) < beta
        ids, labels = prompt.ids.copy(), prompt.ids[masked]
        replacements = np.full(len(labels), self.mask_id, dtype=np.int64)
        if self.variant == "plain":
            fate = draw.random(len(labels))
            random_ids = draw.choice(self.plain_ids, size=len(labels))
            replacements = np.where(fate < 0.8, replacements, np.where(fate < 0.9, random_ids, labels))
        ids[masked] = replacements
        return MaskedPrompt(ids, masked, labels)

    def pad(self, rows: Sequence[MaskedPrompt]) -> tuple[Ids, Booleans, Booleans, Ids]:
        """Return ids, attended tokens and masked tokens, each (rows, tokens), and all labels in order."""
        lengths = np.array([len(row.ids) for row in rows])
        attended = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(attended.shape, self.padding, dtype=np.int64)
        masked = np.zeros_like(attended)
        ids[attended] = np.concatenate([row.ids for row in rows])
        masked[attended] = np.concatenate([row.masked for row in rows])
        return ids, attended, masked, np.concatenate([row.labels for row in rows])

    def frequencies(self, prompts: Iterable[Prompt]) -> NDArray[np.float64]:
        """Return the smoothed share of each token among the maskable ones, shape (vocabulary,)."""
        maskable = np.concatenate([prompt.ids[prompt.first : prompt.last] for prompt in prompts])
        counts = 1 + np.bincount(maskable, minlength=self.size)
        shares: NDArray[np.float64] = counts / counts.sum()
        return shares

    def _hypotheses(self, pairs: Sequence[EntailedPair]) -> list[tuple[list[int], list[int]]]:
        """Return the tokens of separator and hypothesis of each pair."""
        if self.variant == "question":
            separator = [int(self._tokenizer.sep_token_id)]
            return [(separator, ids) for ids in self._ids([pair.question for pair in pairs])]
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

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return ids

    def _frame(self) -> tuple[list[int], list[int]]:
        """Return the tokens that the tokenizer puts before and behind a text."""
        (bare,) = self._ids(["a"])
        framed = list(self._tokenizer("a")["input_ids"])
        for at in range(len(framed) - len(bare) + 1):
            if framed[at : at + len(bare)] == bare:
                return framed[:at], framed[at + len(bare) :]
        raise TrainingError(f"{self.name}: expected a tokenizer that frames a text by tokens, found another")
