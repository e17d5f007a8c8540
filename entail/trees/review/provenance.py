"""Provenance of judgements as text: retriever or scorer, rank, and whether it is still available."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from entail.data.text import count_of, quote
from entail.trees.log.acts import Accept, AnyAct, Evidence, Finish, Reject


def ordinal(number: int) -> str:
    """Return an ordinal number.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '113th']
    """
    teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def describe_retriever(
    evidence: Evidence, revisions: Mapping[str, str | None], *, display_name: Callable[[str], str] = str
) -> str:
    """Return the retriever of the evidence, and whether it is still available.

    `revisions` has those of the available retrievers by name, None for those without. With keyword match or a
    re-ranker the retriever's own name and revision come first.

    >>> evidence = Evidence(retriever="x+bm25", revision="x@aaa+0.2*bm25/best", corpus_version=1, query="q")
    >>> [describe_retriever(evidence, revisions) for revisions in ({"x": "x@aaa"}, {})]
    ['x+bm25', 'x+bm25 (x@aaa+0.2*bm25/best, removed since)']
    """
    name, own = display_name(evidence.retriever), evidence.retriever.partition("+")[0]
    if own not in revisions:
        return f"{name} ({evidence.revision}, removed since)"
    now = revisions[own]
    if now is None or f"{evidence.revision}+".startswith(f"{now}+"):
        return name
    return f"an earlier {name} ({evidence.revision})"


def describe_rank(evidence: Evidence, key: str, retriever: str) -> str:
    """Return the rank of a premise at the time of its judgement, by a retriever from `describe_retriever`."""
    candidate = next((candidate for candidate in evidence.shown if candidate.key == key), None)
    if candidate is None:
        return f"not among the top {len(evidence.shown):,} of {retriever}"
    retrieved = "" if candidate.retrieved is None else f" (retrieved {ordinal(candidate.retrieved)})"
    return _describe_ranks(evidence, ordinal(candidate.rank), retriever) + retrieved


def _describe_ranks(evidence: Evidence, ranks: str, retriever: str) -> str:
    proposal = evidence.proposal
    if proposal is None:
        return f"ranked {ranks} by {retriever}"
    means = "in a chain" if proposal.means == "draft" else "to come next"
    after = f"after {count_of(len(proposal.after), 'premise')}" if proposal.after else "before any premise"
    return f"proposed {ranks} {means} by {retriever}, {after}"


def describe_provenance(act: AnyAct, evidence: Evidence, retriever: str) -> str:
    """Return the provenance of a judging act: ranks, retriever, number shown, search words."""
    words = f"before a list of {retriever}"
    match act:
        case Accept(premise=premise) | Reject(premise=premise):
            words = describe_rank(evidence, premise.key, retriever)
        case Finish(premises=premises):
            keys = {premise.key for premise in premises}
            if ranks := sorted(candidate.rank for candidate in evidence.shown if candidate.key in keys):
                ends = " to ".join(map(ordinal, dict.fromkeys((ranks[0], ranks[-1]))))
                words = _describe_ranks(evidence, ends, retriever)
    searched = f", searched {quote(evidence.query)}" if evidence.own_words else ""
    return f"{words}, {len(evidence.shown):,} shown{searched}"
