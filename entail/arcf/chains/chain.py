"""Search for a chain of premises (Cartuyvels et al. 2020, Algorithm 1).

Each step scores all visible premises after the prefix of question and chosen premises, and appends the best.
A search is greedy by default. A lazy one scores only candidates anew that can still win, a beam grows several
chains at once. Searches are generators of pairs to score, so that `grow_all` batches those of many questions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from entail.arcf.scoring.premises import Prompt
from entail.encoders.cross.pairs import Pair
from entail.errors import SettingsError
from entail.index.protocol import Floats
from entail.statistics.ranking import Values

Stopped = Literal["bare prefix", "length", "nothing visible"]

_RESCORED = 16
"""Candidates that a lazy step always scores anew, beside those that have just become visible."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """Settings of the search for chains.

    Attributes:
        length: L, the maximum number of premises.
        least: L_min, the premises of a chain before it may stop by itself.
        beam: Chains that grow at once; 1 is greedy.
        margin: Lazy: of the premises scored before, a step scores those anew whose last score is at most so
            much below the best one; None scores all anew.
        stop: Whether a chain ends when the bare prefix scores best; the scorer has to be trained for it.
        prune: Whether a premise is dropped at the end where the bare prefix of the others scores as high, the
            weakest first, down to `least`; the scorer has to be trained to stop. Not in the paper.

    Raises:
        SettingsError: If a value is out of range.
    """

    length: int = 9
    least: int = 3
    beam: int = 1
    margin: float | None = None
    stop: bool = True
    prune: bool = False

    def may_stop(self, facts: Sequence[int]) -> bool:
        """Return whether a chain of these premises may end by itself."""
        return self.stop and len(facts) >= self.least

    def __post_init__(self) -> None:
        if self.length < 1 or self.least < 0 or self.beam < 1:
            raise SettingsError(
                "expected length and beam of 1 or more and least of 0 or more, found "
                f"{self.length}, {self.beam}, {self.least}"
            )
        if self.margin is not None and not self.margin >= 0:
            raise SettingsError(f"margin: expected 0 or more, found {self.margin}")
        if self.margin is not None and self.beam > 1:
            raise SettingsError("expected margin or beam, found both; a beam scores every candidate")


@dataclass(frozen=True)
class ChainStep:
    """One step of a chain.

    Attributes:
        candidates: Positions of the premises scored at this step.
        scores: Their scores, same order.
        stop_score: Score of the bare prefix.
        chosen: The premise that was appended; None where the chain stopped.
        newly_visible: Premises that became visible at this step.
    """

    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    stop_score: float
    chosen: int | None
    newly_visible: tuple[int, ...]


@dataclass(frozen=True)
class Chain:
    """An explanation and the steps that built it.

    Attributes:
        facts: The chosen premises, in order.
        steps: The steps; the last may have chosen none.
        stopped: Reason for the end.
        scored: Every premise that was scored and not chosen -> its last score.
        dropped: Oldest premises that did not fit at the end; -1 where the question was truncated.
    """

    facts: tuple[int, ...]
    steps: tuple[ChainStep, ...]
    stopped: Stopped
    scored: dict[int, float] = field(repr=False)
    dropped: int = 0


Visible = Callable[[Sequence[int]], list[int]]
"""Chosen premises -> premises that can follow (vis_k)."""

Growth = Generator[Sequence[Pair], Floats, Chain]
"""Search in progress: yields pairs, takes their scores, returns a chain."""


def grow(prompt: Prompt, visible: Visible, search: Search) -> Growth:
    """Build the chain of one question (Algorithm 1).

    Raises:
        EvaluationError: If a score is not finite.
    """
    chain = yield from (_grow_beam if search.beam > 1 else _grow_greedy)(prompt, visible, search)
    return (yield from _prune(prompt, chain, search)) if search.prune and search.stop else chain


def _prune(prompt: Prompt, chain: Chain, search: Search) -> Growth:
    facts, scored = list(chain.facts), dict(chain.scored)
    while len(facts) > max(1, search.least):
        rests = [[*facts[:at], *facts[at + 1 :]] for at in range(len(facts))]
        prefixes = [prompt.prefix(rest) for rest in rests]
        scores = yield [
            pair
            for prefix, fact in zip(prefixes, facts, strict=True)
            for pair in ((prefix.ids, ()), *prompt.pairs(prefix, [fact]))
        ]
        pairs = [
            prompt.total(scores[2 * at : 2 * at + 2], rests[at], [fact]).tolist()
            for at, fact in enumerate(facts)
        ]
        weakest = min(range(len(facts)), key=lambda at: pairs[at][1] - pairs[at][0])
        bare, score = pairs[weakest]
        if score > bare:
            break
        scored[facts.pop(weakest)] = score
    return replace(chain, facts=tuple(facts), scored=scored)


def grow_all(
    growths: Sequence[Growth], score: Callable[[Sequence[Pair]], Floats], *, together: int = 1
) -> Iterator[Chain]:
    """Build chains, and yield each in order; pairs of `together` questions share a call of `score`.

    Raises:
        EvaluationError: If a score is not finite.
    """
    for at in range(0, len(growths), together):
        running = dict(enumerate(growths[at : at + together]))
        pending = {number: next(growth) for number, growth in running.items()}
        done: dict[int, Chain] = {}
        while pending:
            scores = score([pair for pairs in pending.values() for pair in pairs])
            start, following = 0, {}
            for number, pairs in pending.items():
                own = scores[start : start + len(pairs)]
                start += len(pairs)
                try:
                    following[number] = running[number].send(own)
                except StopIteration as end:
                    done[number] = end.value
            pending = following
        yield from (done[number] for number in sorted(done))


def _grow_greedy(prompt: Prompt, visible_after: Visible, search: Search) -> Growth:
    facts: list[int] = []
    steps: list[ChainStep] = []
    last: dict[int, float] = {}
    while True:
        visible, prefix = visible_after(facts), prompt.prefix(facts)
        newcomers = [fact for fact in visible if fact not in last]
        rest = sorted((fact for fact in visible if fact in last), key=lambda fact: -last[fact])
        count = len(rest) if search.margin is None else _RESCORED
        first, rest = [*newcomers, *rest[:count]], rest[count:]
        scores = yield [(prefix.ids, ()), *prompt.pairs(prefix, first)]
        stop_score, *totals = prompt.total(scores, facts, first).tolist()
        fresh = dict(zip(first, totals, strict=True))
        while rest and search.margin is not None:
            # Before L_min the best premise is wanted, however good the bare prefix is.
            best_scores = [*([stop_score] if search.may_stop(facts) else []), *fresh.values()]
            bar = max(best_scores) - search.margin
            further = [fact for fact in rest if last[fact] >= bar]
            if not further:
                break
            rest = [fact for fact in rest if last[fact] < bar]
            scores = yield prompt.pairs(prefix, further)
            fresh.update(zip(further, prompt.total(scores, facts, further).tolist(), strict=True))
        last.update(fresh)
        best = max(fresh, key=lambda fact: fresh[fact]) if fresh else None
        stops = best is not None and search.may_stop(facts) and stop_score >= fresh[best]
        choice = None if stops else best
        steps.append(ChainStep(tuple(fresh), tuple(fresh.values()), stop_score, choice, tuple(newcomers)))
        stopped: Stopped | None = "nothing visible" if best is None else "bare prefix" if stops else None
        if choice is not None:
            facts.append(choice)
            del last[choice]
            stopped = "length" if len(facts) == search.length else None
        if stopped is not None:
            return Chain(tuple(facts), tuple(steps), stopped, last, prefix.dropped)


@dataclass(frozen=True)
class _Hypothesis:
    """A chain of a beam, ranked by the sum of the log shares of its choices, the stop included."""

    facts: tuple[int, ...]
    total: float
    steps: tuple[ChainStep, ...] = ()
    scored: dict[int, float] = field(default_factory=dict)
    dropped: int = 0
    stopped: Stopped | None = None


def _grow_beam(prompt: Prompt, visible_after: Visible, search: Search) -> Growth:
    beam = [_Hypothesis((), 0.0)]
    while any(hypothesis.stopped is None for hypothesis in beam):
        growing = [
            (hypothesis, prompt.prefix(hypothesis.facts), visible_after(hypothesis.facts))
            for hypothesis in beam
            if hypothesis.stopped is None
        ]
        scores = yield [
            pair
            for _, prefix, visible in growing
            for pair in [(prefix.ids, ()), *prompt.pairs(prefix, visible)]
        ]
        following = [hypothesis for hypothesis in beam if hypothesis.stopped is not None]
        at = 0
        for hypothesis, prefix, visible in growing:
            own = scores[at : at + 1 + len(visible)].astype(np.float64)
            at += 1 + len(visible)
            totals = prompt.total(own, hypothesis.facts, visible)
            following += _expand(hypothesis, prefix.dropped, visible, totals, search)
        # Of equal sets in another order the better one stays.
        distinct: dict[tuple[frozenset[int], bool], _Hypothesis] = {}
        for hypothesis in sorted(following, key=lambda hypothesis: -hypothesis.total):
            distinct.setdefault((frozenset(hypothesis.facts), hypothesis.stopped is None), hypothesis)
        beam = list(distinct.values())[: search.beam]
    best = beam[0]
    assert best.stopped is not None
    return Chain(best.facts, best.steps, best.stopped, best.scored, best.dropped)


def _expand(
    origin: _Hypothesis, dropped: int, visible: Sequence[int], scores: Values, search: Search
) -> Iterator[_Hypothesis]:
    shares = scores - np.logaddexp.reduce(scores)
    own = dict(zip(visible, map(float, scores[1:]), strict=True))
    newcomers = tuple(fact for fact in visible if fact not in origin.scored)

    def steps(choice: int | None) -> tuple[ChainStep, ...]:
        return (
            *origin.steps,
            ChainStep(tuple(own), tuple(own.values()), float(scores[0]), choice, newcomers),
        )

    if not visible or search.may_stop(origin.facts):
        stopped: Stopped = "bare prefix" if visible else "nothing visible"
        total = origin.total + float(shares[0])
        yield _Hypothesis(origin.facts, total, steps(None), own, dropped, stopped)
    for at in np.argsort(-scores[1:], kind="stable")[: search.beam]:
        fact = visible[int(at)]
        facts = (*origin.facts, fact)
        left = {other: score for other, score in own.items() if other != fact}
        total = origin.total + float(shares[1 + int(at)])
        ended: Stopped | None = "length" if len(facts) == search.length else None
        yield _Hypothesis(facts, total, steps(fact), left, dropped, ended)
