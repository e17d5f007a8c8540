"""Judges of entailment: cross-encoders of NLI, trained here or by name or Hub id."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from entail.data.nli.pairs import LABELS
from entail.data.text import fold
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.cross.encoder import cross_folder, list_cross, load_cross, open_cross
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.encoders.device import device_name
from entail.encoders.weights import read_form
from entail.errors import EncoderError, UnknownEncoderError
from entail.progress import Meter, ProgressCallback
from entail.statistics.classification import Values

METHOD = "judge"
"""Name of the method in `entail.json`."""

SHIPPED = "nli-minilm"
"""Packaged judge, the default."""

THRESHOLD = 0.5
"""Least probability at which a pair counts as an entailment."""


@dataclass(frozen=True, kw_only=True)
class JudgeForm:
    """Settings of a judge that was trained here.

    Attributes:
        max_length: Maximum number of tokens of premise and hypothesis together.
        labels: Labels of the outputs, in order.
    """

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


class _TrainedJudge:
    """Judge written by `entail train judge`."""

    batch_size = 512

    def __init__(self, folder: Path, *, device: str | None) -> None:
        parts, card = open_cross(folder, METHOD, first=SHIPPED)
        form = JudgeForm.read(card.judge, name=parts.name)
        self.name, self.revision, self.labels = parts.name, parts.revision, form.labels
        self._cross = load_cross(
            parts, max_length=form.max_length, device=device_name(device), outputs=len(form.labels)
        )

    def prepare(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Sequence[Pair]:
        cross = self._cross
        return cut_pairs(cross.tokenize, cross.frame, premises, hypotheses, max_length=cross.max_length)[0]

    def classify(self, pairs: Sequence[Pair]) -> Values:
        from scipy.special import softmax

        values: Values = softmax(self._cross.values(pairs).astype(np.float64), axis=1)
        return values


class _StockJudge:
    """Cross-encoder of NLI by sentence-transformers, in a folder or of the Hub; threads take turns."""

    def __init__(self, model: str | Path, *, device: str | None, batch_size: int) -> None:
        import torch

        try:
            entry = fetch(resolve(model))
        except UnknownEncoderError as error:
            raise UnknownEncoderError(
                f"no judge of entailment is called {str(model)!r}; train one (entail train judge), or give "
                "the Hub id of a cross-encoder of NLI such as cross-encoder/nli-MiniLM2-L6-H768"
            ) from error
        self.name, self.revision = entry.name, str(entry.revision)
        self.batch_size, self._lock = batch_size, threading.Lock()
        try:
            from sentence_transformers import CrossEncoder

            self._model = CrossEncoder(
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
        labels = {int(at): str(label).lower() for at, label in self._model.config.id2label.items()}
        self.labels = tuple(_standard_label(labels[at]) for at in sorted(labels))
        if self.labels.count("entailment") != 1:
            raise EncoderError(
                f"{entry.name}: expected a model of natural language inference, with one label 'entailment', "
                f"found the labels {', '.join(labels.values())}; take one such as "
                "cross-encoder/nli-MiniLM2-L6-H768"
            )

    def prepare(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[tuple[str, str]]:
        return list(zip(premises, hypotheses, strict=True))

    def classify(self, pairs: Sequence[tuple[str, str]]) -> Values:
        from scipy.special import softmax

        with self._lock:
            logits: Any = self._model.predict(
                list(pairs), batch_size=len(pairs), show_progress_bar=False, convert_to_numpy=True
            )
        values: Values = softmax(np.asarray(logits, dtype=np.float64), axis=1)
        return values


def _standard_label(label: str) -> str:
    """Return the NLI label that a model's label means, or the label itself.

    >>> [_standard_label(label) for label in ("entail", "contradictory", "not_entailment")]
    ['entailment', 'contradiction', 'not_entailment']
    """
    starts = {"entail": "entailment", "neutral": "neutral", "contradict": "contradiction"}
    return next((name for start, name in starts.items() if label.startswith(start)), label)


class NliJudge:
    """Judge of entailment by a cross-encoder of NLI.

    Args:
        model: A name under `models/`, a folder, or a Hub id such as `cross-encoder/nli-MiniLM2-L6-H768`.
            Judges by `entail train judge` need neither the Hub nor transformers.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        batch_size: Pairs per forward pass, of a model of transformers.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or no label is entailment.
        SettingsError: If the device is not available.
    """

    def __init__(
        self, model: str | Path = SHIPPED, *, device: str | None = None, batch_size: int = 32
    ) -> None:
        folder = cross_folder(model)
        self._model: _TrainedJudge | _StockJudge = (
            _StockJudge(model, device=device, batch_size=batch_size)
            if folder is None
            else _TrainedJudge(folder, device=device)
        )
        self.name, self.revision = self._model.name, self._model.revision

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,); long premises are truncated."""
        values = self._probabilities(premises, hypotheses, progress)
        entailment: Values = values[:, self._model.labels.index("entailment")]
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
        labels = self._model.labels
        if sorted(labels) != sorted(LABELS):
            raise EncoderError(
                f"{self.name}: expected a judge of the labels {', '.join(LABELS)}, found "
                f"{', '.join(labels)}; ask it for entailment alone, or take another"
            )
        values = self._probabilities(premises, hypotheses, progress)
        ordered: Values = values[:, [labels.index(label) for label in LABELS]]
        return ordered

    def _probabilities(
        self, premises: Sequence[str], hypotheses: Sequence[str], progress: ProgressCallback | None
    ) -> Values:
        meter = Meter(len(premises), f"judging by {self.name}", unit="pairs", report=progress)
        pairs: Sequence[Any] = self._model.prepare(premises, hypotheses)
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        values: Values = np.empty((len(pairs), len(self._model.labels)), dtype=np.float64)
        for at in range(0, len(order), self._model.batch_size):
            batch = order[at : at + self._model.batch_size]
            values[batch] = self._model.classify([pairs[i] for i in batch])
            meter.add(len(batch))
        return values


def list_judges() -> list[str]:
    """Return the names of the judges under `models/`, the packaged one first, without loading any."""
    return [folder.name for folder, _ in list_cross(METHOD, first=SHIPPED)]


def judge_steps(judge: NliJudge, steps: Sequence[tuple[Sequence[str], str]]) -> Values:
    """Return P(joined premises entail the conclusion) of each step, shape (steps,).

    The reverse is not asked for: most conclusions say what their premises say, and are taken to entail them.
    """
    return judge.entailment(
        [join_premises(premises) for premises, _ in steps], [conclusion for _, conclusion in steps]
    )


def join_premises(premises: Sequence[str]) -> str:
    """Return premises as one sentence.

    >>> join_premises(["ice is cold. ", "snow is a kind of ice"])
    'ice is cold and snow is a kind of ice'
    """
    return " and ".join(text for text in (fold(premise).rstrip(" .;") for premise in premises) if text)
