"""What the Chains page begins with: a question of our own over the bundled facts, explained by hand."""

from __future__ import annotations

from entail.data.text import premise_key
from entail.data.worldtree import CENTRAL, GROUNDING, LEXICAL_GLUE

STEM = "A snowman stands in a sunny garden on a warm morning. Why is it only a puddle at noon?"
ANSWER = "because the heat of the sunlight melts the snow"

_MELTING = "melting means matter / a substance changes from a solid into a liquid by increasing heat energy"
_EXPLAINED = {
    "snow is a kind of ice": GROUNDING,
    "if something is outside during the day then that something will receive sunlight": GROUNDING,
    "absorbing sunlight causes objects to heat": CENTRAL,
    "heating means increasing heat energy": LEXICAL_GLUE,
    _MELTING: CENTRAL,
    "sunlight produces heat": CENTRAL,
}

GOLD = {premise_key(text): role for text, role in _EXPLAINED.items()}
"""Key of a bundled fact -> its role in the explanation; written for this example."""
