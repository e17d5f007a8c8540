"""Files of rankings: resumed where they were interrupted, never mixed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from entail.arcf.chains.predictions import read_predictions, write_predictions
from entail.arcf.chains.ranking import Ranked
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import FormatError, SettingsError

FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(6)))
QUESTIONS = [Question(f"Q{i}", "q", "a", {"u0": "CENTRAL"}) for i in range(5)]


def write(
    file: Path, questions: Sequence[Question] = QUESTIONS, *, scorer: str = "fake@1", **options: int
) -> list[str]:
    """Rank into a file; return the ids of the questions that were ranked."""
    ranked_ids: list[str] = []

    def rank(batch: Sequence[Question]) -> Iterator[Ranked]:
        for question in batch:
            ranked_ids.append(question.id)
            yield Ranked(question, np.roll(np.arange(6), int(question.id[1:])))

    rows = write_predictions(file, questions, FACTS, rank, settings={"scorer": scorer}, **options)
    assert [row.question.id for row in rows] == ranked_ids
    return ranked_ids


def test_an_interrupted_ranking_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    whole, file = tmp_path / "whole.tsv", tmp_path / "some.tsv"
    assert write(whole) == ["Q0", "Q1", "Q2", "Q3", "Q4"]
    assert whole.read_text(encoding="utf-8").splitlines()[:2] == ["Q0\tu0", "Q0\tu1"]
    assert read_predictions(whole, FACTS)["Q4"].tolist() == [2, 3, 4, 5, 0, 1]
    content = whole.read_bytes()
    for cut in (0, 35, 36, 101, len(content)):
        write(file, resume=False)
        file.write_bytes(content[:cut])
        assert write(file) == [f"Q{i}" for i in range(cut * 5 // len(content), 5)]
        assert file.read_bytes() == content


def test_another_ranking_is_not_mixed_in(tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    write(file, top=2)
    content = file.read_bytes()
    assert len(content.splitlines()) == 10
    other = [replace(QUESTIONS[0], stem="p"), *QUESTIONS[1:]]
    for questions, options in (
        (QUESTIONS, {"top": 2, "scorer": "other"}),
        (QUESTIONS, {}),
        (QUESTIONS, {"top": 0}),
        (QUESTIONS[:4], {"top": 2}),
        (other, {"top": 2}),
        ([QUESTIONS[0]] * 2, {"top": 2}),
    ):
        with pytest.raises(SettingsError):
            write(file, questions, **options)  # type: ignore[arg-type]  # of a tuple
        assert file.read_bytes() == content
    # Another explanation is no other question.
    assert write(file, [replace(question, gold={}) for question in QUESTIONS], top=2) == []
    file.write_text("no tab\n", encoding="utf-8")
    with pytest.raises(FormatError):
        read_predictions(file, FACTS)
