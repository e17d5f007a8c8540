"""What the Chains page begins with: a question of our own over the bundled facts, explained by hand."""

from __future__ import annotations

from entail.data.text import premise_key
from entail.data.worldtree import CENTRAL, GROUNDING

# Of eighteen questions, written with their explanations before a scorer saw them, the one of which the scorer
# that ships finds the largest share and stops by itself: to begin with, no figure of how good it is.
STEM = "How does a trout get oxygen in a stream?"
ANSWER = "it breathes water with its gills"

_EXPLAINED = {
    "trout is a kind of fish": GROUNDING,
    "a fish is a kind of aquatic animal": GROUNDING,
    "gills are a part of trout": CENTRAL,
    "gills are used for breathing water by aquatic animals": CENTRAL,
    "water contains dissolved oxygen": CENTRAL,
}

GOLD = {premise_key(text): role for text, role in _EXPLAINED.items()}
"""Key of a bundled fact -> its role in the explanation; written for this example."""
