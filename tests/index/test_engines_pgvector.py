"""Premise vectors in PostgreSQL: failures of the server, and what it holds of several versions."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from entail.data.records import Corpus
from entail.errors import IndexEngineError, ManifestMismatchError, RetrievalError
from entail.index.dense import DenseIndex, build_dense
from entail.index.engines import PremiseVectors, VectorIndex, engine_of, load_engine
from entail.index.protocol import Floats, Ints
from entail.index.ranking import scores_of
from entail.index.servers import pgvector
from entail.index.servers.server import ServerIndex
from entail.index.vectors import PremiseRows, premise_vectors
from tests.trees.conftest import at_once

WIDTH = 8
NUMBERS = np.random.default_rng(1).integers(0, 2**64, 200, dtype=np.uint64)
VECTORS = np.random.default_rng(2).normal(size=(300, WIDTH)).astype(np.float32)


def read(positions: Ints) -> Floats:
    vectors: Floats = VECTORS[positions]
    return vectors


@pytest.fixture
def url(new_postgres_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Make an empty database, and let it be that of the vectors."""
    database_url = new_postgres_url()
    monkeypatch.setenv("ENTAIL_INDEX_URL", database_url)
    monkeypatch.setenv("ENTAIL_INDEX", "pgvector")
    return database_url


