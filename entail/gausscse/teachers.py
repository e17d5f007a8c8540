"""Distillation: an encoder of Gaussians learns the similarities of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import SimilarityKind
from entail.errors import TrainingError
from entail.gausscse.losses import similarity_logits

if TYPE_CHECKING:
    from torch import Tensor


class Teachers:
    r"""Encoders whose similarities are learned as logits, on the average over all.

    .. math:: t_{ab} = \log \frac{s_k(a, b)}{1 - s_k(a, b)}

    A batch has one teacher k: the gradient of a squared distance to the mean of several is the mean of the
    gradients, at the cost of one. Their spaces may differ.

    Args:
        names: Names of the encoders, separated by commas.
        kind: Similarity of all: the logits of another have another scale.
        device: Device of the encoders.

    Raises:
        EncoderError: If a name is unknown, or that of an encoder of points.
        TrainingError: If there is no name, or an encoder has another similarity.
    """

    def __init__(self, names: str, *, kind: SimilarityKind, device: str | None = None) -> None:
        encoder_names = [name.strip() for name in names.split(",") if name.strip()]
        if not encoder_names:
            raise TrainingError(f"expected names of encoders as teachers, found {names!r}")
        self.kind, self.encoders = kind, [GaussianEncoder(name, device=device) for name in encoder_names]
        for encoder in self.encoders:
            if encoder.kind != kind:
                raise TrainingError(
                    f"expected teachers of similarity {kind}, found {encoder.kind} in {encoder.name}; train "
                    f"with similarity={encoder.kind}"
                )

    @property
    def revision(self) -> str:
        """Revisions of all, for checkpoints."""
        return ", ".join(encoder.revision for encoder in self.encoders)

    def logits(self, texts: Sequence[str], *, turn: int) -> Tensor:
        """Return t between all texts, shape (texts, texts), row a, column b for sim(a || b).

        Args:
            texts: Texts of a batch.
            turn: Number of the batch; the teachers take turns.
        """
        import torch

        gaussians = self.encoders[turn % len(self.encoders)].encode(texts)
        pair = torch.from_numpy(gaussians.mean), torch.from_numpy(gaussians.log_variance)
        return similarity_logits(pair, kind=self.kind)
