"""Halves of a team's decisions, for cross-validation: a training on one is measured on the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from entail.aeenc.source import TrainingData
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree


def decision_halves(data: TrainingData) -> tuple[tuple[TrainingData, TrainingData], ...]:
    """Return the decisions on either half of the sentences, with the other half as dev trees.

    Sentences stay together where one was accepted as a premise of the other, as in a tree. None are returned
    for gold trees, for data with dev trees, and for too few sentences to measure (`FEW`).
    """
    from entail.evaluation.retrieval.paired import FEW

    judgements = data.judgements
    if judgements is None or data.dev:
        return ()
    first: set[str] = set()
    second: set[str] = set()
    for group in _connected(judgements.accepted):
        (first if len(first) <= len(second) else second).update(group)
    halves = [(half, accepted_trees(data.original, judgements, half)) for half in (second, first)]
    if min(len(trees) for _, trees in halves) == 0 or sum(len(trees) for _, trees in halves) < FEW:
        return ()
    return tuple(
        (
            replace(data, judgements=_restrict(judgements, judgements.accepted.keys() - half)),
            replace(data, judgements=None, dev=trees),
        )
        for half, trees in halves
    )


def accepted_trees(
    corpus: Corpus, judgements: Judgements, sentences: Collection[str]
) -> tuple[ExplanationTree, ...]:
    """Return a tree of one step for each sentence: what was accepted below it and stands in the corpus."""
    trees = (
        ExplanationTree.of_premises(
            sentence,
            sentence,
            (
                corpus.texts[position]
                for premise in accepted
                if (position := corpus.position(premise)) is not None
            ),
        )
        for sentence, accepted in judgements.accepted.items()
        if sentence in sentences
    )
    return tuple(tree for tree in trees if tree.steps)


def _connected(accepted: Mapping[str, Mapping[str, None]]) -> list[set[str]]:
    """Return the sentences in groups, linked where one is a premise of the other, in order of first sight."""
    groups: dict[str, set[str]] = {}
    for sentence, premises in accepted.items():
        linked = [sentence, *(premise for premise in premises if premise in accepted)]
        group = set(linked).union(*(groups.get(member, ()) for member in linked))
        groups.update(dict.fromkeys(group, group))
    return list({id(group): group for group in groups.values()}.values())


def _restrict(judgements: Judgements, sentences: Collection[str]) -> Judgements:
    accepted, rejected = (
        {sentence: premises for sentence, premises in side.items() if sentence in sentences}
        for side in (judgements.accepted, judgements.rejected)
    )
    roots = tuple(root for root in judgements.roots if root in sentences)
    return replace(judgements, accepted=accepted, rejected=rejected, contradictions=(), roots=roots)
