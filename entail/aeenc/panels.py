"""Panels of Figure 3 of Bogatu et al. (2022), and tests of the paper's claims on them.

A panel has one value per pair, token overlap (a) or the cosine under one encoder (b, c, d ...), for the true
positives, false negatives and false positives of `entail.aeenc.bias`. `judge` tests these claims:

==========================  ====================  ============================================================
panel                       claim                 holds where
==========================  ====================  ============================================================
(a) token overlap           FP above FN           the interval of P(FP > FN) lies above 0.5
(b) pre-trained encoder     FP above FN           the same
(c) tuned on gold triplets  FP and FN overlap     their histograms share more than in (b): the interval of the
                                                  difference lies above 0
(d) Iterative AE-Enc        FP and FN balanced    the interval of Cliff's delta lies within +-0.147, which is
                                                  negligible in the scale of Romano et al. (2006)
==========================  ====================  ============================================================

If an interval lies on the other side, the claim does not hold; if it contains the limit, the claim is open.
Every encoder after the first is tested for both (c) and (d). All intervals are 95 % over queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from entail.statistics.paired import interval
from entail.statistics.ranking import Values
from entail.statistics.separation import Separation

NEGLIGIBLE = 0.147
"""Cliff's delta below which two groups count as balanced."""

_SIZES = ((NEGLIGIBLE, "negligible"), (0.33, "small"), (0.474, "medium"), (1.0, "large"))


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Summary of one group in one panel; all but the count are None for a group without pairs.

    The standard deviation is that of a population.
    """

    count: int
    mean: float | None
    sd: float | None
    quartiles: tuple[float, float, float] | None

    @classmethod
    def of(cls, values: Values) -> GroupSummary:
        """Return the summary of some values.

        >>> GroupSummary.of(np.array([0.0, 0.5, 1.0])).quartiles
        (0.25, 0.5, 0.75)
        """
        if not values.size:
            return cls(0, None, None, None)
        first, median, third = (float(value) for value in np.quantile(values, (0.25, 0.5, 0.75)))
        return cls(len(values), float(values.mean()), float(values.std()), (first, median, third))


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel by one rule for false positives.

    Attributes:
        letter: `a` for token overlap, `b` for the labelling encoder, `c` and so on for the others.
        measure: `token overlap` or `cosine`.
        retriever: Name of the encoder; None for token overlap.
        groups: `TP`, `FN`, `FP` -> summary.
        separation: FP against FN; None if one is empty.
    """

    letter: str
    measure: str
    retriever: str | None
    groups: Mapping[str, GroupSummary]
    separation: Separation | None

    @property
    def title(self) -> str:
        """Letter, measure and encoder."""
        return f"({self.letter}) {self.measure}" + (f", {self.retriever}" if self.retriever else "")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "panel": self.letter,
            "measure": self.measure,
            "retriever": self.retriever,
            "groups": {name: asdict(group) for name, group in self.groups.items()},
            "fp_against_fn": None if self.separation is None else self.separation.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a claim on a panel, with a sentence; `holds` is None if undecided or not measured."""

    panel: str
    claim: str
    holds: bool | None
    words: str


_ABOVE, _OVERLAP, _BALANCED = "FP above FN", "FP and FN overlap", "FP and FN balanced"
_WANTED = (("c", _OVERLAP, "gold triplets"), ("d", _BALANCED, "Iterative AE-Enc data"))


def judge(panels: Sequence[Panel]) -> tuple[Verdict, ...]:
    """Test the paper's claims on the panels of one rule: (a), (b) and any further ones."""
    verdicts = [_judge_above(panel) for panel in panels[:2]]
    for panel in panels[2:]:
        verdicts += [_judge_overlap(panel, panels[1]), _judge_balance(panel)]
    for letter, claim, encoder in _WANTED[max(0, len(panels) - 2) :]:
        words = f'({letter}): "{claim}" was not measured; give an encoder tuned on {encoder}.'
        verdicts.append(Verdict(letter, claim, None, words))
    return tuple(verdicts)


def _judge_above(panel: Panel) -> Verdict:
    if panel.separation is None:
        return _untested(panel, _ABOVE)
    low, high = panel.separation.auc_interval
    holds = True if low > 0.5 else False if high < 0.5 else None
    words = {
        True: "FP stand above FN",
        False: "FP stand below FN",
        None: "neither FP nor FN can be said to stand above",
    }[holds]
    delta = panel.separation.delta
    size = next(name for limit, name in _SIZES if abs(delta) <= limit)
    chance = f"P(FP > FN) = {panel.separation.auc:.3f} [{low:.3f}, {high:.3f}]"
    numbers = f"{chance}, Cliff's delta {delta:+.3f} ({size})"
    # The labels are this encoder's ranking, so only the comparison across queries is informative.
    note = "; within one query this encoder's labels make it so" if panel.letter == "b" else ""
    return _verdict(panel, _ABOVE, holds, f"{words}: {numbers}{note}")


def _judge_overlap(panel: Panel, before: Panel) -> Verdict:
    if panel.separation is None or before.separation is None:
        return _untested(panel, _OVERLAP)
    low, high = interval(panel.separation.shared_draws - before.separation.shared_draws)
    holds = True if low > 0 else False if high < 0 else None
    words = {
        True: f"FP and FN overlap more than in ({before.letter})",
        False: f"FP and FN overlap less than in ({before.letter})",
        None: f"FP and FN cannot be said to overlap more than in ({before.letter})",
    }[holds]
    numbers = (
        f"shared {panel.separation.shared:.3f} against {before.separation.shared:.3f}, "
        f"difference [{low:+.3f}, {high:+.3f}]"
    )
    return _verdict(panel, _OVERLAP, holds, f"{words}: {numbers}")


def _judge_balance(panel: Panel) -> Verdict:
    if panel.separation is None:
        return _untested(panel, _BALANCED)
    low, high = panel.separation.delta_interval
    inside, outside = low > -NEGLIGIBLE and high < NEGLIGIBLE, low > NEGLIGIBLE or high < -NEGLIGIBLE
    holds = True if inside else False if outside else None
    side = "above" if panel.separation.delta > 0 else "below"
    words = {
        True: "FP and FN are balanced",
        False: f"FP stand {side} FN",
        None: f"FP may stand {side} FN",
    }[holds]
    numbers = f"Cliff's delta {panel.separation.delta:+.3f} [{low:+.3f}, {high:+.3f}]"
    return _verdict(panel, _BALANCED, holds, f"{words}: {numbers}")


def _verdict(panel: Panel, claim: str, holds: bool | None, words: str) -> Verdict:
    outcome = {True: "holds", False: "does not hold", None: "is open"}[holds]
    return Verdict(panel.letter, claim, holds, f'{panel.title}: "{claim}" {outcome}. {words}.')


def _untested(panel: Panel, claim: str) -> Verdict:
    none = " or ".join(name for name in ("FP", "FN") if not panel.groups[name].count) or "FP or FN"
    words = f'{panel.title}: "{claim}" cannot be tested. There is no {none} here.'
    return Verdict(panel.letter, claim, None, words)
