"""A damaged act names its tree; the others stay usable, and a backup keeps and brings back all of them."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus
from entail.errors import DamagedTreeError
from entail.trees.installation.archive import open_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.installation.health import examine
from entail.trees.log.acts import Accept, Create, Edit, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import count_decisions, judgements_of
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from tests.trees.conftest import EVIDENCE, ICE

PAYLOADS = (
    *('{"node": "n1", "te', "", "null", "[]", "5", '{"node": "n1"}', '{"node": "n1", "text": 7}'),
    *(
        '{"node": "n1", "text": "x", "more": 1}',
        '{"node": "n77", "text": "x"}',
        '{"node": ' + "9" * 5_000 + "}",
    ),
    *('{"node": "n1", "text": "\\ud800"}', '{"node": "n1", "text": 1e999}', '{"node": "n1", "text": "x"} {}'),
    *("[" * 100_000, "[" * 100_000 + "]" * 100_000),
)
DAMAGE: dict[str, tuple[str, str | bytes]] = {
    **{f"payload {number}": ("payload", payload) for number, payload in enumerate(PAYLOADS)},
    "no UTF-8": ("payload", b"{\xff"),
    **{f"act {kind}": ("act", kind) for kind in ("accept", "undo", "dance", "")},
}
"""Hypothesis -> column of its last act, and what stands there."""


def fill(database: Database, *hypotheses: str) -> list[str]:
    """Make trees with two decisions each; return their ids."""
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", [ICE, "fire is hot"]), author="Ann")
    log = TreeLog(database)
    ids = []
    for hypothesis in hypotheses or ("damaged", "whole"):
        tree = log.create(Create(hypothesis=hypothesis), author="Ann", corpus_id=corpus.id)
        log.act(tree, Accept(node="n1", premise=ICE), author="Ann", base=1, evidence=EVIDENCE)
        log.act(tree, Write(node="n1", text="a"), author="Ann", base=2)
        ids.append(tree)
    return ids


def run(database: Database, query: str, **values: object) -> None:
    with database.engine.begin() as connection:
        connection.execute(sa.text(query), values)


def damage(database: Database, tree: str, column: str, text: str | bytes, *, seq: int = 3) -> bool:
    """Put a text into a column of an act as it is; False if the server does not take it."""
    kind = "TEXT" if database.file is not None or column == "act" else "JSON"
    query = f"UPDATE events SET {column} = CAST(:text AS {kind}) WHERE tree_id = :tree AND seq = :seq"
    with suppress(sa.exc.DBAPIError):
        run(database, query, text=text, tree=tree, seq=seq)
        return True
    assert database.file is None
    return False


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def harmed(database: Database) -> tuple[TreeLog, list[str], str]:
    """Return a log that read all trees before, the ids of the damaged ones, and of the one that is whole."""
    log, (*trees, other) = TreeLog(database), fill(database, *DAMAGE, "whole")
    assert len([*log.histories(trees)]) == len(DAMAGE)
    ids = [tree for tree, harm in zip(trees, DAMAGE.values(), strict=True) if damage(database, tree, *harm)]
    for tree in set(trees) - set(ids):  # what PostgreSQL refuses
        run(database, "DELETE FROM events WHERE tree_id = :tree", tree=tree)
        run(database, "DELETE FROM trees WHERE id = :tree", tree=tree)
    assert len(ids) >= (len(DAMAGE) if database.file is not None else 14)
    return log, ids, other


def test_damage_stays_in_its_tree(database: Database, harmed: tuple[TreeLog, list[str], str]) -> None:
    log, trees, other = harmed
    corpus = CorpusStore(database).corpora()[0]
    problems = examine(database).problems
    assert len(problems) == len(trees)
    for tree in trees:
        for attempt in (
            lambda tree=tree: log.history(tree),
            lambda tree=tree: TreeLog(database).history(tree),
            lambda tree=tree: log.act(tree, Edit(node="n1", text="x"), author="Ann", base=3),
            lambda tree=tree: log.undo(tree, author="Ann"),
        ):
            with pytest.raises(DamagedTreeError, match=f"act 3.*{tree}|{tree}.*act 3"):
                attempt()
        assert any(tree in problem and "act 3" in problem for problem in problems)
    log.act(other, Write(node="n1", text="b"), author="Ann", base=3)
    assert [id for id, _ in log.histories([*trees, other])] == [other]
    assert list(judgements_of(log, corpus_id=corpus.id).accepted) == ["whole"]
    assert count_decisions(log, corpus_id=corpus.id).accepted == 3
    for tree in trees:
        log.archive(tree, author="Ann")
    assert [summary.id for summary in log.trees()] == [other]


def test_damaged_acts_are_backed_up_and_restored(
    database: Database, harmed: tuple[TreeLog, list[str], str], blank_url: str, tmp_path: Path
) -> None:
    log, trees, other = harmed
    backup(tmp_path / "b.zip", url=url_of(database))
    restoration = restore(tmp_path / "b.zip", url=blank_url)
    back = open_database(blank_url)
    assert len(trees) == len(restoration.problems)
    assert examine(back).problems == restoration.problems
    assert TreeLog(back).history(other) == log.history(other)
    with back.reading() as connection:
        query = "SELECT tree_id, act, CAST(payload AS TEXT) FROM events WHERE seq = 3"
        rows = {tree: (act, payload) for tree, act, payload in connection.execute(sa.text(query))}
    for summary in TreeLog(back).trees():
        column, harm = DAMAGE.get(summary.hypothesis, ("act", "write"))
        text = harm.decode(errors="backslashreplace") if isinstance(harm, bytes) else harm
        act, payload = rows[summary.id]
        stored = act if column == "act" else json.loads(payload)
        assert stored == text or stored == json.loads(text)
    # The texts of a second backup are those of the first.
    backup(tmp_path / "c.zip", url=blank_url)
    with open_archive(tmp_path / "b.zip") as first, open_archive(tmp_path / "c.zip") as second:
        assert first.parts["tables/events.jsonl"] == second.parts["tables/events.jsonl"]


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000])
def test_damaged_evidence_is_left_out(database: Database, tmp_path: Path, text: str) -> None:
    tree, other = fill(database)
    if not damage(database, tree, "evidence", text, seq=2):
        pytest.skip("PostgreSQL does not take this for JSON")
    log = TreeLog(database)
    assert (log.history(tree).seq, log.evidence(tree), log.evidence(other)) == (3, {}, {2: EVIDENCE})
    (problem,) = examine(database).problems
    assert (tree in problem, "act 2" in problem) == (True, True)
    backup(tmp_path / "b.zip", url=url_of(database))
    assert len(restore(tmp_path / "b.zip", url=f"sqlite:///{tmp_path / 'new.db'}").problems) == 1


def test_damaged_columns_of_a_summary(sqlite: Database) -> None:
    tree, _ = fill(sqlite)
    log = TreeLog(sqlite)
    for seq, text in enumerate(("{", "{}", "[" * 100_000), start=3):
        run(sqlite, "UPDATE trees SET authors = :text WHERE id = :tree", text=text, tree=tree)
        run(sqlite, "UPDATE trees SET hypothesis = CAST(x'61ff' AS TEXT) WHERE id = :tree", tree=tree)
        assert {summary.id: summary.authors for summary in log.trees()}[tree] == ()
        assert len(examine(sqlite).problems) == 1
        log.act(tree, Write(node="n1", text=f"b {seq}"), author="Ann", base=seq)
        assert (log.summary(tree).authors, log.summary(tree).hypothesis) == (("Ann",), "damaged")
        assert examine(sqlite).problems == ()
