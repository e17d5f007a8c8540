"""Frozen records of premises, corpora and explanation trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from entail.data.premises import Numbers, Premises, joined_keys
from entail.data.premises import Premise as Premise
from entail.data.text import fold, premise_key
from entail.errors import CorpusError

HYPOTHESIS = "hypothesis"
"""Id of the root in a proof."""


@dataclass(frozen=True)
class Corpus:
    """Candidate premises in a fixed order, no two with the same key (`CorpusError`).

    Position i of every score array and index made from a corpus is `premises[i]`. Premises, texts and keys
    are held in columns: their items are made when they are read.
    """

    name: str
    premises: Sequence[Premise]

    def __post_init__(self) -> None:
        if isinstance(self.premises, Premises):
            return
        premises = Premises.of(self.premises)
        object.__setattr__(self, "premises", premises)
        if premises.positions.has_repeats:
            raise CorpusError(
                f"corpus {self.name!r} holds {len(premises)} premises but only {len(premises.distinct())} "
                "distinct ones; build it with Corpus.of, which drops repeats"
            )

    @classmethod
    def of(cls, name: str, texts: Iterable[str | Premise]) -> Corpus:
        """Return a corpus of the distinct texts, the first of each, in order.

        >>> Corpus.of("tiny", ["ice is cold", "ice  is cold", "fire is hot"]).texts
        ('ice is cold', 'fire is hot')
        """
        return cls(name, Premises.of(texts).distinct())

    def __len__(self) -> int:
        return len(self.premises)

    @property
    def columns(self) -> Premises:
        """The premises, which are held in columns."""
        assert isinstance(self.premises, Premises)
        return self.premises

    @property
    def numbers(self) -> Numbers:
        """The premises' keys as numbers, in order: `int(key, 16)`."""
        return self.columns.numbers

    @property
    def texts(self) -> Sequence[str]:
        """The premises' texts, in order."""
        return self.columns.texts

    @property
    def keys(self) -> Sequence[str]:
        """The premises' keys, in order."""
        return self.columns.keys

    @property
    def positions(self) -> Mapping[str, int]:
        """Key -> position."""
        return self.columns.positions

    @cached_property
    def hash(self) -> str:
        """Hash of the premises in order, to which an index is bound."""
        return sha256(joined_keys(self.numbers).encode()).hexdigest()

    def position(self, text: str) -> int | None:
        """Return the position of a text, looked up by `fold`, or None if it is absent."""
        return self.positions.get(premise_key(text))


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
