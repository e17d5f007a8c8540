"""How to learn from a team's own decisions: few, judged by name, of lists that the untrained encoder made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

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


def options(config: AeencConfig) -> Iterator[str]:
    """Yield what `entail train aeenc` is to be told for these settings: the ones that are not its defaults.

    >>> list(options(AeencConfig(rank=4, gold=False)))
    ['--rank', '4', '--no-gold']
    """
    for field in fields(config):
        value, option = getattr(config, field.name), field.name.replace("_", "-")
        if value == field.default:
            continue
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            yield from (f"--{option}", str(value))
