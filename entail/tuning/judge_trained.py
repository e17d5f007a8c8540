"""A judge of entailment that was trained here, from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from entail.encoders.card import read_card
from entail.encoders.cross import HEAD, cross_parts, load_cross
from entail.encoders.device import device_name
from entail.encoders.pairs import cut_pairs
from entail.encoders.tensors import open_tensors
from entail.encoders.weights import check_safe
from entail.errors import EncoderError
from entail.progress import Meter, ProgressCallback
from entail.tuning.judge_form import METHOD, JudgeForm
from entail.tuning.judge_task import softmax
from entail.tuning.relevance import Values

_CHUNK = 512
"""Pairs between two words of progress."""


class TrainedJudge:
    """What `entail train judge` wrote; see `entail.tuning.judge.NliJudge`, which people use.

    Args:
        folder: Its own.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.

    Raises:
        EncoderError: If it is something else, or its weights are damaged or of another base.
    """

    def __init__(self, folder: Path, *, device: str | None = None) -> None:
        import torch

        name = folder.name
        card = read_card(folder, name)
        if card is None or card.method != METHOD or not card.judge:
            raise EncoderError(
                f"{name}: expected a judge of entailment, found an encoder, a scorer of facts or something "
                "else; take one that `entail train judge` made, or a cross-encoder of NLI"
            )
        check_safe(folder, name)
        form, place = JudgeForm.read(card.judge, name=name), device_name(device)
        parts = cross_parts(folder, card)
        with open_tensors(folder / HEAD, name=name, device=place, dtype=torch.float32) as tensors:
            outputs = len(form.labels)
            head = tensors.get("weight", outputs, parts.dimension), tensors.get("bias", outputs)
        self.name, self.revision, self.labels = name, parts.revision, form.labels
        self._cross = load_cross(parts, head, longest=form.longest, device=place, dtype=torch.float32)

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each label, shape (pairs, labels); long premises are cut."""
        cross = self._cross
        pairs, _ = cut_pairs(cross.tokenize, cross.frame, premises, hypotheses, longest=cross.longest)
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        found: Values = np.empty((len(pairs), len(self.labels)), dtype=np.float64)
        meter = Meter(len(pairs), f"judging by {self.name}", unit="pairs", report=progress)
        for at in range(0, len(order), _CHUNK):
            some = order[at : at + _CHUNK]
            found[some] = softmax(cross.values([pairs[i] for i in some]))
            meter.add(len(some))
        return found
