"""Neighbourhoods vis_k(q, f_1 .. f_N): the k premises nearest to the question and to each f_i, united.

What nearness is can be exchanged, see `entail.evaluation.chains.fact_similarities`. A fact is not its own
neighbour. Each fact's neighbours are computed when first asked for, and remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entail.arcf.scoring.priors import Evidence
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import FactTables
from entail.errors import SettingsError
from entail.evaluation.chains import TFIDF, Similarities, fact_similarities, gold_hops
from entail.index.protocol import Floats, Ints
from entail.index.ranking import top_k
from entail.progress import Meter, ProgressCallback

_AT_ONCE = 256


class Neighbourhoods:
    """The k nearest facts of questions and of facts.

    Args:
        facts: All facts.
        k: Neighbours of each; cut to the number of other facts.
        metric: What nearness is.
        similarities: What computes it; default: made by `metric`.
        progress: Told how far encoding is, where the metric needs some.

    Raises:
        SettingsError: If k is below 1.
        EntailError: If there is no such metric.
    """

    def __init__(
        self,
        facts: FactTables,
        *,
        k: int,
        metric: str = TFIDF,
        similarities: Similarities | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        if k < 1:
            raise SettingsError(f"k: expected 1 or more neighbours, found {k}")
        self.facts, self.metric = facts, metric
        self.k = min(k, len(facts))
        self.similarities = similarities or fact_similarities(facts, metric, progress=progress)
        self._nearest: dict[int, Ints] = {}

    def of_text(self, text: str, *, evidence: Evidence | None = None) -> Ints:
        """Return the k facts nearest to a text, nearest first.

        Args:
            text: A question.
            evidence: What is known of facts behind it; it is added to their similarity.
        """
        similarities = self.similarities([text])
        if evidence is not None and (nearness := evidence.nearness) is not None:
            similarities = similarities + nearness
        nearest: Ints = top_k(similarities, self.k).positions[0]
        return nearest

    def of_fact(self, fact: int) -> Ints:
        """Return the k facts nearest to a fact, without itself, nearest first."""
        found = self._nearest.get(fact)
        if found is None:
            row = self.similarities([self.facts.texts[fact]])
            found = self._nearest[fact] = self._neighbours(row, fact)
        return found

    def prepare(self, facts: Sequence[int], *, progress: ProgressCallback | None = None) -> None:
        """Compute the neighbours of many facts, in the time of few."""
        wanted = [fact for fact in dict.fromkeys(facts) if fact not in self._nearest]
        meter = Meter(len(wanted), "neighbours", unit="facts", report=progress)
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            rows = self.similarities([self.facts.texts[fact] for fact in some])
            for fact, row in zip(some, rows, strict=True):
                self._nearest[fact] = self._neighbours(row[None], fact)
            meter.add(len(some))

    def visible(self, near_question: Ints, chosen: Sequence[int]) -> list[int]:
        """Return vis_k without the chosen facts: the question's neighbours, then those that each fact adds.

        Args:
            near_question: As `of_text` returned them.
            chosen: Positions of the chosen facts.
        """
        found = dict.fromkeys(int(fact) for fact in near_question)
        for fact in chosen:
            found |= dict.fromkeys(int(other) for other in self.of_fact(fact))
        for fact in chosen:
            found.pop(fact, None)
        return list(found)

    def _neighbours(self, row: Floats, fact: int) -> Ints:
        nearest: Ints = top_k(row, min(self.k + 1, len(self.facts))).positions[0]
        others: Ints = nearest[nearest != fact][: self.k]
        return others


@dataclass(frozen=True)
class Needed:
    """From which k on the gold facts of a question see each other.

    Attributes:
        direct: Rank of each gold fact near the question, shape (gold,).
        links: Rank of gold fact j near gold fact i, shape (gold, gold).
    """

    direct: Ints
    links: Ints

    def hops(self, k: int) -> list[int | None]:
        """Return the hops to each gold fact within neighbourhoods of k, see `gold_hops`."""
        return gold_hops(self.direct <= k, self.links <= k)


def needed(question: Question, gold: Sequence[int], neighbourhoods: Neighbourhoods) -> Needed:
    """Return from which k on a question's gold facts are reached.

    Args:
        question: The question.
        gold: Positions of its gold facts.
        neighbourhoods: Whose metric is taken; its k does not matter.
    """
    texts = [question.text, *(neighbourhoods.facts.texts[fact] for fact in gold)]
    rows = neighbourhoods.similarities(texts)
    at = np.asarray(gold, dtype=np.int64)
    ranks = np.empty((len(texts), len(gold)), dtype=np.int64)
    for number, row in enumerate(rows):
        itself = number and gold[number - 1]
        for column, fact in enumerate(at):
            # As in `top_k`: equally near facts stand in order of position.
            ahead = int((row > row[fact]).sum()) + int((row[:fact] == row[fact]).sum())
            if number and (row[itself] > row[fact] or (row[itself] == row[fact] and itself < fact)):
                ahead -= 1
            ranks[number, column] = ahead + 1
    return Needed(ranks[0], ranks[1:])


def reach(
    questions: Sequence[Question],
    neighbourhoods: Neighbourhoods,
    *,
    ks: Sequence[int],
    progress: ProgressCallback | None = None,
) -> Mapping[int, Mapping[str, Any]]:
    """Return for each k which share of all gold facts is reached by gold hops (Table 1), and by how many.

    Gold facts that are in no table are left out.
    """
    counts: dict[int, dict[str, int]] = {k: {} for k in ks}
    total = 0
    meter = Meter(len(questions), "measuring reach", unit="questions", report=progress)
    for question in questions:
        gold = gold_positions(question, neighbourhoods.facts)
        total += len(gold)
        found = needed(question, gold, neighbourhoods)
        for k in ks:
            for hop in found.hops(k):
                label = "infinity" if hop is None else str(hop)
                counts[k][label] = counts[k].get(label, 0) + 1
        meter.add(1)
    return {
        k: {
            "reached": 1 - some.get("infinity", 0) / total if total else 0.0,
            "facts": total,
            "hops": dict(sorted(some.items())),
        }
        for k, some in counts.items()
    }
