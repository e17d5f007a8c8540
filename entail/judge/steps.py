r"""Check of a step: do its premises, taken together, entail its conclusion?

A step is valued by a logistic model over what its words show (`word_features`) and what a judge says that
learnt from steps of trees,

.. math:: P = \max_{S \subseteq \text{premises}, |S| \ge 2} \sigma(w \cdot f(S) + b)

so that a premise off the topic changes nothing. Premises outside the best subset add nothing to the step.

The model has learnt from steps of two premises or more, so it values a single premise low, even one that says
the conclusion again: of one that has all of its words the check cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from entail.encoders.cross.encoder import list_cross, open_cross
from entail.encoders.weights import read_form
from entail.errors import EncoderError
from entail.index.lexical import stemmed_words
from entail.judge.judges import METHOD, NliJudge, join_premises
from entail.statistics.classification import Values

SHIPPED = "steps-minilm"
"""Packaged check, the default."""

FEATURES = (
    "covered",
    "all covered",
    "most unlinked",
    "mean unlinked",
    "bridged",
    "least own",
    "most own",
    "linked",
    "best alone",
)
"""Names of `word_features`, in order; `judge` follows them in the weights of a model."""

_EVERY_SUBSET = 5
"""Premises up to which every subset is valued."""

Step = tuple[Sequence[str], str]
"""Premises and conclusion."""

State = Literal["holds", "not yet", "cannot tell"]


@dataclass(frozen=True, kw_only=True)
class StepForm:
    """Settings of a check: weights of the features and of the judge's log-odds, and limits of the states.

    A step holds from a probability of `holds` on, and does not hold yet below `fails`.
    """

    weights: Mapping[str, float]
    bias: float
    holds: Annotated[float, Ge(0), Le(1)] = 0.9
    fails: Annotated[float, Ge(0), Le(1)] = 0.3

    @classmethod
    def read(cls, entry: Mapping[str, Any], *, name: str) -> StepForm:
        """Read the entry `steps` of `entail.json`.

        Raises:
            EncoderError: If it is none, or weights are missing.
        """
        form = read_form(cls, entry, name=name, entry="steps")
        if set(form.weights) != {*FEATURES, "judge"}:
            raise EncoderError(
                f"{name}: expected the weights {', '.join(FEATURES)}, judge in 'steps' of entail.json, found "
                f"{', '.join(form.weights) or 'none'}"
            )
        return form

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return asdict(self)

    def state(self, probability: float) -> State:
        """Return what a probability says of a step."""
        if probability >= self.holds:
            return "holds"
        return "not yet" if probability < self.fails else "cannot tell"


@dataclass(frozen=True)
class StepVerdict:
    """Verdict on a step.

    Attributes:
        missing: Words of the conclusion that no premise has, in order.
        idle: Positions of premises without which the step is valued at least as high.
    """

    probability: float
    state: State
    missing: tuple[str, ...] = ()
    idle: tuple[int, ...] = ()


class StepVerifier:
    """Check of steps by a model under `models/`, or a folder.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or is a judge that did not learn from steps.
    """

    def __init__(self, model: str | Path = SHIPPED, *, device: str | None = None) -> None:
        parts, card = open_cross(model, METHOD, first=SHIPPED)
        if not card.steps:
            raise EncoderError(
                f"{parts.name}: expected a check of steps, with 'steps' in entail.json, found another judge; "
                f"available: {', '.join(list_verifiers()) or 'none'}"
            )
        self._judge = NliJudge(parts.folder, device=device)
        self.name, self.revision = self._judge.name, self._judge.revision
        self.form = StepForm.read(card.steps, name=self.name)

    def check(self, steps: Sequence[Step]) -> list[StepVerdict]:
        """Return the verdict on each step; one of a single premise is valued as it is.

        Raises:
            EncoderError: If the judge fails.
        """
        candidates = [list(candidate_subsets(*step)) for step in steps]
        rows = [
            ([premises[at] for at in subset], conclusion)
            for (premises, conclusion), subsets in zip(steps, candidates, strict=True)
            for subset in subsets
        ]
        values = self._values(rows)
        verdicts, at = [], 0
        for (premises, conclusion), subsets in zip(steps, candidates, strict=True):
            own = values[at : at + len(subsets)]
            at += len(subsets)
            # Of equal ones the first, which is the largest.
            best = int(own.argmax())
            idle = tuple(sorted(set(range(len(premises))) - set(subsets[best])))
            probability = float(own[best])
            missing, state = missing_words(premises, conclusion), self.form.state(probability)
            if len(premises) == 1 and not missing and state == "not yet":
                state = "cannot tell"
            verdicts.append(StepVerdict(probability, state, missing, idle))
        return verdicts

    def _values(self, steps: Sequence[Step]) -> Values:
        from scipy.special import expit

        features = step_features(self._judge, steps)
        weights = np.array([self.form.weights[name] for name in (*FEATURES, "judge")])
        probabilities: Values = expit(features @ weights + self.form.bias)
        return probabilities


def list_verifiers() -> list[str]:
    """Return the names of the checks of steps under `models/`, the packaged one first."""
    return [folder.name for folder, card in list_cross(METHOD, first=SHIPPED) if card.steps]


def step_features(judge: NliJudge, steps: Sequence[Step]) -> Values:
    """Return `word_features` and the judge's log-odds of entailment of each step, shape (steps, 10)."""
    from scipy.special import logit

    joined = [join_premises(premises) for premises, _ in steps]
    odds = logit(np.clip(judge.entailment(joined, [conclusion for _, conclusion in steps]), 1e-6, 1 - 1e-6))
    words = np.array([word_features(*step) for step in steps]).reshape(len(steps), len(FEATURES))
    return np.column_stack([words, odds])


