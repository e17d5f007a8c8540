"""Entailment in a step of a tree: its premises, joined, and its conclusion, read together by a judge."""

from __future__ import annotations

from collections.abc import Sequence

from entail.data.text import fold
from entail.judge.judges import NliJudge
from entail.statistics.classification import Values


def judge_steps(judge: NliJudge, steps: Sequence[tuple[Sequence[str], str]]) -> Values:
    """Return P(joined premises entail the conclusion) of each step, shape (steps,).

    The reverse is not asked for: most conclusions say what their premises say, and are taken to entail them.
    """
    return judge.entailment(
        [join_premises(premises) for premises, _ in steps], [conclusion for _, conclusion in steps]
    )


def join_premises(premises: Sequence[str]) -> str:
    """Return premises as one sentence.

    >>> join_premises(["ice is cold. ", "snow is a kind of ice"])
    'ice is cold and snow is a kind of ice'
    """
    return " and ".join(text for text in (fold(premise).rstrip(" .;") for premise in premises) if text)
