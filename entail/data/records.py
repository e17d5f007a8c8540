"""Frozen records of premises, corpora and explanation trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from entail.data.text import corpus_hash, fold, premise_key
from entail.errors import CorpusError

HYPOTHESIS = "hypothesis"
"""Id of the root in a proof."""


@dataclass(frozen=True, slots=True)
class Premise:
    """Fact of a file, with its id there (a WorldTree uid, a CSV column); look it up by `key`.

    `extra` has the further columns of its row, as (name, value).
    """

    text: str
    source_id: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Identity across files and installations, see `premise_key`."""
        return premise_key(self.text)

    @property
    def folded(self) -> str:
        """Normalised text for look-up, see `fold`."""
        return fold(self.text)


@dataclass(frozen=True)
class Corpus:
    """Candidate premises in a fixed order, no two with the same key (`CorpusError`).

    Position i of every score array and index made from a corpus is `premises[i]`.
    """

    name: str
    premises: tuple[Premise, ...]

    def __post_init__(self) -> None:
        if len(self.positions) != len(self.premises):
            raise CorpusError(
                f"corpus {self.name!r} holds {len(self.premises)} premises but only {len(self.positions)} "
                "distinct ones; build it with Corpus.of, which drops repeats"
            )

    @classmethod
    def of(cls, name: str, texts: Iterable[str | Premise]) -> Corpus:
        """Return a corpus of the distinct texts, the first of each, in order.

        >>> Corpus.of("tiny", ["ice is cold", "ice  is cold", "fire is hot"]).texts
        ('ice is cold', 'fire is hot')
        """
        distinct: dict[str, Premise] = {}
        for text in texts:
            premise = text if isinstance(text, Premise) else Premise(text)
            distinct.setdefault(premise.key, premise)
        return cls(name, tuple(distinct.values()))

    def __len__(self) -> int:
        return len(self.premises)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The premises' texts, in order."""
        return tuple(premise.text for premise in self.premises)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The premises' keys, in order."""
        return tuple(premise.key for premise in self.premises)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Key -> position."""
        return MappingProxyType({premise.key: i for i, premise in enumerate(self.premises)})

    @cached_property
    def hash(self) -> str:
        """Hash of the premises in order, to which an index is bound."""
        return corpus_hash(self.keys)

    @cached_property
    def _folded_positions(self) -> Mapping[str, int]:
        return {premise.folded: i for i, premise in enumerate(self.premises)}

    def position(self, text: str) -> int | None:
        """Return the position of a text, looked up by `fold`, or None if it is absent."""
        # By the key first: a corpus of an earlier version may have a text composed and decomposed.
        at = self.positions.get(premise_key(text))
        return self._folded_positions.get(fold(text)) if at is None else at


@dataclass(frozen=True, slots=True)
class Step:
    """One inference of a proof: premises -> conclusion, by sentence ids (`sent3`, `int1`, `hypothesis`)."""

    premises: tuple[str, ...]
    conclusion: str


@dataclass(frozen=True)
class ExplanationTree:
    """One row of EntailmentBank: a hypothesis and the proof that explains it.

    A few official proofs use a sentence in more than one step, so this is a directed acyclic graph;
    `entail.trees` unfolds it into a tree of nodes.

    Attributes:
        id: The row's id. Ids repeat in the official files: join by row.
        sentences: `sentN` -> text, in the order of the file, unused ones (distractors) included.
        intermediates: `intN` -> text, in order of the steps.
        steps: The proof, in the order of the file; empty for a tree without proof (task 3).
        distractors: Ids of the sentences that the proof does not use, in the file's order; none
            without a proof.
        extra: The row as it was read, so that nothing is lost on the way out; empty for a new tree.
    """

    id: str
    hypothesis: str
    sentences: Mapping[str, str]
    intermediates: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    distractors: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_premises(cls, tree_id: str, hypothesis: str, premises: Iterable[str]) -> ExplanationTree:
        """Return a tree of one step, or one without a proof if there are no premises.

        >>> ExplanationTree.of_premises("t", "ice is cold", ["ice is frozen"]).pairs
        (('ice is cold', 'ice is frozen'),)
        """
        sentences = {f"sent{at}": text for at, text in enumerate(premises, start=1)}
        steps = (Step(tuple(sentences), HYPOTHESIS),) if sentences else ()
        return cls(tree_id, hypothesis, sentences, steps=steps)

    def text(self, sentence_id: str) -> str:
        """Return the text behind `hypothesis`, `sentN` or `intN`; `KeyError` if there is none."""
        if sentence_id == HYPOTHESIS:
            return self.hypothesis
        return self.intermediates.get(sentence_id) or self.sentences[sentence_id]

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(parent text, child text) of every premise of every step, in order, repeats kept."""
        return tuple((self.text(step.conclusion), self.text(p)) for step in self.steps for p in step.premises)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Ids of the sentences that the proof uses, in order of first use."""
        return tuple(dict.fromkeys(p for step in self.steps for p in step.premises if p in self.sentences))

    def children(self, sentence_id: str) -> tuple[str, ...]:
        """Return the ids of the premises from which this sentence is concluded, none for a leaf."""
        return tuple(p for step in self.steps if step.conclusion == sentence_id for p in step.premises)


def gold_children(trees: Iterable[ExplanationTree]) -> dict[str, dict[str, None]]:
    """Return folded parent text -> its distinct folded child texts (an ordered set), joined over trees."""
    joined: dict[str, dict[str, None]] = {}
    for tree in trees:
        for parent, child in tree.pairs:
            joined.setdefault(fold(parent), {})[fold(child)] = None
    return joined
