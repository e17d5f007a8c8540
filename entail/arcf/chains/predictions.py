"""Rankings of many questions in one file, as the shared task's scorer reads them: question id, tab, uid.

An interrupted file is resumed: whole blocks of lines stay, an incomplete block is written again.
`FILE.settings.json` holds its settings and `FILE.questions.json` a digest of each question, so that neither
rankings of different settings nor of different questions are mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.arcf.chains.ranking import Ranked
from entail.data.passages import stream
from entail.data.stored import read_json
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.data.writing import append, begin_file, write_text
from entail.errors import DataError, FormatError, SettingsError
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
        DataError: If the file cannot be written, or holds something else, or its questions are unknown.
        SettingsError: If it has other settings or ranks another question of the same id, `top` is below 1,
            or two questions have the same id.
    """
    if top is not None and top < 1:
        raise SettingsError(f"top: expected 1 or more facts, found {top}")
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        again = next(question_id for question_id in ids if ids.count(question_id) > 1)
        raise SettingsError(f"expected questions with ids of their own, found {again!r} twice")
    lines = min(top or len(facts), len(facts))
    settings = {**settings, "facts": facts.digest, "lines a question": str(lines)}
    digests = {question.id: _digest(question) for question in questions}
    done: set[str] = set()
    before: dict[str, str] = {}
    if begin_file(file, settings, resume=resume, contents="rankings"):
        done = _drop_incomplete(file, lines)
        before = _read_digests(file, done, digests)
    # Written before the first ranking: a process that is killed leaves no ranking of an unknown question.
    write_text(_digests_file(file), json.dumps({**digests, **before}, indent=2) + "\n")
    left = [question for question in questions if question.id not in done]
    for ranked in rank(left) if left else ():
        block = "".join(f"{ranked.question.id}\t{facts.facts[at].uid}\n" for at in ranked.ranking[:lines])
        append(file, block, contents="rankings")
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


def _digests_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.questions.json")


def _digest(question: Question) -> str:
    return hashlib.sha256(json.dumps([question.stem, question.answer]).encode()).hexdigest()[:12]


def _read_digests(file: Path, done: Collection[str], digests: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the ranked questions; check that the present questions have the same."""
    if not done:
        return {}
    digests_file = _digests_file(file)
    remedy = "give another file, or begin anew (--no-resume)"
    before = read_json(digests_file, dict[str, str], remedy=remedy)
    if before is None:
        raise DataError(
            f"{file.name}: expected {digests_file.name} beside it, which says what was asked under each id, "
            f"found none, as in files of earlier versions; {remedy}"
        )
    for id_, digest in digests.items():
        if id_ in done and before.get(id_) != digest:
            raise SettingsError(
                f"{file.name} holds the ranking of another question of the id {id_!r}, with other words or "
                f"another answer; {remedy}"
            )
    return {id_: digest for id_, digest in before.items() if id_ in done}


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
