"""Example of a chain over the bundled corpus, which ships so that the first one needs no scorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from entail.arcf.chains.chain import Step
from entail.data.bundled import read_shipped, sample_dir
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

FILE = "chain.json"
"""File in the folder of the bundled corpus; `scripts/build_openings.py` writes it."""


@dataclass(frozen=True)
class StoredChain:
    """Steps of the example over the premises of a digest, by the scorer of a revision."""

    revision: str
    digest: str
    steps: list[Step]


def find_steps(revision: str | None, digest: str, question: Question) -> Mapping[tuple[int, ...], Step]:
    """Return the steps that ship by their chosen premises; none for another scorer, corpus or question."""
    stored = read_shipped(sample_dir() / FILE, StoredChain)
    key = (revision, digest, question.stem, question.answer)
    if stored is None or key != (stored.revision, stored.digest, EXAMPLE.stem, EXAMPLE.answer):
        return {}
    return {step.chosen: step for step in stored.steps}
