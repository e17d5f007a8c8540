"""Rankings of many questions in one file, as the shared task's scorer reads them: question id, tab, uid.

Interrupted, it is gone on with: whole blocks of lines stay, a block that was cut off is written again. Beside
the file stands what it is of (`FILE.settings.json`), so that no two rankings are mixed, and what was asked
under each id (`FILE.questions.json`, digests), so that no question gets the ranking of another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.arcf.chains.ranking import Ranked
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.data.writing import append, begin_file, write_text
from entail.errors import DataError, SettingsError
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
        file: Where to.
        questions: No two with the same id.
        facts: All facts.
        rank: Ranks those that are not in the file yet.
        settings: What the rankings depend on: scorer, facts, search.
        top: Facts a question that are written; default: all, which the scorer needs.
        resume: Whether to go on with a file that is there; else it is written anew.

    Raises:
        DataError: If the file cannot be written, holds something else, or nothing says what was asked.
        SettingsError: If it is of other settings or holds the ranking of another question of the same id,
            `top` is below 1, or two questions have the same id.
    """
    if top is not None and top < 1:
        raise SettingsError(f"top: expected 1 or more facts, found {top}")
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        again = next(one for one in ids if ids.count(one) > 1)
        raise SettingsError(f"expected questions with ids of their own, found {again!r} twice")
    lines = min(top or len(facts), len(facts))
    told = {**settings, "facts": facts.digest, "lines a question": str(lines)}
    asked = {question.id: _digest(question) for question in questions}
    done: set[str] = set()
    before: dict[str, str] = {}
    if begin_file(file, told, resume=resume, what="rankings"):
        done = _kept(file, lines)
        before = _asked_before(file, done, asked)
    # Told of all that will be ranked before the first is: whenever it is killed, no ranking is of nobody
    # knows what.
    write_text(_beside(file), json.dumps({**asked, **before}, indent=2) + "\n")
    left = [question for question in questions if question.id not in done]
    for one in rank(left) if left else ():
        block = "".join(f"{one.question.id}\t{facts.facts[at].uid}\n" for at in one.ranking[:lines])
        append(file, block, what="rankings")
        yield one


def read_predictions(file: Path, facts: FactTables, *, skip: Container[str] = ()) -> dict[str, Ints]:
    """Return question id -> ranking of a file of predictions; uids in no table are left out.

    Raises:
        DataError: If it cannot be read, or a line is none of it.
    """
    found: dict[str, list[int]] = {}
    try:
        with file.open(encoding="utf-8") as opened:
            for number, line in enumerate(opened, 1):
                id_, tab, uid = line.rstrip("\n").partition("\t")
                if not tab:
                    raise DataError(f"{file.name}, line {number}: expected a question's id, a tab and a uid")
                at = facts.positions.get(uid.lower())
                if id_ not in skip and at is not None:
                    found.setdefault(id_, []).append(at)
    except (OSError, UnicodeError) as error:
        raise DataError(f"{file.name}: expected a file of rankings, found: {error}") from error
    return {id_: np.array(positions, dtype=np.int64) for id_, positions in found.items()}


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.questions.json")


def _digest(question: Question) -> str:
    """Return what identifies what is asked of the facts, 12 hexadecimal digits, no text."""
    told = json.dumps([question.stem, question.answer])
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _asked_before(file: Path, done: Collection[str], asked: Mapping[str, str]) -> dict[str, str]:
    """Return what was asked under the ids that are ranked; check that nothing else is asked under one now."""
    if not done:
        return {}
    beside = _beside(file)
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise DataError(
            f"{file.name}: expected {beside.name} beside it, which says what was asked under each id, found "
            "none, as in files of earlier versions; give another file, or begin anew (--no-resume)"
        )
    for id_, digest in asked.items():
        if id_ in done and found.get(id_) != digest:
            raise SettingsError(
                f"{file.name} holds the ranking of another question of the id {id_!r}, with other words or "
                "another answer; give another file, or begin anew (--no-resume)"
            )
    return {id_: digest for id_, digest in found.items() if id_ in done}


def _kept(file: Path, lines: int) -> set[str]:
    """Cut off what is not whole, and return the ids of what stays."""
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
