"""Any sequence classifier of transformers that was trained on natural language inference, as a judge."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from entail.encoders.catalogue import fetch, resolve
from entail.encoders.device import device_name
from entail.errors import EncoderError, UnknownEncoderError
from entail.progress import Meter, ProgressCallback
from entail.tuning.relevance import Values


class StockJudge:
    """A classifier in a folder, or of the Hub; see `entail.tuning.judge.NliJudge`, which people use.

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
        self._longest = min(int(tokenizer.model_max_length), int(loaded.config.max_position_embeddings))

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
        fits = max(map(len, said)) <= self._longest // 2
        features = self._tokenizer(
            premises,
            hypotheses,
            padding=True,
            truncation="only_first" if fits else "longest_first",
            max_length=self._longest,
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
