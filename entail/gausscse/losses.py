r"""Loss of GaussCSE (Yoda et al. 2023, eq. 3), over the Gaussians of a batch.

With premises p, entailed hypotheses e, contradicted ones c, s(a, b) = sim(a || b) and a temperature t:

.. math::

    L_i = -\log \frac{e^{s(e_i, p_i)/t}}
        {\sum_j e^{s(e_j, p_i)/t} + \sum_j e^{s(c_j, p_i)/t} + \sum_j e^{s(p_j, e_i)/t}}

The three sums are the entailment set (always there), the contradiction set and the reversed set. The
printed equation is lost in our copy of the paper; this is its authors' code. A reversed set of s(p_i, e_j) is
an option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from entail.encoders.gaussian.distributions import LOG_VARIANCE_LIMIT
from entail.encoders.gaussian.form import SimilarityKind
from entail.gausscse.config import Reversal

if TYPE_CHECKING:
    from torch import Tensor

_EDGE = 1e-6
"""Distance of a similarity from 0 and 1 at which its logit is cut: that of a sentence to itself is 1."""


def parameters_of(values: Tensor, *, tanh: bool) -> tuple[Tensor, Tensor]:
    """Return means and log variances, each (n, d), of a head's outputs (n, 2 d), as `Gaussians.of` does."""
    import torch

    mean, log_variance = values.chunk(2, dim=1)
    limited = log_variance.clamp(-LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT)
    return (torch.tanh(mean) if tanh else mean), limited


def similarities(
    first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], *, kind: SimilarityKind
) -> Tensor:
    """Return sim(first_i || second_j), shape (n, m), of means and log variances (n, d) and (m, d).

    The kinds are those of `entail.encoders.gaussian.distributions`.
    """
    if kind == "kl_per_dim":
        (mean, log_variance), (other_mean, other_log) = first, second
        x = log_variance[:, None] - other_log[None]  # (n, m, d)
        apart = (mean[:, None] - other_mean[None]).square() * (-other_log[None]).exp()
        return (1 / (1 + (x.exp() - x - 1 + apart) / 2)).mean(dim=2)
    values = divergences(first, second)
    return 1 / (1 + (values / first[0].shape[1] if kind == "kl_mean" else values))


