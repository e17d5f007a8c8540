"""Judges of entailment: cross-encoders of NLI, trained here or by name or Hub id."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.nli.pairs import LABELS
from entail.encoders.card import read_card
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.cross.encoder import HEAD, cross_folder, cross_folders, cross_parts, load_cross
from entail.encoders.cross.pairs import cut_pairs
from entail.encoders.device import device_name
from entail.encoders.weights import check_safe, open_tensors
from entail.errors import EncoderError, UnknownEncoderError
from entail.evaluation.nli.pair_similarity import Values
from entail.judge.task import softmax
from entail.progress import Meter, ProgressCallback
from entail.training.fields import current_names

METHOD = "judge"
"""As `entail.json` names the method."""

SHIPPED = "nli-minilm"
"""Name of the judge that is taken where none is named."""


@dataclass(frozen=True, kw_only=True)
class JudgeForm:
    """Settings of a judge that was trained here.

    Attributes:
        max_length: Tokens of a premise and a hypothesis together that are read.
        labels: What the outputs of the head stand for, in order.
    """

    max_length: int = 256
    labels: tuple[str, ...] = LABELS

    def to_json(self) -> dict[str, Any]:
        """Return what `entail.json` says."""
        return {"max_length": self.max_length, "labels": list(self.labels)}

    @classmethod
    def read(cls, told: Mapping[str, Any], *, name: str) -> JudgeForm:
        """Take back what `to_json` returned.

        Raises:
            EncoderError: If the labels are not those of NLI, or `max_length` is no number.
        """
        told = current_names(told, known=("max_length", "labels"))
        max_length, labels = told.get("max_length", cls.max_length), told.get("labels", list(LABELS))
        if type(max_length) is not int or max_length < 8:
            raise EncoderError(
                f"{name}: expected a whole number as 'max_length' in 'judge' of entail.json, "
                f"found {max_length!r}"
            )
        if not isinstance(labels, list) or sorted(map(str, labels)) != sorted(LABELS):
            raise EncoderError(
                f"{name}: expected the labels {', '.join(LABELS)} in 'judge' of entail.json, found {labels!r}"
            )
        return cls(max_length=max_length, labels=tuple(labels))


_CHUNK = 512
"""Pairs between two words of progress."""


class TrainedJudge:
    """Judge written by `entail train judge`; use it through `entail.judge.judges.NliJudge`.

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
        self._cross = load_cross(parts, head, max_length=form.max_length, device=place, dtype=torch.float32)

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each label, shape (pairs, labels); long premises are cut."""
        cross = self._cross
        pairs, _ = cut_pairs(cross.tokenize, cross.frame, premises, hypotheses, max_length=cross.max_length)
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        found: Values = np.empty((len(pairs), len(self.labels)), dtype=np.float64)
        meter = Meter(len(pairs), f"judging by {self.name}", unit="pairs", report=progress)
        for at in range(0, len(order), _CHUNK):
            some = order[at : at + _CHUNK]
            found[some] = softmax(cross.values([pairs[i] for i in some]))
            meter.add(len(some))
        return found


class StockJudge:
    """A classifier in a folder, or of the Hub; see `entail.judge.judges.NliJudge`, which people use.

    Any number of threads may ask it; they take turns, since a tokenizer that pads is no two threads' at once.

    Args:
        model: A folder, a name under `models/`, or a Hub id.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        batch_size: Pairs a forward pass.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or none of its labels is entailment.
        SettingsError: If the device is not there.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, batch_size: int = 32) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        try:
            entry = fetch(resolve(model))
        except UnknownEncoderError as error:
            raise UnknownEncoderError(
                f"no judge of entailment is called {str(model)!r}; train one (entail train judge), or give "
                "the Hub id of a cross-encoder of NLI such as cross-encoder/nli-MiniLM2-L6-H768"
            ) from error
        self.name, self.revision = entry.name, str(entry.revision)
        self._batch_size, self._device = batch_size, device_name(device)
        folder = str(entry.path)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            loaded: Any
            loaded, info = AutoModelForSequenceClassification.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
            raise EncoderError(
                f"{entry.name}: cannot be loaded as a sequence classifier of transformers: {error}"
            ) from error
        told = {int(at): str(label).lower() for at, label in loaded.config.id2label.items()}
        self.labels = tuple(_known(told[at]) for at in sorted(told))
        if self.labels.count("entailment") != 1:
            raise EncoderError(
                f"{entry.name}: expected a model of natural language inference, with one label 'entailment', "
                f"found the labels {', '.join(told.values())}; take one such as "
                "cross-encoder/nli-MiniLM2-L6-H768"
            )
        if missing := sorted(map(str, info["missing_keys"])):
            raise EncoderError(
                f"{entry.name}: expected all weights of a classifier, found {len(missing)} missing, such as "
                f"{missing[0]}: it was saved without its head; take another"
            )
        self._tokenizer: Any = tokenizer
        self._turn = threading.Lock()
        self._model = loaded.to(self._device).eval()
        self._max_length = min(int(tokenizer.model_max_length), int(loaded.config.max_position_embeddings))

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each of its labels, shape (pairs, labels); long premises are cut."""
        order = np.argsort(
            [len(p) + len(h) for p, h in zip(premises, hypotheses, strict=True)], kind="stable"
        )
        found: Values = np.empty((len(premises), len(self.labels)), dtype=np.float64)
        meter = Meter(len(premises), f"judging by {self.name}", unit="pairs", report=progress)
        for at in range(0, len(order), self._batch_size):
            some = order[at : at + self._batch_size]
            with self._turn:
                scores = self._scores([premises[i] for i in some], [hypotheses[i] for i in some])
            found[some] = scores
            meter.add(len(some))
        return found

    def _scores(self, premises: list[str], hypotheses: list[str]) -> Values:
        import torch

        said = self._tokenizer(hypotheses, add_special_tokens=False)["input_ids"]
        fits = max(map(len, said)) <= self._max_length // 2
        features = self._tokenizer(
            premises,
            hypotheses,
            padding=True,
            truncation="only_first" if fits else "longest_first",
            max_length=self._max_length,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            found: Values = self._model(**features).logits.float().softmax(dim=1).double().cpu().numpy()
        return found


def _known(label: str) -> str:
    """Return what NLI calls a label, or the label itself.

    >>> [_known(label) for label in ("entail", "contradictory", "not_entailment")]
    ['entailment', 'contradiction', 'not_entailment']
    """
    known = {"entail": "entailment", "neutral": "neutral", "contradict": "contradiction"}
    return next((name for begins, name in known.items() if label.startswith(begins)), label)


class NliJudge:
    """P(entailment) by a cross-encoder that was trained on NLI.

    Args:
        model: A name under `models/`, a folder, or a Hub id such as `cross-encoder/nli-MiniLM2-L6-H768`;
            what `entail train judge` wrote needs neither the Hub nor transformers.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        batch_size: Pairs a forward pass, of a model of transformers.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or none of its labels is entailment.
        SettingsError: If the device is not there.
    """

    def __init__(
        self, model: str | Path = SHIPPED, *, device: str | None = None, batch_size: int = 32
    ) -> None:
        folder = cross_folder(model)
        self._by: TrainedJudge | StockJudge = (
            StockJudge(model, device=device, batch_size=batch_size)
            if folder is None
            else TrainedJudge(folder, device=device)
        )

    @property
    def name(self) -> str:
        """Display name."""
        return self._by.name

    @property
    def revision(self) -> str:
        """Revision of the weights."""
        return self._by.revision

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,); long premises are cut."""
        found = self._by.probabilities(premises, hypotheses, progress=progress)
        chosen: Values = found[:, self._by.labels.index("entailment")]
        return chosen

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each label, shape (pairs, 3), in the order of `LABELS`.

        Raises:
            EncoderError: If it does not tell all three apart.
        """
        labels = self._by.labels
        if sorted(labels) != sorted(LABELS):
            raise EncoderError(
                f"{self.name}: expected a judge of the labels {', '.join(LABELS)}, found "
                f"{', '.join(labels)}; ask it for entailment alone, or take another"
            )
        found = self._by.probabilities(premises, hypotheses, progress=progress)
        ordered: Values = found[:, [labels.index(label) for label in LABELS]]
        return ordered


def list_judges() -> list[str]:
    """Return the names of the judges under `models/`, what ships first; nothing is loaded."""
    found = []
    for folder in cross_folders():
        try:
            card = read_card(folder, folder.name)
        except EncoderError:
            continue
        if card is not None and card.method == METHOD:
            found.append(folder.name)
    return sorted(found, key=lambda name: (name != SHIPPED, name))
