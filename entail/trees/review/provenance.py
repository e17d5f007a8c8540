"""Provenance of judgements in words: retriever or scorer, rank, and whether it is still available."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from entail.trees.log.acts import Accept, AnyAct, Evidence, Finish, Reject
from entail.trees.log.wording import count_of, quote


def ordinal(number: int) -> str:
    """Return an ordinal number.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def describe_retriever(
    evidence: Evidence, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return the retriever of the evidence, and whether it is still available.

    >>> then = Evidence(retriever="team-x-1", revision="team-x-1@aaa", corpus_version=1, query="q")
    >>> describe_retriever(then, {"team-x-1": "team-x-1@aaa"})
    'team-x-1'
    >>> describe_retriever(then, {"team-x-1": "team-x-1@bbb"})
    'an earlier team-x-1 (team-x-1@aaa)'
    >>> describe_retriever(then, {})
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


def describe_rank(
    evidence: Evidence, key: str, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return the rank of a premise at the time of its judgement, and the retriever."""
    who = describe_retriever(evidence, here, called=called)
    shown = next((shown for shown in evidence.shown if shown.key == key), None)
    if shown is None:
        return f"not among the top {len(evidence.shown):,} of {who}"
    retrieved = "" if shown.retrieved is None else f" (retrieved {ordinal(shown.retrieved)})"
    return _rank_in_words(evidence, ordinal(shown.rank), who) + retrieved


def _rank_in_words(evidence: Evidence, ranks: str, who: str) -> str:
    proposal = evidence.proposal
    if proposal is None:
        return f"ranked {ranks} by {who}"
    means = "in a chain" if proposal.means == "draft" else "to come next"
    after = f"after {count_of(len(proposal.after), 'premise')}" if proposal.after else "before any premise"
    return f"proposed {ranks} {means} by {who}, {after}"


def describe_provenance(
    act: AnyAct, evidence: Evidence, here: Mapping[str, str | None], *, called: Callable[[str], str] = str
) -> str:
    """Return the provenance of a judging act: ranks, retriever, number shown, search words."""
    match act:
        case Accept(premise=premise) | Reject(premise=premise):
            words = describe_rank(evidence, premise.key, here, called=called)
        case Finish(premises=premises):
            words = _finished(evidence, {p.key for p in premises}, here, called=called)
        case _:
            words = f"before a list of {describe_retriever(evidence, here, called=called)}"
    searched = f", searched {quote(evidence.query)}" if evidence.own_words else ""
    return f"{words}, {len(evidence.shown):,} shown{searched}"


def _finished(
    evidence: Evidence, keys: set[str], here: Mapping[str, str | None], *, called: Callable[[str], str]
) -> str:
    ranks = sorted(shown.rank for shown in evidence.shown if shown.key in keys)
    who = describe_retriever(evidence, here, called=called)
    if not ranks:
        return f"before a list of {who}"
    return _rank_in_words(evidence, " to ".join(map(ordinal, dict.fromkeys((ranks[0], ranks[-1])))), who)
