"""Premise vectors in PostgreSQL: failures of the server, and what it holds of several versions."""

import os
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from entail.data.records import Corpus
from entail.errors import IndexEngineError, RetrievalError
from entail.index.dense import DenseIndex, build_dense
from entail.index.engines import Engine, PremiseVectors
from entail.index.protocol import Floats, Ints
from entail.index.ranking import scores_of
from entail.index.servers import pgvector
from entail.index.vectors import PremiseRows, premise_vectors
from tests.index.conftest import WIDTH, Build, Reader, numbers_of, premises, updated, vectors_of, whole

NUMBERS = numbers_of(200)
QUERY = vectors_of(NUMBERS[:1])
pytestmark = pytest.mark.parametrize("engine", ["pgvector"], indirect=True)


@pytest.fixture
def database(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(os.environ["ENTAIL_INDEX_URL"], autocommit=True)) as connection:
        yield connection


def reason(error: pytest.ExceptionInfo[IndexEngineError]) -> str:
    return error.value.reason


def tables(database: psycopg.Connection[Any]) -> str:
    """Give the name of the one table of vectors."""
    (name,) = database.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'vectors_%'"
    ).fetchone() or [""]
    return f"entail_index.{name}"


def count(database: psycopg.Connection[Any], table: str) -> int:
    row = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert row is not None
    return int(row[0])


def test_a_vector_is_stored_once_for_all_corpora(build: Build, database: psycopg.Connection[Any]) -> None:
    build(NUMBERS[:150])
    first = build(NUMBERS)
    assert count(database, "entail_index.members") == 200, "a corpus that grew meanwhile continues its line"
    first.updated(NUMBERS[20:], Reader(NUMBERS[20:]))
    build(NUMBERS[::-1])
    build(np.concatenate([NUMBERS[:5], np.arange(95, dtype=np.uint64)]))
    assert count(database, tables(database)) == 200 + 95


def test_encoders_of_two_widths_have_their_own_vectors(engine: Engine) -> None:
    engine.build(premises(NUMBERS))
    wide = np.random.default_rng(3).normal(size=(200, 2 * WIDTH)).astype(np.float32)
    index = engine.build(PremiseVectors("stub@1", 2 * WIDTH, NUMBERS, wide.__getitem__))
    assert index.search(100 * wide[:1], k=1).positions.shape == (1, 1)
    assert engine.build(premises(NUMBERS)).search(QUERY, k=1).positions.shape == (1, 1)


