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


def describe_provenance(
    act: AnyAct,
    evidence: Evidence,
    revisions: Mapping[str, str | None],
    *,
    display_name: Callable[[str], str] = str,
) -> str:
    """Return the provenance of a judging act: ranks, retriever, number shown, search words.

    `revisions` has those of the available retrievers by name, None for those without. With keyword match or a
    re-ranker the retriever's own name and revision come first.
    """
    retriever, own = display_name(evidence.retriever), evidence.retriever.partition("+")[0]
    if own not in revisions:
        retriever += f" ({evidence.revision}, removed since)"
    elif (now := revisions[own]) is not None and not f"{evidence.revision}+".startswith(f"{now}+"):
        retriever = f"an earlier {retriever} ({evidence.revision})"
    premises = act.premises if isinstance(act, Finish) else ()
    judged = {p.key for p in ((act.premise,) if isinstance(act, Accept | Reject) else premises)}
    candidates = sorted((c for c in evidence.shown if c.key in judged), key=lambda c: c.rank)
    searched = f", searched {quote(evidence.query)}" if evidence.own_words else ""
    count = f"{len(evidence.shown):,} shown{searched}"
    if not candidates:
        return f"{'not in' if judged else 'before'} a list of {retriever}, {count}"
    ranks = " to ".join(ordinal(rank) for rank in dict.fromkeys((candidates[0].rank, candidates[-1].rank)))
    if (proposal := evidence.proposal) is None:
        return f"ranked {ranks} by {retriever}, {count}"
    means = "in a chain" if proposal.means == "draft" else "to come next"
    after = f"after {count_of(len(proposal.after), 'premise')}" if proposal.after else "before any premise"
    retrieved = candidates[0].retrieved if len(candidates) == 1 else None
    position = "" if retrieved is None else f" (retrieved {ordinal(retrieved)})"
    return f"proposed {ranks} {means} by {retriever}, {after}{position}, {count}"
