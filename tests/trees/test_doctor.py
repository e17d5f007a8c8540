"""Health of a database, and findings of the doctor."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus
from entail.operations import doctor as doctor_module
from entail.operations.doctor import diagnose
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database


def fill(database: Database) -> Database:
    log = TreeLog(database)
    tree = log.create(Create(hypothesis="h"), author="Ann")
    log.act(tree, Write(node="n1", text="a"), author="Ann", base=1)
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", "abc"), author="Ann")
    CorpusStore(database).add(corpus.id, ["d"], author="Ann")
    return database


def test_a_healthy_database(database: Database) -> None:
    health = examine(fill(database))
    assert health.problems == ()
    assert health.revision == schema.REVISION
    assert health.size > 10_000
    rows = {"authors": 1, "corpora": 1, "corpus_changes": 2, "premises": 4, "trees": 1, "events": 2}
    assert {table: count for table, count in health.rows.items() if count} == rows


@pytest.mark.parametrize(
    "harm",
    [
        sa.update(schema.trees).values(premises=7),
        sa.update(schema.trees).values(seq=9),
        sa.delete(schema.events).where(schema.events.c.seq == 1),
        sa.update(schema.corpora).values(count=9),
        sa.update(schema.corpora).values(version=3),
    ],
    ids=["premises", "seq", "no creation", "count", "version"],
)
def test_what_is_wrong_is_one_problem(sqlite: Database, harm: Any) -> None:
    filled = fill(sqlite)
    with filled.writing() as connection:
        connection.execute(harm)
    assert len(examine(filled).problems) == 1


def test_a_new_installation_has_no_problems(own_data_folder: Path) -> None:
    diagnosis = diagnose()
    assert diagnosis.problems == ()
    assert diagnosis.database["state"].startswith("missing")
    assert not own_data_folder.exists(), "nothing is made"
    assert diagnosis.versions["entail"]
    json.dumps(diagnosis.to_json(), allow_nan=False)
    open_database().close()
    diagnosis = diagnose()
    assert (diagnosis.problems, diagnosis.database["state"]) == ((), "well")
    assert diagnosis.database["url"] == f"sqlite:///{own_data_folder / 'entail.db'}"


def test_a_damaged_file_and_a_server_out_of_reach_are_problems(
    own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_data_folder.mkdir(parents=True)
    (own_data_folder / "entail.db").write_bytes(b"no database" * 1000)
    (problem,) = diagnose().problems
    assert "entail restore FILE --replace" in problem
    for url in ("nonsense", "postgresql://ann:geheim@127.0.0.1:1/trees"):
        monkeypatch.setenv("ENTAIL_DATABASE_URL", url)
        diagnosis = diagnose()
        assert (len(diagnosis.problems), diagnosis.database["state"]) == (1, "unusable")
        assert "geheim" not in json.dumps(diagnosis.to_json())


def test_a_gpu_that_is_asked_for_and_packages_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DEVICE", "cuda:1")
    for gpus, problems in (((), 1), ((1,), 1), ((1, 2), 0)):
        monkeypatch.setattr(doctor_module, "list_gpus", lambda gpus=gpus: gpus)
        assert len(diagnose().problems) == problems
    monkeypatch.setattr(doctor_module, "_installed", lambda package: package != "torch")
    assert len(diagnose().problems) == 2, "torch, and both packages of FAISS"
    monkeypatch.setattr(doctor_module, "_installed", lambda package: not package.startswith("faiss"))
    assert len(diagnose().problems) == 1
