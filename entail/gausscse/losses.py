r"""Loss of GaussCSE (Yoda et al. 2023, eq. 3), over the Gaussians of a batch.

With premises p, entailed hypotheses e, contradicted ones c, s(a, b) = sim(a || b) and a temperature t:

.. math::

    L_i = -\log \frac{e^{s(e_i, p_i)/t}}
        {\sum_j e^{s(e_j, p_i)/t} + \sum_j e^{s(c_j, p_i)/t} + \sum_j e^{s(p_j, e_i)/t}}

The three sums are the entailment set (always there), the contradiction set and the reversed set, as in the
authors' code: the printed equation is lost in our copy of the paper. Ranking, direction and distillation are
terms of our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import SimilarityKind
from entail.errors import TrainingError

if TYPE_CHECKING:
    from torch import Tensor


def parameters_of(values: Tensor, *, tanh: bool) -> tuple[Tensor, Tensor]:
    """Return means and log variances, each (n, d), of a head's outputs (n, 2 d), as `Gaussians.of` does."""
    import torch

    mean, log_variance = values.chunk(2, dim=1)
    limited = log_variance.clamp(-LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT)
    return (torch.tanh(mean) if tanh else mean), limited


def similarities(mean: Tensor, log_variance: Tensor, *, kind: SimilarityKind) -> Tensor:
    """Return s(i, j) = sim(i || j) of all pairs of Gaussians (n, d), shape (n, n).

    The kinds are those of `entail.encoders.gaussian.form`.
    """
    if kind == "kl_per_dim":
        x = log_variance[:, None] - log_variance[None]  # (n, n, d)
        distance = (mean[:, None] - mean[None]).square() * (-log_variance[None]).exp()
        return (1 / (1 + (x.expm1() - x + distance) / 2)).mean(dim=2)
    values = divergences(mean, log_variance)
    return 1 / (1 + (values / mean.shape[1] if kind == "kl_mean" else values))


def divergences(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return KL(i || j) of all pairs of Gaussians (n, d), shape (n, n), by one matrix product.

    KL = 1/2 sum_k [(v1 + mu1^2) / v2 - 2 mu1 mu2 / v2 + mu2^2 / v2 + log v2 - log v1 - 1]

    The terms of similar Gaussians nearly cancel, so they are added in double precision: the relative error is
    below 1e-4 while KL is above 1e-11 of the sum of their sizes.
    """
    import torch

    mean, logs, single = mean.double(), log_variance.double(), mean.dtype
    # Divergences do not change when all means are moved; near 0 fewer digits are lost.
    mean = mean - mean.detach().mean(dim=0)
    precision = (-logs).exp()
    of_first = torch.cat([logs.exp() + mean.square(), -2 * mean], dim=1)  # (n, 2 d)
    of_second = torch.cat([precision, mean * precision], dim=1)
    of_second_only = (mean.square() * precision + logs).sum(dim=1)
    constant = (logs + 1).sum(dim=1)
    values = (of_first @ of_second.T + of_second_only[None] - constant[:, None]) / 2
    return values.clamp_min(0).to(single)


def contrastive_loss(
    forward: Tensor, others: Sequence[Tensor], *, same: Tensor, temperature: float, weights: Tensor
) -> Tensor:
    """Return the weighted mean of L_i over a batch (eq. 3).

    `forward` has s(e_j, p_i) at (i, j), the entailment set, `others` the further sets s(c_j, p_i) and
    s(p_j, e_i), (n, m) each. A premise without a contradiction has those of the others. Where premises or
    hypotheses are the `same`, (n, n), what one entails is no negative of the other.
    """
    import torch

    itself = torch.eye(len(forward), dtype=torch.bool, device=forward.device)
    negatives = forward.masked_fill(same & ~itself, float("-inf"))
    logits = torch.cat([negatives, *others], dim=1) / temperature
    losses = torch.logsumexp(logits, dim=1) - forward.diagonal() / temperature
    return (losses * weights).sum() / weights.sum()


def ranking_loss(entailed: Tensor, unentailed: Tensor, *, temperature: float) -> Tensor:
    r"""Return the ranking loss of entailment pairs over other pairs of all premises (not in the paper).

    .. math:: \frac{1}{n m} \sum_{i, j} \log(1 + e^{(u_j - e_i) / t})

    e and u are s(h, p) of pairs that entail and of others. Eq. 3 compares hypotheses of one premise at a
    time, but a threshold separates pairs of all premises. Up to a factor the loss bounds 1 - AUC from above.
    """
    from torch.nn.functional import softplus

    return softplus((unentailed[None] - entailed[:, None]) / temperature).mean()


def direction_loss(forward: Tensor, backward: Tensor, *, temperature: float, weights: Tensor) -> Tensor:
    r"""Return the loss of entailment pairs over themselves reversed (not in the paper).

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i \log(1 + e^{(s(p_i, e_i) - s(e_i, p_i)) / t})

    In eq. 3 a pair's own reversal is one negative of many, and not the nearest.
    """
    from torch.nn.functional import softplus

    return (weights * softplus((backward - forward) / temperature)).sum() / weights.sum()


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
