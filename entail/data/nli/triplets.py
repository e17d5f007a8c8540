"""Triplets for contrastive training: premise, entailed hypothesis, contradicted ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.text import fold


@dataclass(frozen=True, slots=True)
class NliTriplet:
    """Entailment pair with all distinct hypotheses that contradict its premise, in the order of the data."""

    premise: str
    entailed: str
    contradicted: tuple[str, ...] = ()


@dataclass(frozen=True)
class NliTriplets:
    """Triplets, one an entailment pair, in the order of the data, and counts of the pairs left out.

    Attributes:
        duplicates: Repetitions of an earlier pair.
        equal: Pairs of two equal sentences, which have no direction.
        both: Hypotheses that one premise both entails and contradicts, left out of its contradictions.
        unentailed: Distinct pairs (premise, hypothesis) that are neutral or contradictory.
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
        """Of these, the ones with a contradicted hypothesis in addition to the entailed one."""
        return len({fold(triplet.premise) for triplet in self.triplets if triplet.contradicted})

    @property
    def digest(self) -> str:
        """Digest of all texts for checkpoints, 12 hexadecimal digits."""
        digest = hashlib.sha256()
        triplets = ((triplet.premise, triplet.entailed, *triplet.contradicted) for triplet in self.triplets)
        for texts in (*triplets, *self.unentailed):
            digest.update("\0".join([*texts, "\n"]).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:12]

    def to_json(self) -> Mapping[str, Any]:
        """Return the counts as a JSON-serialisable dict."""
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

    def draw(self, *, seed: int, epoch: int) -> Iterator[tuple[str, str, str | None]]:
        """Yield (premise, entailed, one contradicted hypothesis or None) of each triplet, in order.

        Of several contradictions the first is drawn by the seed, and each epoch takes the next.
        """
        start = np.random.default_rng(seed).random(len(self))
        for triplet, share in zip(self.triplets, start.tolist(), strict=True):
            several = triplet.contradicted
            contradiction = several[(int(share * len(several)) + epoch) % len(several)] if several else None
            yield triplet.premise, triplet.entailed, contradiction

    def draw_unentailed(self, *, seed: int, epoch: int) -> list[int]:
        """Return rows of `unentailed` in a drawn order, one a triplet; an epoch continues the one before."""
        several = len(self.unentailed)
        order = np.random.default_rng([seed, 1]).permutation(several).tolist()
        start = epoch * len(self)
        return [order[(start + i) % several] for i in range(len(self))] if several else []


def nli_triplets(pairs: Iterable[NliPair]) -> NliTriplets:
    """Give each entailment pair the contradictions of its premise.

    Premises are the same where they are when folded (`entail.data.text.fold`), and so are hypotheses.

    >>> said = [NliPair("it rains", "wet", "entailment"), NliPair("it rains", "dry", "contradiction")]
    >>> nli_triplets(said).triplets
    (NliTriplet(premise='it rains', entailed='wet', contradicted=('dry',)),)
    """
    entailed: dict[tuple[str, str], NliPair] = {}
    contradicted: dict[str, dict[str, str]] = {}
    unentailed: dict[tuple[str, str], tuple[str, str]] = {}
    entailment_pairs = duplicates = equal = 0
    for pair in pairs:
        premise, hypothesis = fold(pair.premise), fold(pair.hypothesis)
        if pair.label != "entailment" and premise != hypothesis:
            unentailed.setdefault((premise, hypothesis), (pair.premise, pair.hypothesis))
        if pair.label == "contradiction":
            contradicted.setdefault(premise, {}).setdefault(hypothesis, pair.hypothesis)
        elif pair.label == "entailment":
            entailment_pairs += 1
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
        entailment_pairs=entailment_pairs,
        duplicates=duplicates,
        equal=equal,
        both=both,
        unentailed=tuple(pair for folded, pair in unentailed.items() if folded not in entailed),
    )