@pytest.fixture
def database(url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        yield connection


def premises(numbers: Any = NUMBERS, read: Any = read) -> PremiseVectors:
    return PremiseVectors("stub@1", WIDTH, numbers, read)


def build(numbers: Any = NUMBERS, **changed: Any) -> ServerIndex:
    index = load_engine("pgvector").build(premises(numbers, **changed))
    assert isinstance(index, ServerIndex)
    return index


def updated(index: ServerIndex, numbers: Any) -> VectorIndex:
    """Give the index of another version, which pgvector always can."""
    version = index.updated(numbers, read)
    assert version is not None
    return version


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


def test_a_vector_is_stored_once_for_all_corpora(database: psycopg.Connection[Any]) -> None:
    first = build()
    first.updated(NUMBERS[20:], read)
    build(NUMBERS[::-1])
    build(np.concatenate([NUMBERS[:5], np.arange(95, dtype=np.uint64)]))
    assert count(database, tables(database)) == 200 + 95


def test_those_who_start_at_once_set_an_empty_database_up_together(
    url: str, database: psycopg.Connection[Any]
) -> None:
    at_once(lambda _: build(), range(6))
    assert count(database, tables(database)) == 200


def test_a_version_that_is_there_is_not_read_again(url: str) -> None:
    build()

    def refuse(positions: Ints) -> Floats:
        raise AssertionError(positions)

    assert build(read=refuse).search(VECTORS[:1], k=3).positions.shape == (1, 3)


def test_vectors_that_the_server_has_are_not_encoded_again(url: str, tmp_path: Path, encoder: Any) -> None:
    corpus = Corpus.of("facts", [f"fact {number}" for number in range(30)])
    build_dense(encoder, PremiseRows(corpus, encoder, cache_dir=tmp_path / "first"))
    grown = Corpus.of("facts", [*corpus.texts, "a new fact"])
    encoder.premises.clear()
    index = build_dense(encoder, PremiseRows(grown, encoder, cache_dir=tmp_path / "second"))
    assert encoder.premises == ["a new fact"]
    assert index.search(["a question"], k=31).positions.shape == (1, 31)
    expected = encoder.vector("a question") @ premise_vectors(grown, encoder, cache_dir=None).T
    encoder.premises.clear()
    np.testing.assert_allclose(index.scores(["a question"])[0], expected, atol=2e-4)
    near = index.score_positions(["a question"], np.array([[7, 30]]))
    np.testing.assert_allclose(near[0], expected[[7, 30]], atol=2e-4)
    assert encoder.premises == []


def test_a_server_that_is_down_is_named_before_premises_are_encoded(
    encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_INDEX", "pgvector")
    monkeypatch.setenv("ENTAIL_INDEX_URL", "postgresql://ann@127.0.0.1:1/premises")
    with pytest.raises(IndexEngineError):
        build_dense(encoder, PremiseRows(Corpus.of("facts", ["a fact"]), encoder, cache_dir=None))
    assert encoder.premises == []


def test_a_corpus_that_grew_meanwhile_continues_its_line(database: psycopg.Connection[Any]) -> None:
    build(NUMBERS[:150])
    build()
    assert count(database, "entail_index.members") == 200


def test_queries_of_another_width_or_without_a_number_are_refused(url: str) -> None:
    index = build()
    with pytest.raises(ManifestMismatchError):
        index.search(np.ones((1, WIDTH + 1), np.float32), k=3)
    with pytest.raises(RetrievalError):
        index.search(np.full((1, WIDTH), np.nan, np.float32), k=3)


def test_encoders_of_two_widths_have_their_own_vectors(url: str) -> None:
    build()
    wide = np.random.default_rng(3).normal(size=(200, 2 * WIDTH)).astype(np.float32)
    index = load_engine("pgvector").build(PremiseVectors("stub@1", 2 * WIDTH, NUMBERS, wide.__getitem__))
    assert index.search(100 * wide[:1], k=1).positions.shape == (1, 1)
    assert build().search(VECTORS[:1], k=1).positions.shape == (1, 1)


def test_a_server_that_is_down_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_INDEX_URL", "postgresql://ann:top-secret@127.0.0.1:1/premises")
    with pytest.raises(IndexEngineError, match="127") as error:
        build()
    assert reason(error) == "down"
    assert "top-secret" not in str(error.value)


def test_without_a_url_of_postgresql_the_engine_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_INDEX", "pgvector")
    monkeypatch.setenv("ENTAIL_DATABASE_URL", "sqlite:///trees.db")
    with pytest.raises(RetrievalError, match="ENTAIL_INDEX_URL"):
        engine_of(premises())


def test_an_old_extension_is_refused(database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE EXTENSION vector")
    database.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with pytest.raises(IndexEngineError, match=r"0\.7\.4") as error:
        build()
    assert reason(error) == "version"


def test_a_user_who_may_not_create_is_told_of_the_grant(
    url: str, database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("CREATE EXTENSION vector")
    role = f"guest_{secrets.token_hex(4)}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    monkeypatch.setenv("ENTAIL_INDEX_URL", url.replace("//postgres:", f"//{role}:"))
    with pytest.raises(IndexEngineError, match="grant") as error:
        build()
    assert reason(error) == "permission"


def test_a_search_that_takes_too_long_is_given_up(
    database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = build()
    monkeypatch.setattr(pgvector, "SEARCH_SECONDS", 1)
    with database.transaction():
        database.execute(f"LOCK TABLE {tables(database)}")
        with pytest.raises(IndexEngineError) as error:
            index.search(VECTORS[:1], k=1)
    assert reason(error) == "slow"
    assert index.search(VECTORS[:1], k=1).positions.shape == (1, 1)


def test_a_search_does_not_wait_for_a_load(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = build()
    monkeypatch.setattr(pgvector, "SEARCH_SECONDS", 2)

    def search_meanwhile(positions: Ints) -> Floats:
        assert index.search(VECTORS[:1], k=5).positions.shape == (1, 5)
        return read(positions)

    foreign = np.arange(90, dtype=np.uint64)
    assert build(foreign, read=search_meanwhile).search(VECTORS[:1], k=5).positions.shape == (1, 5)


def test_an_update_does_not_wait_for_a_long_load(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = build()
    monkeypatch.setattr(pgvector, "SEARCH_SECONDS", 1)
    reasons = []

    def update_meanwhile(positions: Ints) -> Floats:
        with pytest.raises(IndexEngineError) as error:
            index.updated(NUMBERS[1:], read)
        reasons.append(reason(error))
        return read(positions)

    build(np.arange(90, dtype=np.uint64), read=update_meanwhile)
    assert reasons == ["slow"]
    assert updated(index, NUMBERS[1:]).search(VECTORS[:1], k=5).positions.shape == (1, 5)


def test_a_full_disk_leaves_the_versions_before_as_they_were(database: psycopg.Connection[Any]) -> None:
    index = build()
    before = index.search(VECTORS[:3], k=5).positions.tolist()
    database.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$"
    )
    database.execute(
        f"CREATE TRIGGER disk BEFORE INSERT ON {tables(database)} FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    with pytest.raises(IndexEngineError) as error:
        index.updated(np.append(NUMBERS[1:], np.uint64(7)), read)
    assert reason(error) == "full"
    assert index.search(VECTORS[:3], k=5).positions.tolist() == before
    assert count(database, "entail_index.versions") == 1


def test_a_load_that_ends_midway_leaves_nothing(database: psycopg.Connection[Any]) -> None:
    def fail(positions: Ints) -> Floats:
        raise OSError("the store was moved")

    with pytest.raises(OSError, match="moved"):
        build(read=fail)
    index = build()
    assert count(database, tables(database)) == 200
    assert index.search(VECTORS[:1], k=200).positions.shape == (1, 200)


def test_lost_vectors_never_make_a_list_shorter(database: psycopg.Connection[Any]) -> None:
    index = build()
    database.execute(f"DELETE FROM {tables(database)} WHERE number > 0")
    with pytest.raises(IndexEngineError) as error:
        index.search(VECTORS[:1], k=200)
    assert reason(error) == "incomplete"
    assert build().search(VECTORS[:1], k=200).positions.shape == (1, 200)


def test_a_connection_that_the_server_ended_is_replaced(database: psycopg.Connection[Any]) -> None:
    index = build()
    before = index.search(VECTORS[:2], k=4).positions.tolist()
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert index.search(VECTORS[:2], k=4).positions.tolist() == before


def test_two_updates_of_one_version_do_not_mix(url: str) -> None:
    index = build()
    left, right = updated(index, np.append(NUMBERS, np.uint64(7))), updated(index, NUMBERS[10:])
    whole = [
        sorted(version.search(VECTORS[:1], k=999).positions[0].tolist()) for version in (index, left, right)
    ]
    assert whole == [list(range(200)), list(range(201)), list(range(190))]


def test_texts_are_searched_as_without_a_server(url: str, tmp_path: Path, encoder: Any) -> None:
    corpus = Corpus.of("facts", (f"fact {number}" for number in range(60)))
    grown = Corpus.of("facts", [*corpus.texts[1:], "a new fact"])
    rows = [PremiseRows(version, encoder, cache_dir=tmp_path) for version in (corpus, grown)]
    index = build_dense(encoder, rows[0])
    after = index.of_version(encoder, rows[1])
    assert after is not None
    queries = ["fact 7", "a new fact", "fact 0"]
    for own, version in ((index, corpus), (after, grown)):
        expected = DenseIndex(encoder, version, premise_vectors(version, encoder, cache_dir=None))
        hits, exact = own.search(queries, k=60), expected.search(queries, k=60)
        assert hits.positions.tolist() == exact.positions.tolist()
        np.testing.assert_allclose(hits.scores, exact.scores, atol=2e-4)
        np.testing.assert_allclose(own.scores(queries), expected.scores(queries), atol=2e-4)


def test_all_scores_of_a_large_corpus_are_refused(
    url: str, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus.of("facts", [f"fact {number}" for number in range(30)])
    index = build_dense(encoder, PremiseRows(corpus, encoder, cache_dir=None))
    for module in ("dense", "ranking"):
        monkeypatch.setattr(f"entail.index.{module}.ALL_SCORED", 20)
    monkeypatch.setattr("entail.index.ranking.LISTED", 7)
    with pytest.raises(RetrievalError, match="ENTAIL_INDEX=flat"):
        index.scores(["a question"])
    assert np.isfinite(scores_of(index, ["a question", "fact 3"])).sum(axis=1).tolist() == [7, 7]
