"""Judges of entailment: cross-encoders of NLI, trained here or by name or Hub id, and their evaluation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from entail.data.nli.pairs import LABELS, NOT_ENTAILMENT, NliPair, standard_label
from entail.data.text import fold
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.cross.encoder import CrossEncoder, cross_folder, list_cross, load_cross, open_cross
from entail.encoders.cross.pairs import cut_pairs
from entail.encoders.device import device_name
from entail.encoders.weights import read_form
from entail.errors import EncoderError, EvaluationError, UnknownEncoderError
from entail.index.protocol import Floats
from entail.progress import Meter, ProgressCallback
from entail.statistics.classification import Values, auprc, wilson_interval

METHOD = "judge"
"""Name of the method in `entail.json`."""

SHIPPED = "nli-minilm"
"""Packaged judge, the default."""

THRESHOLD = 0.5
"""Least probability at which a pair counts as an entailment."""

Classify = Callable[[Sequence[tuple[str, str]]], Values]
"""Pairs of premise and hypothesis -> outputs of a judge, shape (pairs, labels)."""

Positions = np.ndarray[Any, np.dtype[np.int64]]

_AT_ONCE = 256


@dataclass(frozen=True, kw_only=True)
class JudgeForm:
    """Settings of a judge that was trained here: most tokens of a pair, labels of the outputs in order."""

    max_length: Annotated[int, Ge(8)] = 256
    labels: tuple[str, ...] = LABELS

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return {"max_length": self.max_length, "labels": list(self.labels)}

    @classmethod
    def read(cls, entry: Mapping[str, Any], *, name: str) -> JudgeForm:
        """Read an entry of `entail.json`; earlier versions call the length `longest`.

        Raises:
            EncoderError: If the labels are not those of NLI, or `max_length` is no number.
        """
        earlier = {"max_length": entry["longest"]} if "longest" in entry else {}
        form = read_form(cls, {**earlier, **entry}, name=name, entry="judge")
        if sorted(form.labels) != sorted(LABELS):
            raise EncoderError(
                f"{name}: expected the labels {', '.join(LABELS)} in 'judge' of entail.json, found "
                f"{', '.join(form.labels)}"
            )
        return form


class NliJudge:
    """Judge of entailment by a cross-encoder of NLI.

    Args:
        model: A name under `models/`, a folder, or a Hub id such as `cross-encoder/nli-MiniLM2-L6-H768`.
            Judges by `entail train judge` need neither the Hub nor transformers.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.

    Attributes:
        labels: Labels of its outputs, in order.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or no label is entailment.
        SettingsError: If the device is not available.
    """

    def __init__(self, model: str | Path = SHIPPED, *, device: str | None = None) -> None:
        if cross_folder(model) is None:
            self.name, self.revision, self.labels, self._classify = _load_stock(model, device)
        else:
            parts, card = open_cross(model, METHOD, first=SHIPPED)
            form = JudgeForm.read(card.judge, name=parts.name)
            self.name, self.revision, self.labels = parts.name, parts.revision, form.labels
            cross = load_cross(
                parts, max_length=form.max_length, device=device_name(device), outputs=len(form.labels)
            )
            self._classify = partial(_cross_outputs, cross)

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,); long premises are truncated."""
        values = self._probabilities(premises, hypotheses, progress)
        entailment: Values = values[:, self.labels.index("entailment")]
        return entailment

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each label, shape (pairs, 3), in the order of `LABELS`.

        Raises:
            EncoderError: If the judge has other labels.
        """
        if sorted(self.labels) != sorted(LABELS):
            raise EncoderError(
                f"{self.name}: expected a judge of the labels {', '.join(LABELS)}, found "
                f"{', '.join(self.labels)}; ask it for entailment alone, or take another"
            )
        values = self._probabilities(premises, hypotheses, progress)
        ordered: Values = values[:, [self.labels.index(label) for label in LABELS]]
        return ordered

    def _probabilities(
        self, premises: Sequence[str], hypotheses: Sequence[str], progress: ProgressCallback | None
    ) -> Values:
        from scipy.special import softmax

        meter = Meter(len(premises), f"judging by {self.name}", unit="pairs", report=progress)
        pairs = list(zip(premises, hypotheses, strict=True))
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        values: Values = np.empty((len(pairs), len(self.labels)), dtype=np.float64)
        for at in range(0, len(order), _AT_ONCE):
            batch = order[at : at + _AT_ONCE]
            values[batch] = softmax(self._classify([pairs[i] for i in batch]), axis=1)
            meter.add(len(batch))
        return values


def _cross_outputs(cross: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> Values:
    """Return the outputs of a judge by `entail train judge`, shape (pairs, labels)."""
    premises, hypotheses = zip(*pairs, strict=True)
    rows, _ = cut_pairs(cross.tokenize, cross.frame, premises, hypotheses, max_length=cross.max_length)
    return cross.values(rows).astype(np.float64)


def _load_stock(model: str | Path, device: str | None) -> tuple[str, str, tuple[str, ...], Classify]:
    """Load a cross-encoder of NLI by sentence-transformers: name, revision, labels, forward pass."""
    import torch

    try:
        entry = fetch(resolve(model))
    except UnknownEncoderError as error:
        raise UnknownEncoderError(
            f"no judge of entailment is called {str(model)!r}; train one (entail train judge), or give "
            "the Hub id of a cross-encoder of NLI such as cross-encoder/nli-MiniLM2-L6-H768, or "
            "roberta-large-mnli@main without organisation"
        ) from error
    try:
        from sentence_transformers import CrossEncoder as StockEncoder

        stock = StockEncoder(
            str(entry.path),
            device=device_name(device),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True, "dtype": torch.float32},
        )
    except Exception as error:  # a foreign folder may raise anything
        raise EncoderError(
            f"{entry.name}: cannot be loaded as a cross-encoder of sentence-transformers: {error}"
        ) from error
    # A classifier that was saved without its head has no names of labels either.
    names = {int(at): str(label).lower() for at, label in stock.config.id2label.items()}
    labels = tuple(standard_label(names[at]) or names[at] for at in sorted(names))
    if labels.count("entailment") != 1:
        raise EncoderError(
            f"{entry.name}: expected a model of natural language inference, with one label 'entailment', "
            f"found the labels {', '.join(names.values())}; take one such as "
            "cross-encoder/nli-MiniLM2-L6-H768"
        )
    lock = threading.Lock()

    def classify(pairs: Sequence[tuple[str, str]]) -> Values:
        with lock:
            outputs = stock.predict(list(pairs), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(outputs, dtype=np.float64)

    return entry.name, str(entry.revision), labels, classify


def list_judges() -> list[str]:
    """Return the names of the judges under `models/`, the packaged one first, without loading any.

    A judge that learnt from steps of trees is none of them; see `entail.judge.steps`.
    """
    return [folder.name for folder, card in list_cross(METHOD, first=SHIPPED) if not card.steps]


def join_premises(premises: Sequence[str]) -> str:
    """Return premises as one sentence.

    >>> join_premises(["ice is cold. ", "snow is a kind of ice"])
    'ice is cold and snow is a kind of ice'
    """
    return " and ".join(text for text in (fold(premise).rstrip(" .;") for premise in premises) if text)


@dataclass(frozen=True, eq=False)
class JudgeEvaluation:
    """Probabilities of labels (pairs, 3) by a judge, and gold labels (pairs,), see `gold_labels`.

    Where a pair is of data with two classes, neutral and contradiction are one class of all pairs.
    """

    probabilities: Values = field(repr=False)
    gold: Positions = field(repr=False)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Classes that are told apart: the three labels, or two."""
        return LABELS if (self.gold < len(LABELS)).all() else (LABELS[0], NOT_ENTAILMENT)

    @cached_property
    def confusion(self) -> Positions:
        """Pairs by gold class (rows) and most probable class, shape (classes, classes)."""
        pairs = np.stack([self.gold, self.probabilities.argmax(axis=1)])
        counts = np.zeros((len(self.classes),) * 2, dtype=np.int64)
        np.add.at(counts, tuple(np.minimum(pairs, len(self.classes) - 1)), 1)
        return counts

    @property
    def right(self) -> int:
        """Number of pairs whose most probable class is gold."""
        return int(self.confusion.trace())

    @property
    def accuracy(self) -> float:
        """Share of pairs whose most probable class is gold."""
        return self.right / len(self.gold)

    @property
    def entailment_accuracy(self) -> float:
        """Accuracy of entailment against the other labels, at a probability of one half."""
        called = self.probabilities[:, LABELS.index("entailment")] >= THRESHOLD
        return float((called == (self.gold == LABELS.index("entailment"))).mean())

    def to_json(self) -> dict[str, Any]:
        """Return the figures: accuracies, Wilson's 95 % interval, the confusion matrix (rows: gold)."""
        interval = wilson_interval(self.right, len(self.gold))
        entailment = LABELS.index("entailment")
        return {
            "n": len(self.gold),
            "accuracy": self.accuracy,
            "interval": list(interval) if interval else None,
            "majority": float(self.confusion.sum(axis=1).max() / len(self.gold)),
            "entailment_accuracy": self.entailment_accuracy,
            "entailment_auprc": auprc(self.probabilities[:, entailment], self.gold == entailment),
            "confusion": {
                label: dict(zip(self.classes, row.tolist(), strict=True))
                for label, row in zip(self.classes, self.confusion, strict=True)
            },
        }


