"""Comparison of a chain with a known explanation."""

from __future__ import annotations

from dataclasses import dataclass

from entail.arcf.chains.chain import Chain
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables


@dataclass(frozen=True)
class GoldPremise:
    """A gold premise and its place in a chain.

    Attributes:
        position: Position in the tables.
        role: Role in the explanation.
        step: Step that chose it, from 1; None where it is not in the chain.
        visible: First step, from 1, at which it was visible; None if it never was.
    """

    position: int
    role: str
    step: int | None
    visible: int | None


@dataclass(frozen=True)
class GoldCoverage:
    """Coverage of a known explanation by a chain: its premises, those of the chain first.

    `missing` counts gold premises that are in no table.
    """

    rows: tuple[GoldPremise, ...]
    missing: int

    def __str__(self) -> str:
        count = sum(row.step is not None for row in self.rows)
        never = sum(row.visible is None for row in self.rows)
        parts = [f"{count} of {len(self.rows)} gold premises in the chain"]
        parts += [f"{never} never visible"] if never else []
        parts += [f"{self.missing} in no table"] if self.missing else []
        return ", ".join(parts)


def gold_roles(question: Question, facts: FactTables) -> dict[int, str]:
    """Return the roles of the gold premises in the tables, by position."""
    return {facts.positions[uid]: role for uid, role in question.gold.items() if uid in facts.positions}


def locate_gold(question: Question, facts: FactTables, chain: Chain) -> GoldCoverage | None:
    """Return the places of the gold premises in a chain; None if none is known."""
    roles = gold_roles(question, facts)
    if not roles:
        return None
    visible: dict[int, int] = {}
    for number, step in enumerate(chain.steps, start=1):
        for fact in step.candidates:
            visible.setdefault(fact, number)
    steps = {fact: number for number, fact in enumerate(chain.facts, start=1)}
    rows = [GoldPremise(fact, role, steps.get(fact), visible.get(fact)) for fact, role in roles.items()]
    never = len(chain.steps) + 1
    rows.sort(key=lambda row: (row.step or never, row.visible or never, row.position))
    return GoldCoverage(tuple(rows), len(question.gold) - len(roles))
