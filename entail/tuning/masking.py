"""Prompts of masked hypothesis prediction, and which of their tokens are masked.

========== =============================== ================================ ========================
variant    text                            what may be masked               default share
========== =============================== ================================ ========================
hypothesis `premise entails that claim`    the claim                        0.8
full       the same                        all but the frame ([CLS], [SEP]) 0.8
question   `premise [SEP] question`        the question                     0.8
plain      as hypothesis                   all but the frame                0.15
========== =============================== ================================ ========================

Each token that may be is masked by itself, with probability beta, and always becomes [MASK]; only in the
plain one BERT's own rule holds: of the masked tokens 80 % become [MASK], 10 % another token, 10 % stay.
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
    """One pair as tokens.

    Attributes:
        ids: All of them, frame included, shape (tokens,).
        first: The first token that may be masked.
        last: The one behind the last that may be.
        dropped: Tokens of the premise that did not fit.
    """

    ids: Ids
    first: int
    last: int
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Masked:
    """A prompt with some tokens hidden.

    Attributes:
        ids: What is read, shape (tokens,).
        hidden: Which tokens are to be predicted, shape (tokens,).
        labels: What these were, shape (hidden tokens,).
    """

    ids: Ids
    hidden: Booleans
    labels: Ids


class Prompts:
    """Pairs as prompts of one variant, by a base's tokenizer.

    Where a pair is too long tokens of the premise go, from its end; never any of the hypothesis.

    Args:
        tokenizer: A fast tokenizer of transformers, with a mask and a separator.
        variant: Which prompt.
        max_length: Tokens of a prompt at most.
        name: What messages call the base.

    Raises:
        TrainingError: If the tokenizer is a slow one or has no [MASK] or [SEP].
    """

    def __init__(self, tokenizer: Any, *, variant: config.Prompt, max_length: int, name: str) -> None:  # noqa: ANN401 - of transformers, not typed
        if not getattr(tokenizer, "is_fast", False) or tokenizer.mask_token_id is None:
            raise TrainingError(
                f"{name}: expected a base with a fast tokenizer that has a mask token, found none; pass one "
                "that was trained by masking, such as minilm or google-bert/bert-base-uncased"
            )
        self._tokenizer, self.variant, self.max_length, self.name = tokenizer, variant, max_length, name
        self.mask = int(tokenizer.mask_token_id)
        self.padding = int(tokenizer.pad_token_id or 0)
        self.size = len(tokenizer)
        special = set(tokenizer.all_special_ids)
        self.plain_ids = np.array([one for one in range(self.size) if one not in special], dtype=np.int64)
        self.head, self.tail = self._frame()
        if variant == "question" and tokenizer.sep_token_id is None:
            raise TrainingError(f"{name}: expected a tokenizer with a separator, for prompt=question")

    def of(self, pairs: Sequence[EntailedPair]) -> tuple[list[Prompt], list[int]]:
        """Return the prompts of pairs, and which pairs they are of: those whose hypothesis fits."""
        prompts, kept = [], []
        for at in range(0, len(pairs), _AT_ONCE):
            some = pairs[at : at + _AT_ONCE]
            premises = self._ids([pair.premise for pair in some])
            behind = self._behind(some)
            for number, (premise, (between, hypothesis)) in enumerate(zip(premises, behind, strict=True)):
                prompt = self._prompt(premise, between, hypothesis)
                if prompt is not None:
                    prompts.append(prompt)
                    kept.append(at + number)
        return prompts, kept

    def masked(self, prompt: Prompt, *, beta: float, draw: np.random.Generator) -> Masked:
        """Hide some tokens of a prompt, each that may be with probability beta."""
        hidden = np.zeros(len(prompt.ids), dtype=bool)
        hidden[prompt.first : prompt.last] = draw.random(prompt.last - prompt.first) < beta
        ids, labels = prompt.ids.copy(), prompt.ids[hidden]
        shown = np.full(len(labels), self.mask, dtype=np.int64)
        if self.variant == "plain":
            fate = draw.random(len(labels))
            others = draw.choice(self.plain_ids, size=len(labels))
            shown = np.where(fate < 0.8, shown, np.where(fate < 0.9, others, labels))
        ids[hidden] = shown
        return Masked(ids, hidden, labels)

    def padded(self, rows: Sequence[Masked]) -> tuple[Ids, Booleans, Booleans, Ids]:
        """Return ids, which are no padding, which are hidden, each (rows, tokens), and labels in order."""
        max_length = max(len(row.ids) for row in rows)
        ids = np.full((len(rows), max_length), self.padding, dtype=np.int64)
        there, hidden = np.zeros((2, len(rows), max_length), dtype=bool)
        for number, row in enumerate(rows):
            ids[number, : len(row.ids)] = row.ids
            there[number, : len(row.ids)] = True
            hidden[number, : len(row.ids)] = row.hidden
        return ids, there, hidden, np.concatenate([row.labels for row in rows])

    def frequencies(self, prompts: Iterable[Prompt]) -> NDArray[np.float64]:
        """Return the share of each token among those that may be masked, smoothed, shape (vocabulary,)."""
        counts = np.ones(self.size)
        for prompt in prompts:
            np.add.at(counts, prompt.ids[prompt.first : prompt.last], 1)
        shares: NDArray[np.float64] = counts / counts.sum()
        return shares

    def _prompt(self, premise: list[int], between: list[int], hypothesis: list[int]) -> Prompt | None:
        room = self.max_length - len(self.head) - len(self.tail) - len(between) - len(hypothesis)
        if room < 0 or not hypothesis:
            return None
        kept = premise[:room]
        ids = [*self.head, *kept, *between, *hypothesis, *self.tail]
        last = len(ids) - len(self.tail)
        whole = self.variant in ("full", "plain")
        first = len(self.head) if whole else last - len(hypothesis)
        return Prompt(np.array(ids, dtype=np.int64), first, last, len(premise) - len(kept))

    def _behind(self, pairs: Sequence[EntailedPair]) -> list[tuple[list[int], list[int]]]:
        """Return what follows the premise, in two parts: what stands between, and the hypothesis."""
        if self.variant == "question":
            separator = [int(self._tokenizer.sep_token_id)]
            return [(separator, ids) for ids in self._ids([pair.question for pair in pairs])]
        told = self._tokenizer(
            [ENTAILS + pair.hypothesis for pair in pairs],
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        # The hypothesis begins where a token ends behind "that": its white space may belong to either.
        border = len(ENTAILS.rstrip())
        found = []
        for ids, offsets in zip(told["input_ids"], told["offset_mapping"], strict=True):
            cut = next((at for at, (_, end) in enumerate(offsets) if end > border), len(ids))
            found.append((list(ids[:cut]), list(ids[cut:])))
        return found

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        found: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return found

    def _frame(self) -> tuple[list[int], list[int]]:
        """Return what the tokenizer puts before and behind a text."""
        (bare,) = self._ids(["a"])
        framed = list(self._tokenizer("a")["input_ids"])
        for at in range(len(framed) - len(bare) + 1):
            if framed[at : at + len(bare)] == bare:
                return framed[:at], framed[at + len(bare) :]
        raise TrainingError(f"{self.name}: expected a tokenizer that sets a text in a frame, found another")