def evaluate_outputs(outputs: Floats, pairs: Sequence[NliPair]) -> JudgeEvaluation:
    """Return the evaluation of a head's outputs on labelled pairs, shape (pairs, 3)."""
    from scipy.special import softmax

    return JudgeEvaluation(softmax(outputs.astype(np.float64), axis=1), gold_labels(pairs))


def gold_labels(pairs: Sequence[NliPair]) -> Positions:
    """Return the position of each pair's label in `LABELS`, shape (pairs,); 3 is `not_entailment`."""
    return np.array([(*LABELS, NOT_ENTAILMENT).index(pair.label) for pair in pairs], dtype=np.int64)


def evaluate_judge(
    pairs: Sequence[NliPair], judge: NliJudge, *, progress: ProgressCallback | None = None
) -> JudgeEvaluation:
    """Evaluate a judge on labelled pairs: by two classes if the judge or the pairs have no more.

    Raises:
        EvaluationError: If there are none.
    """
    if not pairs:
        raise EvaluationError("expected at least one pair to measure on, found none; give another file")
    texts = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    gold = gold_labels(pairs)
    if sorted(judge.labels) == sorted(LABELS):
        return JudgeEvaluation(judge.probabilities(*texts, progress=progress), gold)
    entailment = judge.entailment(*texts, progress=progress)
    probabilities = np.stack([entailment, 1 - entailment, np.zeros(len(pairs))], axis=1)
    return JudgeEvaluation(probabilities, np.where(gold == 0, 0, len(LABELS)))
