"""Example of a chain over the bundled corpus, and its steps, which ship so that they need no scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.arcf.chains.chain import Step
from entail.data.bundled import read_shipped, sample_dir
from entail.data.text import premise_key
from entail.data.worldtree.questions import CENTRAL, GROUNDING, Question

FILE = "chain.json"
"""File next to the bundled corpus; `scripts/build_openings.py` writes it."""

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


@dataclass(frozen=True)
class ExampleSteps:
    """Steps of one question's chain by a scorer's revision.

    Attributes:
        digest: Digest of the premises.
        k: Neighbours of each premise.
    """

    revision: str
    digest: str
    k: int
    question: str
    answer: str
    steps: tuple[Step, ...]

    def find(self, question: Question, chain: Sequence[int]) -> Step | None:
        """Return the step after the chosen premises; None unless it is stored."""
        if (question.stem, question.answer) != (self.question, self.answer):
            return None
        return next((step for step in self.steps if step.chosen == tuple(chain)), None)


def find_steps(
    revision: str | None, digest: str, k: int, *, folder: Path | None = None
) -> ExampleSteps | None:
    """Return the steps that ship; None unless they are of just this scorer, these premises and this k."""
    stored = read_shipped((folder or sample_dir()) / FILE, ExampleSteps)
    return stored if stored and (stored.revision, stored.digest, stored.k) == (revision, digest, k) else None
