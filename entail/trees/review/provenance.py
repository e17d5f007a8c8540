"""Provenance of judgements in words: retriever or scorer, rank, and whether it is still available."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from entail.trees.log.acts import Accept, AnyAct, Evidence, Finish, Reject, Shown
from entail.trees.log.wording import quote


def ordinal(number: int) -> str:
    """Return an ordinal number.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def retriever_in_words(
    evidence: Evidence, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return the retriever of the evidence, and whether it is still available.

    >>> then = Evidence(retriever="team-x-1", revision="team-x-1@aaa", corpus_version=1, query="q")
    >>> retriever_in_words(then, {"team-x-1": "team-x-1@aaa"})
    'team-x-1'
    >>> retriever_in_words(then, {"team-x-1": "team-x-1@bbb"})
    'an earlier team-x-1 (team-x-1@aaa)'
    >>> retriever_in_words(then, {})
    'team-x-1 (team-x-1@aaa, removed since)'

    Args:
        evidence: Evidence of the judgement.
        here: Name -> revision of the available retrievers; None for those without revisions.
        called: Function from a retriever's name to its display name.
    """
    name = called(evidence.retriever)
    if evidence.retriever not in here:
        return f"{name} ({evidence.revision}, removed since)"
    now = here[evidence.retriever]
    if now is not None and now != evidence.revision:
        return f"an earlier {name} ({evidence.revision})"
    return name


def ranked(
    evidence: Evidence, key: str, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return the rank of a premise at the time of its judgement, and the retriever."""
    who = retriever_in_words(evidence, here, called=called)
    shown = next((shown for shown in evidence.shown if shown.key == key), None)
    if shown is None:
        return f"not among the top {len(evidence.shown):,} of {who}"
    return f"{_verb(evidence)} {ordinal(shown.rank)}{_how(evidence)} by {who}{_after(evidence, shown)}"


def _verb(evidence: Evidence) -> str:
    return "ranked" if evidence.proposal is None else "proposed"


def _how(evidence: Evidence) -> str:
    if evidence.proposal is None:
        return ""
    return " in a chain" if evidence.proposal.means == "draft" else " to come next"


def _after(evidence: Evidence, shown: Shown | None = None) -> str:
    """Return the basis of a proposal, and its rank by retrieval alone."""
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
    """Return the provenance of a judging act: ranks, retriever, number shown, search words."""
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
