r"""Loss of GaussCSE (Yoda et al. 2023, eq. 3), over the Gaussians of a batch.

With premises p, entailed hypotheses e, contradicted ones c, s(a, b) = sim(a || b) and a temperature t:

.. math::

    L_i = -\log \frac{e^{s(e_i, p_i)/t}}
        {\sum_j e^{s(e_j, p_i)/t} + \sum_j e^{s(c_j, p_i)/t} + \sum_j e^{s(p_j, e_i)/t}}

The three sums are the entailment set (always there), the contradiction set and the reversed set, as in the
authors' code: the printed equation is lost in our copy of the paper. Ranking and direction are terms of our
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.form import SimilarityKind

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
