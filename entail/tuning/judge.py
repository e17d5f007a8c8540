"""A judge of entailment: one that was trained here, or any cross-encoder of NLI by name or Hub id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entail.data.nli import LABELS
from entail.encoders.card import read_card
from entail.encoders.cross import cross_folder, cross_folders
from entail.errors import EncoderError
from entail.progress import ProgressCallback
from entail.tuning.judge_form import METHOD, SHIPPED
from entail.tuning.judge_stock import StockJudge
from entail.tuning.judge_trained import TrainedJudge
from entail.tuning.relevance import Values


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
        """How a person calls it."""
        return self._by.name

    @property
    def revision(self) -> str:
        """Which weights."""
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