def divergences(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """Return KL(first_i || second_j), shape (n, m), by one matrix product, whose gradient is two.

    KL = 1/2 sum_k [(v1 + mu1^2) / v2 - 2 mu1 mu2 / v2 + mu2^2 / v2 + log v2 - log v1 - 1]

    The terms of similar Gaussians nearly cancel, so they are added in double precision: the relative error is
    below 1e-4 while KL is above 1e-11 of the sum of their sizes.
    """
    import torch

    (mean, log_variance), (other_mean, other_log) = _doubles(first), _doubles(second)
    # Divergences do not change when all means are moved; near 0 fewer digits are lost.
    middle = other_mean.detach().mean(dim=0)
    mean, other_mean = mean - middle, other_mean - middle
    precision = (-other_log).exp()
    of_first = torch.cat([log_variance.exp() + mean.square(), -2 * mean], dim=1)  # (n, 2 d)
    of_second = torch.cat([precision, other_mean * precision], dim=1)  # (m, 2 d)
    of_second_only = (other_mean.square() * precision + other_log).sum(dim=1)  # (m,)
    constant = (log_variance + 1).sum(dim=1)  # (n,)
    values = (of_first @ of_second.T + of_second_only[None] - constant[:, None]) / 2
    return values.clamp_min(0).to(first[0].dtype)


def _doubles(gaussians: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    mean, log_variance = gaussians
    return mean.double(), log_variance.double()


def contrastive(
    premises: tuple[Tensor, Tensor],
    entailed: tuple[Tensor, Tensor],
    contradicted: tuple[Tensor, Tensor] | None,
    *,
    kind: SimilarityKind,
    temperature: float,
    reversed_set: bool = True,
    reversal: Reversal = "by_entailed",
    same_premise: Tensor | None = None,
    same_entailed: Tensor | None = None,
    weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """Return the mean of L_i over a batch (eq. 3), and diagnostics.

    Args:
        premises: Means and log variances of p, each (n, d).
        entailed: Those of e, in the same order.
        contradicted: Those of the contradictions of a batch, each (m, d), m <= n; a premise without one has
            those of the others as negatives. None for no such set.
        kind: Similarity.
        temperature: t.
        reversed_set: Whether the reversed set takes part.
        reversal: Kind of the reversed set: s(p_j, e_i) over j, as in the authors' code, or s(p_i, e_j).
        same_premise: Mask of equal premises, (n, n): what one entails is no negative of the other.
            Default: none but each itself.
        same_entailed: Mask of equal entailed hypotheses, likewise.
        weights: Weight of each L_i in the mean, (n,). Default: equal.
    """
    import torch

    n = len(premises[0])
    forward = similarities(entailed, premises, kind=kind).T  # row i: s(e_j, p_i) over j
    backward = similarities(premises, entailed, kind=kind)  # s(p_j, e_i) at (j, i)
    itself = torch.eye(n, dtype=torch.bool, device=forward.device)
    alike = torch.zeros_like(itself)
    for same in (same_premise, same_entailed):
        if same is not None:
            alike = alike | same
    sets = [forward.masked_fill(alike & ~itself, float("-inf"))]
    if contradicted is not None and len(contradicted[0]):
        sets.append(similarities(contradicted, premises, kind=kind).T)
    if reversed_set:
        sets.append(backward.T if reversal == "by_entailed" else backward)
    logits = torch.cat(sets, dim=1) / temperature
    losses = torch.logsumexp(logits, dim=1) - forward.diagonal() / temperature
    loss = losses.mean() if weights is None else (losses * weights).sum() / weights.sum()
    with torch.no_grad():
        terms = {
            "similarity": float(forward.diagonal().mean()),
            "similarity reversed": float(backward.diagonal().mean()),
            "direction": float((forward.diagonal() > backward.diagonal()).float().mean()),
            "log variance premises": float(premises[1].mean()),
            "log variance entailed": float(entailed[1].mean()),
        }
    return loss, terms


def ranking_loss(entailed: Tensor, unentailed: Tensor, *, temperature: float) -> Tensor:
    r"""Return the ranking loss of entailment pairs over other pairs of all premises (not in the paper).

    .. math:: \frac{1}{n m} \sum_{i, j} \log(1 + e^{(u_j - e_i) / t})

    Eq. 3 compares hypotheses of one premise at a time, but a threshold separates pairs of all premises. Up to
    a factor the loss bounds 1 - AUC from above.

    Args:
        entailed: e, s(h || p) of entailment pairs, (n,).
        unentailed: u, s(h || p) of neutral and contradictory pairs, (m,).
        temperature: t.
    """
    from torch.nn.functional import softplus

    return softplus((unentailed[None] - entailed[:, None]) / temperature).mean()


def direction_loss(forward: Tensor, backward: Tensor, *, temperature: float, weights: Tensor) -> Tensor:
    r"""Return the loss of entailment pairs over themselves reversed (not in the paper).

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i \log(1 + e^{(s(p_i, e_i) - s(e_i, p_i)) / t})

    In eq. 3 a pair's own reversal is one negative of many, and not the nearest.

    Args:
        forward: s(e || p) of entailment pairs, (n,).
        backward: s(p || e) of the same, (n,).
        temperature: t.
        weights: w, (n,).
    """
    from torch.nn.functional import softplus

    return (weights * softplus((backward - forward) / temperature)).sum() / weights.sum()


def paired_similarities(
    first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], *, kind: SimilarityKind
) -> Tensor:
    """Return sim(first_i || second_i), shape (n,)."""
    (mean, log_variance), (other_mean, other_log) = _doubles(first), _doubles(second)
    x = log_variance - other_log
    kl = (x.expm1() - x + (mean - other_mean).square() * (-other_log).exp()) / 2
    if kind == "kl_per_dim":
        values = (1 / (1 + kl)).mean(dim=1)
    else:
        total = kl.sum(dim=1)
        values = 1 / (1 + (total / mean.shape[1] if kind == "kl_mean" else total))
    return values.to(first[0].dtype)


def similarity_logits(gaussians: tuple[Tensor, Tensor], *, kind: SimilarityKind) -> Tensor:
    """Return log(s / (1 - s)) of s = sim(i || j) between Gaussians (n, d), shape (n, n)."""
    return similarities(gaussians, gaussians, kind=kind).logit(eps=_EDGE)


def distillation_loss(logits: Tensor, taught: Tensor, first: Tensor, second: Tensor) -> Tensor:
    r"""Return the squared distance to a teacher's logits: all pairs, labelled pairs, their margins (ours).

    .. math::
        \overline{(z_{ab} - t_{ab})^2}_{a \ne b}
        + \overline{(z_{hp} - t_{hp})^2 + (z_{ph} - t_{ph})^2}
        + \overline{((z_{hp} - z_{ph}) - (t_{hp} - t_{ph}))^2}

    A margin is what decides the direction, and few of all pairs are labelled ones.

    Args:
        logits: z, of the encoder in training, (n, n).
        taught: t, of the teachers.
        first: Rows of the premises p of labelled pairs, (m,).
        second: Rows of their hypotheses h, (m,).
    """
    import torch

    apart = logits - taught
    off_diagonal = ~torch.eye(len(apart), dtype=torch.bool, device=apart.device)
    forward, backward = apart[second, first], apart[first, second]
    labelled = forward.square() + backward.square() + (forward - backward).square()
    return apart[off_diagonal].square().mean() + labelled.mean()
