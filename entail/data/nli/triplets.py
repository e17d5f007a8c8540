"""Premise, a sentence that it entails, sentences that it contradicts: what contrastive training takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.text import fold


@dataclass(frozen=True, slots=True)
class NliTriplet:
    """An entailment pair and every hypothesis that contradicts its premise; there may be none.

    Attributes:
        premise: As it stands in the data.
        entailed: A hypothesis that it entails.
        contradicted: All distinct hypotheses that contradict it, in the order of the data.
    """

    premise: str
    entailed: str
    contradicted: tuple[str, ...] = ()


@dataclass(frozen=True)
class NliTriplets:
    """The triplets of some pairs, one an entailment pair, and what was left out.

    Attributes:
        triplets: In the order of the data.
        entailment_pairs: Entailment pairs in the data, before anything was left out.
        duplicates: Of these, repetitions of an earlier pair, left out.
        equal: Of these, pairs of two equal sentences, left out: they have no direction.
        both: Hypotheses that one premise both entails and contradicts, left out of its contradictions.
        unentailed: All distinct pairs (premise, hypothesis) that are neutral or contradictory.
    """

    triplets: tuple[NliTriplet, ...]
    entailment_pairs: int
    duplicates: int
    equal: int
    both: int
    unentailed: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.triplets)

    @property
    def premises(self) -> int:
        """Distinct premises."""
        return len({fold(triplet.premise) for triplet in self.triplets})

    @property
    def premises_with_both(self) -> int:
        """Of these, the ones with a contradicted hypothesis beside the entailed one."""
        return len({fold(triplet.premise) for triplet in self.triplets if triplet.contradicted})

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any triplet: what a checkpoint is bound to."""
        digest = hashlib.sha256()
        for triplet in self.triplets:
            texts = (triplet.premise, triplet.entailed, *triplet.contradicted)
            digest.update("\0".join([*texts, "\n"]).encode("utf-8", "surrogatepass"))
        for pair in self.unentailed:
            digest.update("\0".join([*pair, "\n"]).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:12]

    def part(self, count: int, *, seed: int) -> NliTriplets:
        """Draw some of the triplets, in their order; of one seed a smaller part lies within a larger one.

        The pairs that do not entail stay as they are.
        """
        if count >= len(self):
            return self
        places = np.random.default_rng(seed).permutation(len(self))[:count]
        return replace(self, triplets=tuple(self.triplets[place] for place in sorted(places)))

    def to_json(self) -> Mapping[str, Any]:
        """Return the counts, of JSON's types."""
        return {
            "triplets": len(self),
            "entailment_pairs": self.entailment_pairs,
            "premises": self.premises,
            "premises_with_both": self.premises_with_both,
            "with_contradiction": sum(bool(triplet.contradicted) for triplet in self.triplets),
            "unentailed": len(self.unentailed),
            "duplicates": self.duplicates,
            "equal": self.equal,
            "both": self.both,
        }

    def drawn(self, *, seed: int, epoch: int) -> Iterator[tuple[str, str, str | None]]:
        """Yield (premise, entailed, one contradicted hypothesis or None) of each triplet, in order.

        Where a premise contradicts several, the first is drawn by the seed and each epoch takes the next, so
        that all take part before one comes again.
        """
        start = np.random.default_rng(seed).random(len(self))
        for triplet, share in zip(self.triplets, start.tolist(), strict=True):
            several = len(triplet.contradicted)
            chosen = triplet.contradicted[(int(share * several) + epoch) % several] if several else None
            yield triplet.premise, triplet.entailed, chosen

    def drawn_unentailed(self, *, seed: int, epoch: int) -> list[int]:
        """Return rows of `unentailed`, one a triplet; an epoch goes on where the one before ended.

        The order is drawn by the seed. Without any unentailed pair there are none.
        """
        several = len(self.unentailed)
        order = np.random.default_rng([seed, 1]).permutation(several).tolist()
        start = epoch * len(self)
        return [order[(start + i) % several] for i in range(len(self))] if several else []


def nli_triplets(pairs: Iterable[NliPair]) -> NliTriplets:
    """Gather the contradictions of each premise beside each of its entailment pairs.

    Premises are the same where they are when folded (`entail.data.text.fold`), and so are hypotheses.

    >>> said = [NliPair("it rains", "wet", "entailment"), NliPair("it rains", "dry", "contradiction")]
    >>> nli_triplets(said).triplets
    (NliTriplet(premise='it rains', entailed='wet', contradicted=('dry',)),)
    """
    entailed: dict[tuple[str, str], NliPair] = {}
    contradicted: dict[str, dict[str, str]] = {}
    unentailed: dict[tuple[str, str], tuple[str, str]] = {}
    seen = duplicates = equal = 0
    for pair in pairs:
        premise, hypothesis = fold(pair.premise), fold(pair.hypothesis)
        if pair.label != "entailment" and premise != hypothesis:
            unentailed.setdefault((premise, hypothesis), (pair.premise, pair.hypothesis))
        if pair.label == "contradiction":
            contradicted.setdefault(premise, {}).setdefault(hypothesis, pair.hypothesis)
        elif pair.label == "entailment":
            seen += 1
            if premise == hypothesis:
                equal += 1
            elif (premise, hypothesis) in entailed:
                duplicates += 1
            else:
                entailed[premise, hypothesis] = pair
    both = 0
    for premise, hypothesis in entailed:
        both += contradicted.get(premise, {}).pop(hypothesis, None) is not None
    return NliTriplets(
        triplets=tuple(
            NliTriplet(pair.premise, pair.hypothesis, tuple(contradicted.get(premise, {}).values()))
            for (premise, _), pair in entailed.items()
        ),
        entailment_pairs=seen,
        duplicates=duplicates,
        equal=equal,
        both=both,
        unentailed=tuple(pair for folded, pair in unentailed.items() if folded not in entailed),
    )
