"""Agreement on the copies of a project: a figure for all, and where annotators differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import combinations
from statistics import fmean
from typing import Any

import sqlalchemy as sa

from entail.data.text import fold
from entail.teams.agreement import ASPECTS, Agreement, Aspect, agreement, similarity
from entail.teams.judgements import JudgementAgreement, judgement_agreement
from entail.teams.moves import Piece
from entail.teams.permissions import require
from entail.teams.shapes import Shape
from entail.teams.work import Work
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History
from entail.trees.store import schema
from entail.trees.store.database import Database


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two annotators: mean similarity of their copies, over the hypotheses that both have."""

    first: str
    second: str
    similarity: float
    hypotheses: int


@dataclass(frozen=True, slots=True)
class HypothesisRow:
    """Hypothesis with two copies or more: mean similarity of each two of them.

    Attributes:
        number: Its number in the project.
        text: Its text.
        annotators: Who submitted a copy, in the order of copies.
        similarity: F1 of clades.
        steps: F1 of steps.
        leaves: Jaccard's index of leaves.
        submitted: Day of the last first submission.
    """

    number: int
    text: str
    annotators: tuple[str, ...]
    similarity: float
    steps: float
    leaves: float
    submitted: date


@dataclass(frozen=True)
class ProjectAgreement:
    """Agreement on the first submissions of a project.

    Attributes:
        trees: Agreement on trees by what is compared.
        judgements: Agreement on candidates that two or more judged.
        pairs: Each two annotators, the least similar first.
        hypotheses: Each hypothesis, the least similar first.
        waiting: Hypotheses with several copies of which not all are submitted; they count once they are.
    """

    trees: Mapping[Aspect, Agreement]
    judgements: JudgementAgreement
    pairs: tuple[PairRow, ...]
    hypotheses: tuple[HypothesisRow, ...]
    waiting: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        rows = [{**asdict(row), "submitted": row.submitted.isoformat()} for row in self.hypotheses]
        return {
            "trees": {aspect: asdict(value) for aspect, value in self.trees.items()},
            "judgements": asdict(self.judgements),
            "pairs": [asdict(pair) for pair in self.pairs],
            "hypotheses": rows,
            "waiting": self.waiting,
        }


def measure_agreement(database: Database, log: TreeLog, project_id: str, *, actor: str) -> ProjectAgreement:
    """Return the agreement on the hypotheses of a project whose copies are all submitted.

    A copy counts as it was first submitted: a later one was written with the others in sight.

    Raises:
        TeamError: If there is no such project, or the actor may not oversee it.
    """
    with database.reading() as connection:
        require(connection, actor, "oversee", project_id)
        table = schema.hypotheses.c
        shared = (table.project_id == project_id) & (table.copies > 1)
        several = connection.scalar(sa.select(sa.func.count()).where(shared)) or 0
    log = log.viewed_by(actor)
    copies: dict[int, list[Piece]] = defaultdict(list)
    for piece in Work(database).pieces(project_id, actor=actor):
        if piece.id.copy and piece.state != "dropped":
            copies[piece.id.number].append(piece)
    whole = {
        number: pieces
        for number, pieces in copies.items()
        if len(pieces) > 1 and all(piece.submitted_seq is not None for piece in pieces)
    }
    shapes: dict[Hashable, list[Shape]] = {}
    judged: dict[Hashable, dict[str, bool]] = defaultdict(dict)
    rows: list[HypothesisRow] = []
    by_pair: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, pieces in whole.items():
        histories = {piece.id.copy: _submitted(log, piece) for piece in pieces}
        shapes[number] = [Shape.of_tree(history.tree) for history in histories.values()]
        names = tuple(piece.annotator or "" for piece in pieces)
        for name, history in zip(names, histories.values(), strict=True):
            for (_, key), judgement in history.tree.judgements.items():
                judged[number, fold(judgement.query), key][name] = judgement.accepted
        for first, second in combinations(zip(names, shapes[number], strict=True), 2):
            (first_name, second_name) = sorted((first[0], second[0]))
            by_pair[first_name, second_name].append(similarity(first[1], second[1]))
        clades, steps, leaves = (_mean(shapes[number], aspect) for aspect in ASPECTS)
        last = max(history.events[-1].at for history in histories.values()).date()
        rows.append(HypothesisRow(number, pieces[0].hypothesis, names, clades, steps, leaves, last))
    pairs = [PairRow(*names, fmean(values), len(values)) for names, values in by_pair.items()]
    return ProjectAgreement(
        {aspect: agreement(shapes, aspect) for aspect in ASPECTS},
        judgement_agreement(judged),
        tuple(sorted(pairs, key=lambda pair: pair.similarity)),
        tuple(sorted(rows, key=lambda row: row.similarity)),
        several - len(whole),
    )


def _submitted(log: TreeLog, piece: Piece) -> History:
    assert piece.tree_id is not None, "a submitted piece has a tree"
    return log.history(piece.tree_id).at(piece.submitted_seq or 0)


def _mean(shapes: Sequence[Shape], aspect: Aspect) -> float:
    return fmean(similarity(*pair, aspect) for pair in combinations(shapes, 2))
