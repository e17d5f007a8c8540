r"""Losses of ARCF over the scores after one prefix: positives s_p, negatives s_n.

===========  =====================================================================================
`ranknet`    mean over all pairs of :math:`-\log \sigma(s_p - s_n)`; the printed equation is garbled
`nce`        mean over positives of :math:`-\log \frac{e^{s_p - \log P}}{\sum_{j \in \{p\} \cup n}
             e^{s_j - \log P}}`; P is uniform over what is visible, and so cancels
===========  =====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from entail.arcf.config import Loss
from entail.errors import TrainingError

if TYPE_CHECKING:
    from torch import Tensor


def prefix_loss(scores: Tensor, positive: Tensor, *, kind: Loss) -> Tensor:
    """Return the loss of the scores (samples,) after one prefix; `positive` masks the positives.

    >>> import torch
    >>> prefix_loss(torch.tensor([1.0, 1.0]), torch.tensor([True, False]), kind="ranknet")  # log 2
    tensor(0.6931)

    Raises:
        TrainingError: If there is no positive, or no negative.
    """
    import torch
    from torch.nn.functional import softplus

    good, bad = scores[positive], scores[~positive]
    if not len(good) or not len(bad):
        raise TrainingError(
            f"{kind} compares: expected positives and negatives after a prefix, found {len(good)} and "
            f"{len(bad)}"
        )
    if kind == "ranknet":
        return softplus(bad[None] - good[:, None]).mean()  # (positives, negatives)
    log_sum = torch.logsumexp(bad, dim=0)
    return (torch.logaddexp(good, log_sum) - good).mean()
