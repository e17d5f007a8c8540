"""How to learn from a team's own decisions: few, judged by name, of lists that the untrained encoder made."""

from __future__ import annotations

from entail.aeenc.config import AeencConfig

FEW_DECISIONS = AeencConfig(
    # The query tower alone, as an adapter: the premises keep their vectors, so it can be searched with at
    # once, a step encodes the queries only, and a few hundred decisions take seconds to a few minutes on
    # two cores.
    towers="single",
    tuning="lora",
    rank=16,
    # What was judged by name is all there is: ACS would look up the same judgements again, since what nobody
    # looked at is neither positive nor negative.
    gold=True,
    rounds=0,
    loss="triplet",
    reduction="sum",
    margin=0.2,
    # All negatives come from the top of the untrained encoder's lists. Pushed hard, queries flee from them
    # into parts of the corpus that nobody judged, and find less than before. So small steps, few of them,
    # and a strong pull towards the base.
    alpha=1.0,
    learning_rate=1e-4,
    epochs=20,
)
"""Settings for some tens to some hundreds of decisions."""
