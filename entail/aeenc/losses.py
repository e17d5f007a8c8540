r"""Losses of AE-Enc over cosines of queries and premises.

A loss takes cosines and labels of shape (queries, premises): above 0 the premise explains the query, with
the label as the weight of the pair, -1 it does not, 0 unlabelled. With a frozen premise tower the premises
are constants.

To add a loss, add its function to `LOSSES`, and its options, if new, to `LossOptions`.

==============  =========================================================================================
triplet margin  :math:`\max(\cos(h,p^-) - \cos(h,p^+) + m, 0)`, over all (p+, p-) of a query. Equations 1b
                and 2 of the paper print the two cosines the other way round.
contrastive     :math:`y D^2 / 2 + (1-y) \max(0, m - D)^2 / 2` with :math:`D = 1 - \cos` (Hadsell et al. 2006)
softmax         :math:`-\log (e^{s^+/\tau} / (e^{s^+/\tau} + \sum_- e^{s^-/\tau}))`, each positive
                against all negatives: a smooth triplet loss whose hard negatives weigh most
==============  =========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """Choice of a loss and its options: fields of `AeencConfig`, so of the form and the command line too."""

    loss: Annotated[
        Literal["triplet", "contrastive", "softmax"],
        "triplet margin (TML), supervised contrastive (SCL), or softmax over negatives",
    ] = "triplet"
    margin: Annotated[float, Ge(0), "m of the triplet loss, in cosine"] = 0.2
    contrastive_margin: Annotated[
        float, Ge(0), "m of the contrastive loss, in 1 - cosine; the paper gives m for triplets only"
    ] = 0.5
    reduction: Annotated[Literal["mean", "sum"], "triplets: mean over all, or sum over those of a query"] = (
        "sum"
    )
    temperature: Annotated[float, Gt(0), "tau of the softmax loss"] = 0.05


def triplet_margin(similarities: Tensor, labels: Tensor, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Return the triplet margin loss (eq. 1b, corrected), and the share of triplets that violate the margin.

    The reduction is the `mean` over all triplets, as in the paper, or the `sum` over the triplets of a query,
    then the mean over queries: few triplets violate the margin, so a mean over all is small.
    """
    import torch

    rows, columns = (labels > 0).nonzero(as_tuple=True)
    positive, weight = similarities[rows, columns], labels[rows, columns]  # (positives,)
    negative = labels[rows] < 0  # (positives, premises)
    gaps = similarities[rows] - positive[:, None] + options.margin
    violated = torch.where(negative, gaps.clamp_min(0), torch.zeros((), dtype=gaps.dtype, device=gaps.device))
    triplets = negative.sum()
    active = ((gaps > 0) & negative).sum() / triplets.clamp_min(1)
    is_mean = options.reduction == "mean"
    over = triplets if is_mean else torch.tensor(similarities.shape[0], device=gaps.device)
    return (weight[:, None] * violated).sum() / over.clamp_min(1), active


def contrastive(similarities: Tensor, labels: Tensor, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Return the contrastive loss (SCL), a mean over labelled pairs, and the share of negatives within m."""
    distance, margin = 1 - similarities, options.contrastive_margin
    weight, negative = labels.clamp_min(0), labels < 0
    terms = weight * distance.square() / 2 + negative * (margin - distance).clamp_min(0).square() / 2
    active = ((distance < margin) & negative).sum() / negative.sum().clamp_min(1)
    return terms.sum() / (labels != 0).sum().clamp_min(1), active


def softmax(similarities: Tensor, labels: Tensor, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Return the softmax loss, the mean over positives with negatives, and the share of misordered triplets.

    A low temperature tau weights the hardest negatives more.
    """
    import torch

    tau = options.temperature
    rows, columns = (labels > 0).nonzero(as_tuple=True)
    negative = labels < 0
    rivals = torch.logsumexp(similarities.masked_fill(~negative, float("-inf")) / tau, dim=1)
    has_rival = negative.any(dim=1)[rows]
    rows, columns = rows[has_rival], columns[has_rival]
    positive, weight = similarities[rows, columns], labels[rows, columns]
    loss = weight * torch.nn.functional.softplus(rivals[rows] - positive / tau)
    wrong = ((similarities[rows] > positive[:, None]) & negative[rows]).sum()
    return loss.sum() / max(len(rows), 1), wrong / negative[rows].sum().clamp_min(1)


LOSSES: Mapping[str, Callable[[Tensor, Tensor, LossOptions], tuple[Tensor, Tensor]]] = {
    "triplet": triplet_margin,
    "contrastive": contrastive,
    "softmax": softmax,
}
"""Losses by the name that `AeencConfig.loss` gives."""


def drift(vectors: Tensor, base: Tensor) -> Tensor:
    r"""Return :math:`\|E_s(x) - E_h(x)\|^2`, the mean over texts: one term of the regularisation (eq. 2).

    The paper does not say whether vectors are normalised; here they are, so a term lies between 0 and 4.

    Args:
        vectors: Unit vectors of the trained tower, shape (texts, d).
        base: Unit vectors of the frozen base, same shape.
    """
    return (vectors - base).square().sum(dim=1).mean()
