"""Algorithm 1: a chain of facts, each chosen after all that are visible were scored behind the ones before.

Greedy by default; *lazy*, only candidates that could still win are scored anew at a step; by beam, several
chains grow at once. A search is a generator that asks for the scores of pairs, so that those of many
questions are computed together (`grow_all`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from entail.arcf.scoring.inputs import Prefix
from entail.arcf.scoring.scorer import whole_scores
from entail.encoders.cross.encoder import PairScorer
from entail.encoders.cross.pairs import Ids, Pair
from entail.errors import SettingsError
from entail.index.protocol import Floats, Ints
from entail.statistics.ranking import Values

Stopped = Literal["bare prefix", "length", "nothing visible"]

_FIRST = 16
"""Candidates that a lazy step scores anew in any case, beside those that have just become visible."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """Settings of the search for chains.

    Attributes:
        length: L, facts of a chain at most.
        least: Facts that a chain has before it may stop by itself.
        beam: Chains that grow at once; 1 is greedy.
        margin: Lazy: at a step, of the facts scored before, only those are scored anew whose last score is
            at most so much below the best one; None scores all anew.
        stop: Whether a chain may end since the bare prefix scores best; a scorer has to have learnt it.

    Raises:
        SettingsError: If a value cannot be.
    """

    length: int = 9
    least: int = 3
    beam: int = 1
    margin: float | None = None
    stop: bool = True

    def may_stop(self, facts: Sequence[int]) -> bool:
        """Whether a chain of these facts may end by itself."""
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
        candidates: Positions of the facts scored at this step.
        scores: Their scores, same order.
        bare: Score of the bare prefix.
        chosen: The fact that was appended; None where it stopped.
        joined: Facts that became visible at this step.
    """

    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    bare: float
    chosen: int | None
    joined: tuple[int, ...]


@dataclass(frozen=True)
class Chain:
    """An explanation as it was built.

    Attributes:
        facts: The chosen facts, in order.
        steps: How each was chosen; the last may have chosen none.
        stopped: Why it ended.
        scored: Every fact that was scored and not chosen -> its last score.
        dropped: Facts, the oldest, that did not fit at the end; -1 where the question was cut.
    """

    facts: tuple[int, ...]
    steps: tuple[ChainStep, ...]
    stopped: Stopped
    scored: dict[int, float] = field(repr=False)
    dropped: int = 0


class Sees(Protocol):
    """Visible premises, as `Neighbourhoods` has them."""

    def visible(self, near_question: Ints, chosen: Sequence[int], /) -> list[int]:
        """Return the positions of facts that may be chosen next."""
        ...


class Reads(Protocol):
    """Prefixes and candidates as tokens, as `Inputs` has them."""

    @property
    def candidates(self) -> Sequence[Ids]:
        """The facts."""
        ...

    def prefix(self, question: Ids, chosen: Sequence[int], /) -> Prefix:
        """Return question and chosen facts, as they are read."""
        ...


PremisePriors = Callable[[Sequence[int], Sequence[int]], Floats]
"""Positions of chosen facts and of candidates -> what is added to the candidates' scores, (candidates,)."""

Growth = Generator[Sequence[Pair], Floats, Chain]
"""Asks for scores of pairs, and ends with a chain."""


def grow(
    question: Ids,
    near: Ints,
    inputs: Reads,
    neighbourhoods: Sees,
    how: Search,
    *,
    name: str,
    evidence: PremisePriors | None = None,
) -> Growth:
    """Build the chain of one question (Algorithm 1).

    Args:
        question: Its tokens, see `Inputs.questions`.
        near: The facts nearest to it.
        inputs: Facts as tokens.
        neighbourhoods: What becomes visible.
        how: Greedy, lazy or by beam.
        name: What messages call the question.
        evidence: What is known of facts without reading them, which is added to their scores.

    Raises:
        EvaluationError: If a score is not a number.
    """
    search = _beam if how.beam > 1 else _greedy
    return search(question, near, inputs, neighbourhoods, how, evidence or _nothing, name)


def _nothing(chosen: Sequence[int], candidates: Sequence[int]) -> Floats:
    return np.zeros(len(candidates), dtype=np.float32)


def grow_all(growths: Sequence[Growth], scorer: PairScorer, *, together: int = 1) -> Iterator[Chain]:
    """Build chains, and yield them in order as they are done.

    Args:
        growths: One a question.
        scorer: What scores.
        together: Questions whose pairs are scored in the same batches.

    Raises:
        EvaluationError: If a score is not a number.
    """
    for at in range(0, len(growths), together):
        running = dict(enumerate(growths[at : at + together]))
        asked = {number: next(growth) for number, growth in running.items()}
        done: dict[int, Chain] = {}
        while asked:
            scores = scorer.score([pair for pairs in asked.values() for pair in pairs])
            start, following = 0, {}
            for number, pairs in asked.items():
                own = scores[start : start + len(pairs)]
                start += len(pairs)
                try:
                    following[number] = running[number].send(own)
                except StopIteration as end:
                    done[number] = end.value
            asked = following
        yield from (done[number] for number in sorted(done))


