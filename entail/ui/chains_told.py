"""What is said of a chain: why it ended, roles and gold, where gold facts stand. No Streamlit here."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.inputs import most_dropped
from entail.arcf.stepwise import Step, Walk
from entail.data.worldtree import CENTRAL, GROUNDING, LEXICAL_GLUE, Question
from entail.data.worldtree_tables import FactTables
from entail.evaluation.chains import ap
from entail.index.protocol import Ints

_ROLES = {CENTRAL: "central", GROUNDING: "grounding", LEXICAL_GLUE: "lexical glue"}

STYLE = """
<style>
  .chain-role { display: inline-block; padding: 0 .45em; border: 1px solid var(--role); border-radius: 1em;
      background: color-mix(in srgb, var(--role) 20%, transparent); font-size: .8rem; white-space: nowrap; }
  .chain-central { --role: #d55e00; } .chain-grounding { --role: #0072b2; border-style: dashed; }
  .chain-gold { width: 100%; border-collapse: collapse; }
  .chain-gold th { text-align: left; font-weight: 600; font-size: .86rem; vertical-align: bottom; }
  .chain-gold th, .chain-gold td { padding: .3rem .6rem .3rem 0; overflow-wrap: anywhere;
      border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
  .chain-gold td + td, .chain-gold th + th { text-align: right; width: clamp(3.4rem, 14%, 6rem);
      font-variant-numeric: tabular-nums; overflow-wrap: normal; }
  .chain-glue { --role: #009e73; border-style: dotted; border-width: 2px; } .chain-other { --role: #888; }
</style>
"""
"""A role is told by its word and its outline, too: colour alone never carries meaning."""

_CLASSES = {CENTRAL: "central", GROUNDING: "grounding", LEXICAL_GLUE: "glue"}


def role_word(role: str) -> str:
    """Return a role in words."""
    return _ROLES.get(role, role.lower())


def role_badge(role: str) -> str:
    """Return a gold fact's role as HTML.

    >>> role_badge("LEXGLUE")
    '<span class="chain-role chain-glue">★ lexical glue</span>'
    """
    kind = _CLASSES.get(role, "other")
    return f'<span class="chain-role chain-{kind}">★ {html.escape(role_word(role))}</span>'


def roles_of(question: Question, facts: FactTables) -> dict[int, str]:
    """Return the gold facts that are in the tables: position -> role."""
    return {facts.positions[uid]: role for uid, role in question.gold.items() if uid in facts.positions}


def why_it_ended(walk: Walk, *, length: int, words: bool) -> str:
    """Say why a chain ended; empty where it waits.

    Args:
        walk: The chain.
        length: Facts that it may have.
        words: Whether it was built by shared words.
    """
    if walk.stopped == "length":
        told = f"It ended at {length} facts, as many as it may have."
        if words:
            told += " Shared words cannot tell when an explanation is whole."
        elif walk.steps and walk.steps[-1].bare is None:
            told += " This scorer never learnt when an explanation is whole."
        return told
    if walk.stopped == "nothing visible":
        return "It ended since no other fact is visible: none is among the nearest of what was chosen."
    if walk.stopped == "bare prefix":
        last = walk.steps[-1]
        assert last.bare is not None
        return (
            f"It stopped by itself: the explanation as it is scores {last.bare:.3f}, the best fact that is "
            f"left {last.scores[0]:.3f}."
        )
    return ""


def grew(step: Step) -> str:
    """Say what a step had to choose from.

    >>> grew(Step((3,), (1, 2), (0.5, 0.2), None, frozenset({2})))
    '2 visible facts, 1 of them joined'
    """
    count = len(step.candidates)
    facts = "1 visible fact" if count == 1 else f"{count:,} visible facts"
    return facts if not step.chosen else f"{facts}, {len(step.joined):,} of them joined"


def unread(walk: Walk) -> str:
    """Say what the scorer could not read of question and chain; empty where it read everything."""
    dropped = most_dropped(step.dropped for step in walk.steps)
    told = []
    if dropped < 0:
        told.append("The question is longer than the scorer reads: its beginning was left out.")
    elif dropped:
        told.append(
            f"The explanation grew longer than the scorer reads: of its facts the {dropped} oldest "
            f"{'was' if dropped == 1 else 'were'} left out."
        )
    if cut := len(walk.cut):
        facts = "1 fact is" if cut == 1 else f"{cut:,} facts are"
        told.append(
            f"{facts} longer than half of what the scorer reads: the end was left out, and question and "
            "chain have the other half."
        )
    return " ".join(told)


@dataclass(frozen=True)
class GoldRow:
    """Where one gold fact stands.

    Attributes:
        fact: Its position.
        role: Its role.
        place: In the chain, from 1; None where it is not in it.
        rank: In the ranking of all facts, from 1.
        seen: The first step, from 1, at which it was visible; None where it never was.
    """

    fact: int
    role: str
    place: int | None
    rank: int
    seen: int | None


@dataclass(frozen=True)
class GoldFound:
    """What a chain found of a known explanation.

    Attributes:
        rows: The gold facts, those chosen first, in order of their ranks.
        precision: Average precision of the ranking; 0 where a gold fact is in no table, as it is scored.
        missing: Gold facts that are in no table.
    """

    rows: tuple[GoldRow, ...]
    precision: float
    missing: int

    def __str__(self) -> str:
        chosen = sum(row.place is not None for row in self.rows)
        never = sum(row.seen is None for row in self.rows)
        parts = [f"{chosen} of {len(self.rows)} gold facts are in the chain"]
        if never:
            parts.append(f"{never} {'was' if never == 1 else 'were'} never visible")
        if self.missing:
            parts.append(f"{self.missing} more in no table")
        return ", ".join(parts)


def gold_found(question: Question, facts: FactTables, walk: Walk, ranking: Ints) -> GoldFound | None:
    """Return where the gold facts stand; None where none is known."""
    roles = roles_of(question, facts)
    if not roles:
        return None
    ranks = np.empty(len(facts), dtype=np.int64)
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    seen: dict[int, int] = {}
    for number, step in enumerate(walk.steps, start=1):
        for fact in step.candidates:
            seen.setdefault(fact, number)
    places = {fact: number for number, fact in enumerate(walk.facts, start=1)}
    rows = sorted(
        (
            GoldRow(fact, role, places.get(fact), int(ranks[fact]), seen.get(fact))
            for fact, role in roles.items()
        ),
        key=lambda row: row.rank,
    )
    return GoldFound(tuple(rows), precision_of(question, facts, ranking), len(question.gold) - len(roles))


def gold_table(found: GoldFound, facts: FactTables) -> str:
    """Return the gold facts as an HTML table: where each stands, from which step on it was visible."""
    rows = "".join(
        f"<tr><td>{html.escape(facts.texts[row.fact])} {role_badge(row.role)}</td>"
        f"<td>{'no' if row.place is None else row.place}</td><td>{row.rank:,}</td>"
        f"<td>{'never' if row.seen is None else row.seen}</td></tr>"
        for row in found.rows
    )
    heads = ("Gold fact", "In the chain", "Rank", "Visible from step")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<table class="chain-gold"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def precision_of(question: Question, facts: FactTables, ranking: Ints) -> float:
    """Return the average precision of a ranking of all facts, as the shared task scores it."""
    positions = [facts.positions.get(uid) for uid in question.gold]
    if not positions or None in positions:
        return 0.0
    ranks = np.empty(len(facts))
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    return ap(np.array([ranks[position] for position in positions]))


def shown(step: Step, roles: Mapping[int, str], which: str) -> list[tuple[int, int]]:
    """Return (place, fact) of a step's candidates, best first, place from 1.

    Args:
        step: The step.
        roles: The gold facts.
        which: `all`, `joined` (those that the last chosen fact made visible), or `gold`.
    """
    kept = {"joined": step.joined, "gold": frozenset(roles)}.get(which)
    rows = enumerate(step.candidates, start=1)
    return [(place, fact) for place, fact in rows if kept is None or fact in kept]


def standing(
    rankings: Mapping[str, Ints], *, first: int, gold: Sequence[int] = ()
) -> list[tuple[int, dict[str, int]]]:
    """Return facts with their ranks, from 1, in each of several rankings of all facts.

    They are those among the first of any ranking, and gold ones; by their best rank, then by position.
    """
    ranks: dict[str, dict[int, int]] = {
        name: {int(fact): rank for rank, fact in enumerate(ranking, start=1)}
        for name, ranking in rankings.items()
    }
    kept = dict.fromkeys([*gold, *(int(fact) for ranking in rankings.values() for fact in ranking[:first])])
    rows = [(fact, {name: of[fact] for name, of in ranks.items()}) for fact in kept]
    return sorted(rows, key=lambda row: (min(row[1].values()), row[0]))
