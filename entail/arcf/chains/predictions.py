"""Rankings of many questions in one file, as the shared task's scorer reads them: question id, tab, uid.

An interrupted file is resumed: whole blocks of lines stay, an incomplete block is written again.
`FILE.settings.json` holds its settings and a digest of its questions, so that neither rankings of different
settings nor of different questions are mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.arcf.chains.ranking import Ranked
from entail.data.passages import stream
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.data.writing import append, begin_file
from entail.errors import FormatError, SettingsError
from entail.index.protocol import Ints


def write_predictions(
    file: Path,
    questions: Sequence[Question],
    facts: FactTables,
    rank: Callable[[Sequence[Question]], Iterable[Ranked]],
    *,
    settings: Mapping[str, str],
    top: int | None = None,
    resume: bool = True,
) -> Iterator[Ranked]:
    """Rank questions into a file, and yield each when its lines are written.

    Args:
        file: File to write.
        questions: Questions with distinct ids.
        facts: All premises.
        rank: Ranks the questions that are not in the file yet.
        settings: Settings that the rankings depend on: scorer, premises, search.
        top: Premises written per question; default: all, which the shared task's scorer needs.
        resume: Whether to resume an existing file; else it is replaced.

    Raises:
        DataError: If the file cannot be written, or holds something else.
        SettingsError: If it has other settings or questions, `top` is below 1, or two questions have the
            same id.
    """
    if top is not None and top < 1:
        raise SettingsError(f"top: expected 1 or more facts, found {top}")
    if len({question.id for question in questions}) < len(questions):
        raise SettingsError("expected questions with distinct ids, found one twice")
    lines = min(top or len(facts), len(facts))
    settings = {**settings, "facts": facts.digest, "lines a question": str(lines)}
    settings |= {"questions": _digest(questions)}
    resumes = begin_file(file, settings, resume=resume)
    done = _drop_incomplete(file, lines) if resumes else set()
    left = [question for question in questions if question.id not in done]
    for ranked in rank(left) if left else ():
        block = "".join(f"{ranked.question.id}\t{facts.facts[at].uid}\n" for at in ranked.ranking[:lines])
        append(file, block)
        yield ranked


def read_predictions(file: Path, facts: FactTables, *, skip: Container[str] = ()) -> dict[str, Ints]:
    """Return question id -> ranking of a file of predictions; uids in no table are left out.

    Raises:
        FormatError: If it cannot be read, or a line is malformed.
    """
    rankings: dict[str, list[int]] = {}
    for number, line in stream.lines(file):
        id_, tab, uid = line.partition("\t")
        if not tab:
            raise FormatError("expected a question's id, a tab and a uid", source=file.name, line=number)
        at = facts.positions.get(uid.lower())
        if id_ not in skip and at is not None:
            rankings.setdefault(id_, []).append(at)
    return {id_: np.array(positions, dtype=np.int64) for id_, positions in rankings.items()}


def _digest(questions: Sequence[Question]) -> str:
    rows = [[question.id, question.stem, question.answer] for question in questions]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]


def _drop_incomplete(file: Path, lines: int) -> set[str]:
    """Truncate a file behind its last complete ranking; return the ids of the complete ones."""
    done: set[str] = set()
    whole = at = count = 0
    current: bytes | None = None
    with file.open("rb") as opened:
        for line in opened:
            at += len(line)
            id_, tab, _ = line.partition(b"\t")
            if not tab or not line.endswith(b"\n"):
                break
            current, count = id_, count + 1 if id_ == current else 1
            if count == lines:
                done.add(id_.decode("utf-8", "replace"))
                whole = at
    with file.open("r+b") as opened:
        opened.truncate(whole)
    return done
