"""Distillation: an encoder of Gaussians learns the similarities of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import SimilarityKind
from entail.errors import TrainingError
from entail.gausscse.losses import similarities

if TYPE_CHECKING:
    from torch import Tensor

EDGE = 1e-6
"""Distance of a similarity from 0 and 1 at which its logit is cut: that of a sentence to itself is 1."""


class Teachers:
    """Encoders, by names separated by commas, whose similarities are learned as logits, on the average.

    A batch has one teacher: the gradient of a squared distance to the mean of several is the mean of the
    gradients, at the cost of one. Their spaces may differ; the logits of another similarity would have
    another scale.

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

    def similarities(self, texts: Sequence[str], *, turn: int) -> Tensor:
        """Return sim(a || b) of all texts by one teacher, row a, column b; `turn` chooses the teacher."""
        import torch

        gaussians = self.encoders[turn % len(self.encoders)].encode(texts)
        mean, log_variance = torch.from_numpy(gaussians.mean), torch.from_numpy(gaussians.log_variance)
        return similarities(mean, log_variance, kind=self.kind)


def distillation_loss(learned: Tensor, taught: Tensor, first: Tensor, second: Tensor) -> Tensor:
    r"""Return the squared distance to a teacher's logits: all pairs, labelled pairs, their margins.

    With z and t the logits log(s / (1 - s)) of both:

    .. math::
        \overline{(z_{ab} - t_{ab})^2}_{a \ne b}
        + \overline{(z_{hp} - t_{hp})^2 + (z_{ph} - t_{ph})^2}
        + \overline{((z_{hp} - z_{ph}) - (t_{hp} - t_{ph}))^2}

    A margin is what decides the direction, and few of all pairs are labelled ones. Similarities are (n, n);
    `first` and `second` are rows of the premises p of labelled pairs and of their hypotheses h, (m,).
    """
    import torch

    difference = learned.logit(eps=EDGE) - taught.logit(eps=EDGE)
    off_diagonal = ~torch.eye(len(difference), dtype=torch.bool, device=difference.device)
    forward, backward = difference[second, first], difference[first, second]
    labelled = forward.square() + backward.square() + (forward - backward).square()
    return difference[off_diagonal].square().mean() + labelled.mean()