def test_an_old_extension_is_refused(build: Build, database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE EXTENSION vector")
    database.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with pytest.raises(IndexEngineError, match=r"0\.7\.4") as error:
        build(NUMBERS)
    assert reason(error) == "version"


def test_a_user_who_may_not_create_is_told_of_the_grant(
    build: Build, database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("CREATE EXTENSION vector")
    role = f"guest_{secrets.token_hex(4)}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    url = os.environ["ENTAIL_INDEX_URL"]
    monkeypatch.setenv("ENTAIL_INDEX_URL", url.replace("//postgres:", f"//{role}:"))
    with pytest.raises(IndexEngineError, match="grant") as error:
        build(NUMBERS)
    assert reason(error) == "permission"


def test_a_search_that_takes_too_long_is_given_up(
    build: Build, database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = build(NUMBERS)
    monkeypatch.setattr(pgvector, "SEARCH_SECONDS", 1)
    with database.transaction():
        database.execute(f"LOCK TABLE {tables(database)}")
        with pytest.raises(IndexEngineError) as error:
            index.search(QUERY, k=1)
    assert reason(error) == "slow"
    assert index.search(QUERY, k=1).positions.shape == (1, 1)


def test_neither_searches_nor_updates_wait_for_a_long_load(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = build(NUMBERS)
    foreign = np.arange(90, dtype=np.uint64)
    monkeypatch.setattr(pgvector, "SEARCH_SECONDS", 1)
    reasons = []

    def work_meanwhile(positions: Ints) -> Floats:
        assert index.search(QUERY, k=5).positions.shape == (1, 5)
        with pytest.raises(IndexEngineError) as error:
            index.updated(NUMBERS[1:], Reader(NUMBERS[1:]))
        reasons.append(reason(error))
        return vectors_of(foreign[positions])

    assert build(foreign, read=work_meanwhile).search(QUERY, k=5).positions.shape == (1, 5)
    assert reasons == ["slow"]
    assert updated(index, build, NUMBERS[1:]).search(QUERY, k=5).positions.shape == (1, 5)


def test_a_full_disk_leaves_the_versions_before_as_they_were(
    build: Build, database: psycopg.Connection[Any]
) -> None:
    index = build(NUMBERS)
    before = index.search(vectors_of(NUMBERS[:3]), k=5).positions.tolist()
    database.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$"
    )
    database.execute(
        f"CREATE TRIGGER disk BEFORE INSERT ON {tables(database)} FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    larger = np.append(NUMBERS[1:], np.uint64(7))
    with pytest.raises(IndexEngineError) as error:
        index.updated(larger, Reader(larger))
    assert reason(error) == "full"
    assert index.search(vectors_of(NUMBERS[:3]), k=5).positions.tolist() == before
    assert count(database, "entail_index.versions") == 1


def test_lost_vectors_never_make_a_list_shorter(build: Build, database: psycopg.Connection[Any]) -> None:
    index = build(NUMBERS)
    database.execute(f"DELETE FROM {tables(database)} WHERE number > 0")
    with pytest.raises(IndexEngineError) as error:
        index.search(QUERY, k=200)
    assert reason(error) == "incomplete"
    assert whole(build(NUMBERS)) == list(range(200))


def test_a_connection_that_the_server_ended_is_replaced(
    build: Build, database: psycopg.Connection[Any]
) -> None:
    index = build(NUMBERS)
    before = index.search(QUERY, k=4).positions.tolist()
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert index.search(QUERY, k=4).positions.tolist() == before


@pytest.mark.usefixtures("engine")
def test_texts_are_searched_as_without_a_server_and_encoded_once(tmp_path: Path, encoder: Any) -> None:
    corpus = Corpus.of("facts", (f"fact {number}" for number in range(60)))
    grown = Corpus.of("facts", [*corpus.texts[1:], "a new fact"])
    last = Corpus.of("facts", [*grown.texts, "the last fact"])
    rows = [PremiseRows(version, encoder, cache_dir=tmp_path / "first") for version in (corpus, grown)]
    index = build_dense(encoder, rows[0])
    after = index.of_version(encoder, rows[1])
    assert after is not None
    encoder.premises.clear()
    # The server has the others, of which this cache knows nothing.
    elsewhere = build_dense(encoder, PremiseRows(last, encoder, cache_dir=tmp_path / "second"))
    assert encoder.premises == ["the last fact"]
    queries = ["fact 7", "a new fact", "fact 0"]
    for own, version in ((index, corpus), (after, grown), (elsewhere, last)):
        expected = DenseIndex(encoder, version, premise_vectors(version, encoder, cache_dir=None))
        encoder.premises.clear()
        hits, exact = own.search(queries, k=61), expected.search(queries, k=61)
        assert hits.positions.tolist() == exact.positions.tolist()
        np.testing.assert_allclose(hits.scores, exact.scores, atol=2e-4)
        scores = expected.scores(queries)
        np.testing.assert_allclose(own.scores(queries), scores, atol=2e-4)
        near = own.score_positions(queries[:1], np.array([[7, 30]]))
        np.testing.assert_allclose(near[0], scores[0, [7, 30]], atol=2e-4)
        assert encoder.premises == []


@pytest.mark.usefixtures("engine")
def test_all_scores_of_a_large_corpus_are_refused(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.of("facts", [f"fact {number}" for number in range(30)])
    index = build_dense(encoder, PremiseRows(corpus, encoder, cache_dir=None))
    for module in ("dense", "ranking"):
        monkeypatch.setattr(f"entail.index.{module}.ALL_SCORED", 20)
    monkeypatch.setattr("entail.index.ranking.LISTED", 7)
    with pytest.raises(RetrievalError, match="ENTAIL_INDEX=flat"):
        index.scores(["a question"])
    assert np.isfinite(scores_of(index, ["a question", "fact 3"])).sum(axis=1).tolist() == [7, 7]
