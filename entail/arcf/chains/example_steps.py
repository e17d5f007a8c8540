"""Steps of the example's chain over the bundled corpus, which ship so that they need no scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.arcf.chains.stepwise import Step
from entail.data.bundled import read_shipped, sample_dir
from entail.data.worldtree.questions import Question

FILE = "chain.json"
"""File beside the bundled corpus; `scripts/build_openings.py` writes it."""


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
