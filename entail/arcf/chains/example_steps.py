"""Steps of the example's chain over the bundled corpus, which ship so that they need no scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from entail.arcf.chains.stepwise import Step
from entail.data.bundled import read_shipped, sample_dir
from entail.data.worldtree.questions import Question

FILE = "chain.json"
"""File beside the bundled corpus; `scripts/build_openings.py` writes it."""


@dataclass(frozen=True)
class StoredStep:
    """A `Step` in types of JSON; `newly_visible` and `cut` are sorted."""

    chosen: list[int]
    candidates: list[int]
    scores: list[float]
    stop_score: float | None
    newly_visible: list[int]
    dropped: int
    cut: list[int]

    @classmethod
    def of(cls, step: Step) -> StoredStep:
        """Return a step as it is stored."""
        return cls(
            list(step.chosen),
            list(step.candidates),
            [round(score, 6) for score in step.scores],
            step.stop_score,
            sorted(step.newly_visible),
            step.dropped,
            sorted(step.cut),
        )

    def to_step(self) -> Step:
        """Return the step."""
        return Step(
            tuple(self.chosen),
            tuple(self.candidates),
            tuple(self.scores),
            self.stop_score,
            frozenset(self.newly_visible),
            self.dropped,
            frozenset(self.cut),
        )


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
    steps: list[StoredStep]

    def to_json(self) -> dict[str, object]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    def find(self, question: Question, chosen: Sequence[int]) -> Step | None:
        """Return the step after the chosen premises; None unless it is stored."""
        if (question.stem, question.answer) != (self.question, self.answer):
            return None
        return next((one.to_step() for one in self.steps if one.chosen == list(chosen)), None)


def find_steps(
    revision: str | None, digest: str, k: int, *, folder: Path | None = None
) -> ExampleSteps | None:
    """Return the steps that ship; None unless they are of just this scorer, these premises and this k."""
    stored = read_shipped((folder or sample_dir()) / FILE, ExampleSteps)
    return stored if stored and (stored.revision, stored.digest, stored.k) == (revision, digest, k) else None
