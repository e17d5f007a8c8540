"""What ranked or proposed a premise when it was judged, in words; also what is gone, or another one now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from entail.trees.acts import Accept, AnyAct, Evidence, Finish, Reject, Shown
from entail.trees.wording import quote


def ordinal(number: int) -> str:
    """Return a place in words.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def retriever_in_words(
    evidence: Evidence, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return who ranked, and whether that is still to be had.

    >>> then = Evidence(retriever="team-x-1", revision="team-x-1@aaa", corpus_version=1, query="q")
    >>> retriever_in_words(then, {"team-x-1": "team-x-1@aaa"})
    'team-x-1'
    >>> retriever_in_words(then, {"team-x-1": "team-x-1@bbb"})
    'an earlier team-x-1 (team-x-1@aaa)'
    >>> retriever_in_words(then, {})
    'team-x-1 (team-x-1@aaa), which is no longer here'

    Args:
        evidence: What was recorded with the judgement.
        here: Name -> revision of the retrievers that are here now; None where one name is one thing.
        called: How a person calls a retriever.
    """
    name = called(evidence.retriever)
    if evidence.retriever not in here:
        return f"{name} ({evidence.revision}), which is no longer here"
    now = here[evidence.retriever]
    if now is not None and now != evidence.revision:
        return f"an earlier {name} ({evidence.revision})"
    return name


def ranked(
    evidence: Evidence, key: str, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return at which place a premise stood when it was judged, and by whom it was put there."""
    who = retriever_in_words(evidence, here, called=called)
    shown = next((shown for shown in evidence.shown if shown.key == key), None)
    if shown is None:
        return f"not among the {len(evidence.shown):,} that {who} {_verb(evidence)} first"
    return f"{_verb(evidence)} {ordinal(shown.rank)}{_how(evidence)} by {who}{_after(evidence, shown)}"


def _verb(evidence: Evidence) -> str:
    return "ranked" if evidence.proposal is None else "proposed"


def _how(evidence: Evidence) -> str:
    if evidence.proposal is None:
        return ""
    return " in a chain" if evidence.proposal.means == "draft" else " to come next"


def _after(evidence: Evidence, shown: Shown | None = None) -> str:
    """Say in the light of what something was proposed, and where retrieval alone had it."""
    if evidence.proposal is None:
        return ""
    count = len(evidence.proposal.after)
    after = "before any premise" if not count else f"after {count} premise{'s' if count > 1 else ''}"
    if shown is None or shown.retrieved is None:
        return f", {after}"
    return f", {after} (retrieved {ordinal(shown.retrieved)})"


def grounds(
    act: AnyAct, evidence: Evidence, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return what an act of judgement rests on: ranks, retriever, how many were shown, words searched for."""
    match act:
        case Accept(premise=premise) | Reject(premise=premise):
            words = ranked(evidence, premise.key, here, called=called)
        case Finish(premises=premises):
            words = _finished(evidence, {p.key for p in premises}, here, called=called)
        case _:
            words = f"before a list of {retriever_in_words(evidence, here, called=called)}"
    searched = f", searched {quote(evidence.query)}" if evidence.own_words else ""
    return f"{words}, {len(evidence.shown):,} shown{searched}"


def _finished(
    evidence: Evidence, keys: set[str], here: Mapping[str, str | None], *, called: Callable[[str], str]
) -> str:
    ranks = sorted(shown.rank for shown in evidence.shown if shown.key in keys)
    who = retriever_in_words(evidence, here, called=called)
    if not ranks:
        return f"before a list of {who}"
    places = ordinal(ranks[0]) + (f" to {ordinal(ranks[-1])}" if len(ranks) > 1 else "")
    return f"{_verb(evidence)} {places}{_how(evidence)} by {who}{_after(evidence)}"
