"""Passage retrieval measured by gold passage and by answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from entail.data.passages.files import Question
from entail.encoders.encoder import load
from entail.errors import EvaluationError, FormatError
from entail.evaluation.passages import store as passages_store
from entail.evaluation.passages.retrieval import (
    answer_tokens,
    evaluate_passages,
    has_answer,
    judged_questions,
    search_vectors,
)
from entail.evaluation.passages.store import PassageStore, encode_store, store_passages
from entail.progress import Progress

POOL = "p1\tice is cold and hard\np2\tfire burns hot\np3\trome won the war\np4\tcold tea\n"


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    file = tmp_path / "pool.tsv"
    file.write_text(POOL, encoding="utf-8")
    return file


@pytest.fixture
def store(pool: Path, tmp_path: Path) -> PassageStore:
    return store_passages([pool], tmp_path / "kept")


def test_figures_by_gold_and_by_answer(store: PassageStore) -> None:
    judged = (
        Question("a", "what is cold and hard", ("ice",), ("p1",)),
        Question("b", "what is cold tea", ("cold",), ("p1",)),  # p4 first: an answer, not the gold one
        Question("c", "zebra", ("zebra",), ("p2",)),  # nothing is found
        Question("d", "who won the war", ("nobody",)),  # no gold passage: only measured by answer
        Question("e", "fire", (), ("p2", "p9")),  # p9 is nowhere
    )
    evaluation = evaluate_passages(store, judged)
    assert evaluation.gold == pytest.approx(
        {"R@1": 0.5, "R@5": 0.75, "R@20": 0.75, "R@100": 0.75, "MRR": 2.5 / 4, "questions": 4}
    )
    assert evaluation.answer == pytest.approx(
        {"R@1": 0.5, "R@5": 0.5, "R@20": 0.5, "R@100": 0.5, "MRR": 0.5, "questions": 4}
    )
    assert evaluation.first_hits == (1, 2, 0, 0, 1)
    data = evaluation.to_json()
    assert (data["R@1"], data["by"], data["questions"], data["passages"]) == (0.5, "gold", 4, 4)
    assert (data["asked"], data["without_gold"], data["gold_not_in_pool"]) == (5, 1, 0)


@pytest.mark.parametrize(
    "judged",
    [
        (Question("a", "ice"),),  # without judgements
        (Question("a", "ice", (), ("p9",)),),  # of another release
        (),
    ],
)
def test_what_cannot_be_measured_is_refused(store: PassageStore, judged: tuple[Question, ...]) -> None:
    with pytest.raises(EvaluationError):
        evaluate_passages(store, judged)


def test_judgements_from_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\tice\n2\tfire\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 p1 1\n3 0 p2 1\n", encoding="utf-8")
    judged = judged_questions(tmp_path / "q.tsv", qrels=tmp_path / "qrels")
    assert judged == (Question("1", "ice", (), ("p1",)),)


def test_sharded_search_is_the_search_of_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((23, 8)).astype(np.float32)
    queries = rng.standard_normal((5, 8)).astype(np.float32)
    files = []
    for number, start in enumerate(range(0, 23, 7)):
        files.append(tmp_path / f"{number}.npy")
        np.save(files[-1], vectors[start : start + 7])
    expected = np.argsort(-(queries @ vectors.T), axis=1)[:, :9]
    np.testing.assert_array_equal(search_vectors(queries, files, k=9), expected)
    assert (search_vectors(queries, files[:1], k=9)[:, 7:] == -1).all()


def test_encoding_goes_on_where_it_was_cut_off(
    tiny_home: Path, store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load("tiny")
    monkeypatch.setattr(passages_store, "_BATCH", 1)
    encoded: list[str] = []
    right = encoder.encode_premises

    def until_the_fourth(texts: list[str], **options: object) -> object:
        if len(encoded) == 3:
            raise KeyboardInterrupt
        encoded.extend(texts)
        return right(texts)

    monkeypatch.setattr(encoder, "encode_premises", until_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        encode_store(store, encoder, shard=2)
    assert len(encoded) == 3
    encoded.clear()
    reports: list[Progress] = []
    files = encode_store(store, encoder, shard=2, progress=reports.append)
    assert encoded == [store[2].whole, store[3].whole]  # the first shard was whole
    assert reports[-1].done == reports[-1].total == 4
    expected = right([passage.whole for passage in store])
    np.testing.assert_allclose(np.vstack([np.load(file) for file in files]), expected, atol=1e-5)
    evaluation = evaluate_passages(store, (Question("a", store[1].text, (), ("p2",)),), encoder="tiny")
    assert evaluation.gold is not None
    assert evaluation.gold["R@1"] == 1.0


def test_a_pool_stays_after_a_read_that_failed(pool: Path, tmp_path: Path) -> None:
    store_passages([pool], tmp_path / "kept")
    cut = tmp_path / "dpr.json"
    cut.write_text('[{"question": "q", "positive_ctxs": [{"text": "be"}]}, {"quest', encoding="utf-8")
    for broken in (tmp_path / "none.tsv", cut):
        with pytest.raises(FormatError):
            store_passages([pool, broken], tmp_path / "kept")
        assert [passage.id for passage in PassageStore(tmp_path / "kept")] == ["p1", "p2", "p3", "p4"]


def test_the_first_passage_of_an_id_counts(tmp_path: Path) -> None:
    first, second, lines = tmp_path / "first.tsv", tmp_path / "second.tsv", tmp_path / "lines.txt"
    first.write_text("1\tfirst\n1\tsecond\n2\tthird\n1\tfourth\n", encoding="utf-8")
    second.write_text("2\tmore\n3\tlast\n", encoding="utf-8")
    lines.write_text("ice\nfire\nice\n", encoding="utf-8")  # without ids a text is its own
    assert len(store_passages([first], tmp_path / "kept")) == 2
    store = store_passages([first, second, lines], tmp_path / "kept")
    assert [(passage.id, passage.text) for passage in store][:3] == [
        ("1", "first"),
        ("2", "third"),
        ("3", "last"),
    ]
    texts = ["first", "third", "last", "ice", "fire"]
    assert [store[position].text for position in range(len(store))] == texts
    assert store.positions(["3", "1", "x"]) == {"1": 0, "3": 2}
    assert store.about["passages"] == 5
    assert {file.name for file in store.folder.iterdir()} == {"texts.jsonl", "offsets.i64", "passages.json"}


def test_answers_match_word_by_word_as_dpr_has_it() -> None:
    passage = answer_tokens("The Caf\u00e9 in New York's centre, 1,000 km away.")
    for answer, expected in {
        "cafe\u0301": True,  # another encoding of the same accent
        "cafe": False,
        "NEW YORK": True,
        "New Yorker": False,
        "1,000": True,
        "000 km": True,
        "York s": False,
        "": False,
    }.items():
        assert has_answer(passage, [answer_tokens(answer)]) is expected, answer
