"""Example of a chain over the bundled corpus."""

from __future__ import annotations

from entail.data.text import premise_key
from entail.data.worldtree.questions import CENTRAL, GROUNDING, Question

# Of nine questions, explained before a scorer ranked them, the one on which the packaged scorer finds the
# largest share: an example to start with, not a measure of quality.
EXAMPLE = Question(
    "question",
    "How does an arctic fox hide from predators in winter?",
    "its fur turns white like the snow",
    {
        premise_key(text): role
        for text, role in {
            "an arctic fox turns from brown to white for the winter": CENTRAL,
            "snow is white in color": GROUNDING,
            "the arctic environment is white in color from being covered in snow": CENTRAL,
            "camouflage is used for hiding by animals from predators": CENTRAL,
            "an example of camouflage is an organism looking like its environment": CENTRAL,
        }.items()
    },
)
"""Example over the bundled corpus, with its explanation."""