def _greedy(
    question: Ids,
    near: Ints,
    inputs: Reads,
    neighbourhoods: Sees,
    how: Search,
    evidence: PremisePriors,
    name: str,
) -> Growth:
    facts: list[int] = []
    steps: list[ChainStep] = []
    last: dict[int, float] = {}
    dropped = 0
    while True:
        visible = neighbourhoods.visible(near, facts)
        prefix = inputs.prefix(question, facts)
        dropped = prefix.dropped
        joined = [fact for fact in visible if fact not in last]
        known = sorted((fact for fact in visible if fact in last), key=lambda fact: -last[fact])
        first = known if how.margin is None else known[:_FIRST]
        asked = [*joined, *first]
        told = yield [(prefix.ids, ()), *((prefix.ids, inputs.candidates[fact]) for fact in asked)]
        bare, *scores = map(float, whole_scores(told, evidence(facts, asked), of=name))
        fresh = dict(zip(asked, scores, strict=True))
        rest = known[len(first) :]
        while rest and how.margin is not None:
            # Where it may not stop yet, the best fact is wanted, however good the bare prefix is.
            bar = max([*([bare] if how.may_stop(facts) else []), *fresh.values()]) - how.margin
            further = [fact for fact in rest if last[fact] >= bar]
            if not further:
                break
            rest = [fact for fact in rest if last[fact] < bar]
            told = yield [(prefix.ids, inputs.candidates[fact]) for fact in further]
            scores = [float(one) for one in whole_scores(told, evidence(facts, further), of=name)]
            fresh.update(zip(further, scores, strict=True))
        last.update(fresh)
        best = max(fresh, key=lambda fact: fresh[fact]) if fresh else None
        stops = best is not None and how.may_stop(facts) and bare >= fresh[best]
        chosen = None if stops else best
        steps.append(ChainStep(tuple(fresh), tuple(fresh.values()), bare, chosen, tuple(joined)))
        why: Stopped | None = "nothing visible" if best is None else "bare prefix" if stops else None
        if chosen is not None:
            facts.append(chosen)
            del last[chosen]
            why = "length" if len(facts) == how.length else None
        if why is not None:
            return Chain(tuple(facts), tuple(steps), why, last, dropped)


@dataclass(frozen=True)
class _Hypothesis:
    """One of several chains; the sum of log shares of what was chosen, stopping among it, ranks them."""

    facts: tuple[int, ...]
    total: float
    steps: tuple[ChainStep, ...] = ()
    scored: dict[int, float] = field(default_factory=dict)
    dropped: int = 0
    stopped: Stopped | None = None


def _beam(
    question: Ids,
    near: Ints,
    inputs: Reads,
    neighbourhoods: Sees,
    how: Search,
    evidence: PremisePriors,
    name: str,
) -> Growth:
    beam = [_Hypothesis((), 0.0)]
    while any(one.stopped is None for one in beam):
        growing = [one for one in beam if one.stopped is None]
        prefixes = [inputs.prefix(question, one.facts) for one in growing]
        visible = [neighbourhoods.visible(near, one.facts) for one in growing]
        told = yield [
            (prefix.ids, candidate)
            for prefix, some in zip(prefixes, visible, strict=True)
            for candidate in [(), *(inputs.candidates[fact] for fact in some)]
        ]
        following = [one for one in beam if one.stopped is not None]
        at = 0
        for one, prefix, some in zip(growing, prefixes, visible, strict=True):
            own = told[at : at + 1 + len(some)].astype(np.float64)
            scores = whole_scores(own, evidence(one.facts, some), of=name)
            at += 1 + len(some)
            following += _grown(one, prefix.dropped, some, scores, how)
        # Of equal sets in another order the better one is kept.
        distinct: dict[tuple[frozenset[int], bool], _Hypothesis] = {}
        for one in sorted(following, key=lambda one: -one.total):
            distinct.setdefault((frozenset(one.facts), one.stopped is None), one)
        beam = list(distinct.values())[: how.beam]
    best = beam[0]
    assert best.stopped is not None
    return Chain(best.facts, best.steps, best.stopped, best.scored, best.dropped)


def _grown(
    one: _Hypothesis, dropped: int, visible: Sequence[int], scores: Values, how: Search
) -> list[_Hypothesis]:
    shares = scores - np.logaddexp.reduce(scores)
    bare, own = float(scores[0]), dict(zip(visible, map(float, scores[1:]), strict=True))
    joined = tuple(fact for fact in visible if fact not in one.scored)

    def step(chosen: int | None) -> ChainStep:
        return ChainStep(tuple(own), tuple(own.values()), bare, chosen, joined)

    found = []
    if not visible or how.may_stop(one.facts):
        why: Stopped = "bare prefix" if visible else "nothing visible"
        total = one.total + float(shares[0])
        found.append(_Hypothesis(one.facts, total, (*one.steps, step(None)), own, dropped, why))
    order = np.argsort(-scores[1:], kind="stable")[: how.beam]
    for at in order:
        fact = visible[int(at)]
        facts = (*one.facts, fact)
        left = {other: score for other, score in own.items() if other != fact}
        total = one.total + float(shares[1 + int(at)])
        ended: Stopped | None = "length" if len(facts) == how.length else None
        found.append(_Hypothesis(facts, total, (*one.steps, step(fact)), left, dropped, ended))
    return found
