"""The four lists of the Claims page, and the judge of their passages."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from entail.errors import EvaluationError, FormatError
from entail.evaluation.passages import pool as claims_pool
from entail.evaluation.passages.pool import PassageLists, PassageScore, read_pool, search_wordings
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import top_k
from entail.ui.claims.passages import overview


class FakeIndex:
    """An index whose scores of the question and of the claim are given."""

    def __init__(self, name: str, scores: Sequence[Sequence[float]], *, words: bool = False) -> None:
        self.name = name
        self._scores = np.array(scores, dtype=np.float32)
        self.manifest = Manifest(name, 0 if words else 2, "x", self._scores.shape[1], "h")

    def scores(self, queries: Sequence[str]) -> Floats:
        assert list(queries) == ["Who?", "Somebody."]
        return self._scores

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        return top_k(self.scores(queries), k)


def lists(k: int = 2) -> PassageLists:
    plain = FakeIndex("plain", [[0.9, 0.5, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4]])
    words = FakeIndex("words", [[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]], words=True)
    return search_wordings((plain, words), "Who?", "Somebody.", k=k, gold=frozenset({2}))  # type: ignore[arg-type]  # it has all that is asked of an index


def test_four_lists() -> None:
    rankings = lists()
    assert rankings.positions == {
        (0, "question"): (0, 1),
        (0, "claim"): (3, 2),
        (1, "question"): (1, 3),
        (1, "claim"): (),
    }
    left = rankings.rows((0, "question"), (1, "question"))
    assert [(row.position, row.rank, row.other) for row in left] == [(0, 1, 0), (1, 2, 1)]
    right = rankings.rows((1, "question"), (0, "question"))
    assert [(row.position, row.other) for row in right] == [(1, 2), (3, 4)]
    assert rankings.shared((0, "question"), (1, "question")) == 1
    golds = [rankings.first_gold(key) for key in rankings.positions]
    assert golds == [3, 2, 0, 0], "ties stand in order of position; without a shared word nothing is found"
    assert rankings.all_positions == (0, 1, 3, 2)


def test_of_many_passages_those_beyond_the_lists_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.ranking.ALL_SCORED", 3)
    monkeypatch.setattr("entail.index.ranking.LISTED", 2)
    rankings = lists(k=4)
    assert rankings.positions[0, "question"] == (0, 1)
    golds = [rankings.first_gold(key) for key in rankings.positions]
    assert golds == [0, 2, 0, 0]


def test_the_overview_of_the_lists() -> None:
    rankings = lists()
    scores = {"nli": {at: PassageScore(at / 4, at >= 2, "says") for at in range(4)}}
    summary = overview(rankings, scores)
    assert [row["answer at"] for row in summary] == ["3", "not found", "2", "not found"]
    assert [row["entail, by nli"] for row in summary] == ["0 of 2", "1 of 2", "2 of 2", "0 of 0"]


def test_a_beir_folder_a_cut_one_and_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "Ice", "text": "is cold", "url": "x"}\n'
        '{"_id": "b", "title": "", "text": "Ice is  cold."}\n'
        '{"_id": "c", "text": "Fire is hot"}\n{"_id": "d", "text": "Fire is  hot"}\n',
        encoding="utf-8",
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "What is hot?"}\n', encoding="utf-8")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n1\td\t1\n", encoding="utf-8")
    pool = read_pool(tmp_path, name="beir")
    assert pool.corpus.texts == ("Ice is cold", "Ice is  cold.", "Fire is hot")
    known_question = pool.find_question("what is HOT ?")
    assert known_question is not None
    assert known_question.gold == frozenset({2}), "a repeated passage stands for both ids"
    alone = read_pool(tmp_path / "corpus.jsonl", name="corpus.jsonl")
    assert not alone.questions, "passages are no questions"
    assert alone.unread_columns == ("url",)
    (tmp_path / "qrels" / "dev.tsv").write_text("1\td\n", encoding="utf-8")
    with pytest.raises(FormatError):
        read_pool(tmp_path, name="beir")
    monkeypatch.setattr(claims_pool, "MOST", 2)
    with pytest.raises(EvaluationError, match="expected at most 2 passages to search on a page"):
        read_pool(tmp_path, name="beir")