def word_features(premises: Sequence[str], conclusion: str) -> tuple[float, ...]:
    """Return what the stems of a step show, in the order of `FEATURES`.

    A stem of a premise is unlinked if neither the conclusion nor another premise has it; a stem of the
    conclusion is a premise's own if no other premise has it. Shares are of a premise's, or the conclusion's,
    stems.

    >>> dict(zip(FEATURES, word_features(["ice is a solid", "solids melt"], "ice melts")))["covered"]
    1.0
    """
    needed, stems = set(stemmed_words(conclusion)), [set(stemmed_words(premise)) for premise in premises]
    if not stems:
        return (0.0,) * len(FEATURES)
    count = Counter(stem for own in stems for stem in own)
    n = len(needed) or 1
    unlinked = [sum(count[s] == 1 and s not in needed for s in own) / (len(own) or 1) for own in stems]
    owned = [sum(count[s] == 1 for s in own & needed) / n for own in stems]
    linked = [any(count[s] > 1 for s in own) for own in stems]
    covered = len(needed & count.keys()) / n
    return (
        covered,
        float(covered == 1),
        max(unlinked),
        sum(unlinked) / len(stems),
        float(any(times > 1 and stem not in needed for stem, times in count.items())),
        min(owned),
        max(owned),
        sum(linked) / len(stems),
        max(len(own & needed) for own in stems) / n,
    )


def missing_words(premises: Sequence[str], conclusion: str) -> tuple[str, ...]:
    """Return the words of a conclusion whose stem no premise has, without stop words, each once.

    >>> missing_words(["ice is a solid"], "Ice melts in the sun")
    ('melts', 'sun')
    """
    has = {stem for premise in premises for stem in stemmed_words(premise)}
    words = (word.strip(".,;:!?()\"'") for word in conclusion.split())
    return tuple(dict.fromkeys(w for w in words if any(stem not in has for stem in stemmed_words(w))))


def candidate_subsets(premises: Sequence[str], conclusion: str) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of premises to value, the largest first.

    Up to five premises these are all of two or more. Of more premises the one that the conclusion needs least
    is left out again and again.

    >>> list(candidate_subsets(["a", "b", "c"], "d"))
    [(0, 1, 2), (0, 1), (0, 2), (1, 2)]
    """
    positions = tuple(range(len(premises)))
    if len(positions) <= _EVERY_SUBSET:
        yield positions
        for size in range(len(positions) - 1, 1, -1):
            yield from combinations(positions, size)
        return
    yield positions
    while len(positions) > 2:
        smaller = [positions[:at] + positions[at + 1 :] for at in range(len(positions))]
        covered = [word_features([premises[i] for i in subset], conclusion) for subset in smaller]
        # The most covered, then the one with the least that is unlinked.
        positions = smaller[max(range(len(smaller)), key=lambda at: (covered[at][0], -covered[at][3]))]
        yield positions
