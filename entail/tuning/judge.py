"""Any cross-encoder of natural language inference as a judge of entailment, by name or Hub id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from entail.encoders.catalogue import fetch, resolve
from entail.encoders.device import device_name
from entail.errors import EncoderError
from entail.progress import Meter, ProgressCallback
from entail.tuning.relevance import Values


class NliJudge:
    """P(entailment) by a sequence classifier that was trained on NLI.

    Args:
        model: A folder, a name under `models/`, or a Hub id such as `cross-encoder/nli-MiniLM2-L6-H768`.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        batch_size: Pairs a forward pass.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or none of its labels is entailment.
        SettingsError: If the device is not there.
    """

    def __init__(self, model: str | Path, *, device: str | None = None, batch_size: int = 32) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        entry = fetch(resolve(model))
        self._name, self._batch_size, self._device = entry.name, batch_size, device_name(device)
        folder = str(entry.path)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
            )
        except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
            raise EncoderError(
                f"{entry.name}: cannot be loaded as a sequence classifier of transformers: {error}"
            ) from error
        labels = {int(at): str(label).lower() for at, label in loaded.config.id2label.items()}
        chosen = [at for at, label in labels.items() if label.startswith("entail")]
        if len(chosen) != 1:
            raise EncoderError(
                f"{entry.name}: expected a model of natural language inference, with one label 'entailment', "
                f"found the labels {', '.join(labels.values())}; take one such as "
                "cross-encoder/nli-MiniLM2-L6-H768"
            )
        self._entailment = chosen[0]
        self._tokenizer: Any = tokenizer
        self._model = loaded.to(self._device).eval()
        self._longest = min(int(tokenizer.model_max_length), int(loaded.config.max_position_embeddings))

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self._name

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,); long premises are cut."""
        import torch

        order = np.argsort(
            [len(p) + len(h) for p, h in zip(premises, hypotheses, strict=True)], kind="stable"
        )
        found: Values = np.empty(len(premises), dtype=np.float64)
        meter = Meter(len(premises), f"judging by {self.name}", unit="pairs", report=progress)
        for at in range(0, len(order), self._batch_size):
            some = order[at : at + self._batch_size]
            features = self._tokenizer(
                [premises[i] for i in some],
                [hypotheses[i] for i in some],
                padding=True,
                truncation="only_first",
                max_length=self._longest,
                return_tensors="pt",
            ).to(self._device)
            with torch.inference_mode():
                scores = self._model(**features).logits.float().softmax(dim=1)
            found[some] = scores[:, self._entailment].cpu().numpy()
            meter.add(len(some))
        return found
