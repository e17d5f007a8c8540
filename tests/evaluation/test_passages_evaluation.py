"""Passage retrieval measured by gold passage and by answer."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, Success

from entail.data.passages.files import Question
from entail.encoders.encoder import load
from entail.errors import EvaluationError, FormatError
from entail.evaluation.passages import store as passages_store
from entail.evaluation.passages.retrieval import (
    PassageWords,
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
def store(tmp_path: Path) -> PassageStore:
    (tmp_path / "pool.tsv").write_text(POOL, encoding="utf-8")
    return store_passages([tmp_path / "pool.tsv"], tmp_path / "kept")


def test_figures_by_gold_and_by_answer(store: PassageStore) -> None:
    judged = (
        Question("a", "what is cold and hard", ("ice",), ("p1",)),
        Question("b", "what is cold tea", ("cold",), ("p1",)),  # p4 first: an answer, not the gold one
        Question("c", "zebra", ("zebra",), ("p2",)),  # nothing is found
        Question("d", "who won the war", ("nobody",)),  # no gold passage: only measured by answer
        Question("e", "fire", (), ("p2", "p9")),  # p9 is nowhere
    )
    evaluation = evaluate_passages(store, judged)
    at = (1, 5, 20, 100)
    recall, success = ([f"{name}@{k}" for k in at] for name in ("R", "Success"))
    assert evaluation.gold == pytest.approx(
        dict(zip(recall, (0.375, 0.625, 0.625, 0.625), strict=True))
        | dict(zip(success, (0.5, 0.75, 0.75, 0.75), strict=True))
        | {"MRR": 2.5 / 4, "questions": 4}
    )
    assert evaluation.answer == pytest.approx(dict.fromkeys((*success, "MRR"), 0.5) | {"questions": 4})
    assert evaluation.values["MRR"].tolist() == [1, 0.5, 0, 1]
    data = evaluation.to_json()
    assert (data["Success@1"], data["by"], data["questions"], data["passages"]) == (0.5, "gold", 4, 4)
    assert (data["asked"], data["without_gold"], data["gold_not_in_pool"]) == (5, 1, 1)
    single = evaluate_passages(store, judged[:1])
    assert single.gold == dict.fromkeys((*recall, "MRR", "questions"), 1)
    without_gold, elsewhere = Question("a", "ice"), Question("a", "ice", (), ("p9",))
    for questions in ((), (without_gold,), (elsewhere,)):
        with pytest.raises(EvaluationError):
            evaluate_passages(store, questions)


def test_figures_over_beir_folders_are_those_of_trec_eval(tmp_path: Path) -> None:
    """Expects recall, success and reciprocal rank of ir_measures, with BEIR's own passage left out."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(40)]
    ids = [f"doc {number}" for number in range(150)]  # ids with spaces
    texts = [" ".join(rng.choice(words, 6)) for _ in ids]
    query_ids = [*ids[:15], *(f"q {number}" for number in range(5))]  # most are passages themselves
    queries = [*texts[:15], *(" ".join(rng.choice(words, 3)) for _ in range(5))]
    judgements = [
        (query, str(passage), int(rng.integers(0, 3)))
        for query in query_ids
        for passage in rng.choice(ids, 8, False)
    ]
    (tmp_path / "qrels").mkdir()
    for name, values in (
        ("corpus", zip(ids, texts, strict=True)),
        ("queries", zip(query_ids, queries, strict=True)),
    ):
        rows = (json.dumps({"_id": id_, "text": text}) + "\n" for id_, text in values)
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in judgements)]
    (tmp_path / "qrels" / "test.tsv").write_text("\n".join(lines), encoding="utf-8")
    store = store_passages([tmp_path], tmp_path / "kept")
    evaluation = evaluate_passages(store, judged_questions(tmp_path))
    ranking = PassageWords(store).search(queries, k=101)
    run = [
        ir_measures.ScoredDoc(query, ids[at], -rank)
        for query, row in zip(query_ids, ranking.tolist(), strict=True)
        for rank, at in enumerate([at for at in row if at >= 0 and ids[at] != query][:100])
    ]
    measures = [*(measure @ k for measure in (R, Success) for k in (1, 5, 20, 100)), RR]
    expected = ir_measures.calc_aggregate(measures, [ir_measures.Qrel(*row) for row in judgements], run)
    names = {str(measure).replace("RR", "MRR"): value for measure, value in expected.items()}
    assert evaluation.gold == pytest.approx({**names, "questions": 20})
    assert evaluation.counts["own_passage_ignored"] == 15
    files = judged_questions(tmp_path / "queries.jsonl", qrels=tmp_path / "qrels" / "test.tsv")
    apart = evaluate_passages(store_passages([tmp_path / "corpus.jsonl"], tmp_path / "pool"), files)
    assert (apart.gold, apart.counts) == (evaluation.gold, evaluation.counts)


def test_judgements_from_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\tice\n2\tfire\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 p1 1\n3 0 p2 1\n", encoding="utf-8")
    judged = judged_questions(tmp_path / "q.tsv", qrels=tmp_path / "qrels")
    assert judged == (Question("1", "ice", (), ("p1",)),)
    (tmp_path / "q.tsv").write_text("1\tice\n1\tice\n", encoding="utf-8")
    assert judged_questions(tmp_path / "q.tsv", qrels=tmp_path / "qrels") == judged
    (tmp_path / "q.tsv").write_text("1\tice\n1\tfire\n", encoding="utf-8")
    with pytest.raises(FormatError, match="'1'"):
        judged_questions(tmp_path / "q.tsv", qrels=tmp_path / "qrels")


def test_sharded_search_is_the_search_of_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors, queries = (rng.standard_normal((count, 8)).astype(np.float32) for count in (23, 5))
    files = [tmp_path / f"{start}.npy" for start in range(0, 23, 7)]
    for file in files:
        np.save(file, vectors[int(file.stem) : int(file.stem) + 7])
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


def test_a_pool_stays_after_a_read_that_failed(store: PassageStore, tmp_path: Path) -> None:
    cut = tmp_path / "dpr.json"
    cut.write_text('[{"question": "q", "positive_ctxs": [{"text": "be"}]}, {"quest', encoding="utf-8")
    for broken in (tmp_path / "none.tsv", cut):
        with pytest.raises(FormatError):
            store_passages([tmp_path / "pool.tsv", broken], store.folder)
        assert [passage.id for passage in PassageStore(store.folder)] == ["p1", "p2", "p3", "p4"]


def test_passages_are_stored_once_in_the_order_of_files(tmp_path: Path) -> None:
    first, second, lines = tmp_path / "first.tsv", tmp_path / "second.tsv", tmp_path / "lines.txt"
    first.write_text("id\ttext\tlang\n1\tfirst\ten\n2\tthird\ten\n1\tfirst\ten\n", encoding="utf-8")
    second.write_text("2\tthird\n3\tlast\n", encoding="utf-8")
    lines.write_text("ice\nfire\nice\n", encoding="utf-8")  # without ids a text is its own
    store = store_passages([first, second, lines], tmp_path / "kept")
    assert [passage.text for passage in store] == ["first", "third", "last", "ice", "fire"]
    assert [store[position].id for position in range(3)] == ["1", "2", "3"]
    assert store.positions(["3", "1", "x"]) == {"1": 0, "3": 2}
    assert store.about["passages"] == 5
    assert store.unread_columns == ["lang"]
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
