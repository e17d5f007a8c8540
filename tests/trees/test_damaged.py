"""A damaged act names its tree; the others stay usable, and a backup keeps and brings back all of them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.errors import DamagedTreeError
from entail.trees.installation.archive import open_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.installation.health import examine
from entail.trees.log.acts import Accept, Create, Edit, Evidence, ShownCandidate, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import count_decisions, judgements_of
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database

ICE = Premise("ice is cold")
EVIDENCE = Evidence(
    retriever="tfidf", revision="r", corpus_version=1, query="h", shown=(ShownCandidate(ICE.key, 1, 0.5),)
)

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
TEXTS = {f"damaged {number}": payload for number, payload in enumerate(PAYLOADS)}


def fill(database: Database, *hypotheses: str) -> list[str]:
    """Make trees with two decisions each; return their ids."""
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", [ICE, "fire is hot"]), author="Ann")
    log = TreeLog(database)
    ids = []
    for hypothesis in hypotheses or ("damaged", "whole"):
        tree = log.create(Create(hypothesis=hypothesis), author="Ann", corpus_id=corpus.id)
        log.act(tree, Write(node="n1", text="a"), author="Ann", base=1)
        log.act(tree, Accept(node="n1", premise=ICE), author="Ann", base=2, evidence=EVIDENCE)
        ids.append(tree)
    return ids


def run(database: Database, query: str, **values: object) -> None:
    with database.engine.begin() as connection:
        connection.execute(sa.text(query), values)


def damage(database: Database, tree: str, text: str, *, seq: int = 2, column: str = "payload") -> bool:
    """Put a text into a JSON column as it is; False if the server does not take it for JSON."""
    kind = "TEXT" if database.file is not None else "JSON"
    query = f"UPDATE events SET {column} = CAST(:text AS {kind}) WHERE tree_id = :tree AND seq = :seq"
    with suppress(sa.exc.DBAPIError):
        run(database, query, text=text, tree=tree, seq=seq)
        return True
    assert database.file is None
    return False


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def harmed(database: Database) -> tuple[list[str], str]:
    """Return the ids of the damaged trees, and of the one that is whole."""
    *trees, other = fill(database, *TEXTS, "whole")
    ids = [tree for tree, text in zip(trees, TEXTS.values(), strict=True) if damage(database, tree, text)]
    for tree in set(trees) - set(ids):  # what PostgreSQL refuses
        run(database, "DELETE FROM events WHERE tree_id = :tree", tree=tree)
        run(database, "DELETE FROM trees WHERE id = :tree", tree=tree)
    assert len(ids) >= (len(TEXTS) if database.file is not None else 10)
    return ids, other


def test_damage_stays_in_its_tree(database: Database, harmed: tuple[list[str], str]) -> None:
    trees, other = harmed
    log, corpus = TreeLog(database), CorpusStore(database).corpora()[0]
    problems = examine(database).problems
    assert len(problems) == len(trees)
    for tree in trees:
        for attempt in (
            lambda tree=tree: log.history(tree),
            lambda tree=tree: log.act(tree, Edit(node="n1", text="x"), author="Ann", base=3),
            lambda tree=tree: log.undo(tree, author="Ann"),
        ):
            with pytest.raises(DamagedTreeError, match=f"act 2.*{tree}|{tree}.*act 2"):
                attempt()
        assert any(tree in problem and "act 2" in problem for problem in problems)
    log.act(other, Write(node="n1", text="b"), author="Ann", base=3)
    assert [id for id, _ in log.histories([*trees, other])] == [other]
    assert list(judgements_of(log, corpus_id=corpus.id).accepted) == ["whole"]
    assert count_decisions(log, corpus_id=corpus.id).accepted == 3
    for tree in trees:
        log.archive(tree, author="Ann")
    assert [summary.id for summary in log.trees()] == [other]


def test_damaged_payloads_are_backed_up_and_restored(
    database: Database, harmed: tuple[list[str], str], blank_url: str, tmp_path: Path
) -> None:
    trees, other = harmed
    backup(tmp_path / "b.zip", url=url_of(database))
    restoration = restore(tmp_path / "b.zip", url=blank_url)
    back = open_database(blank_url)
    assert len(trees) == len(restoration.problems)
    assert examine(back).problems == restoration.problems
    assert TreeLog(back).history(other) == TreeLog(database).history(other)
    with back.reading() as connection:
        query = "SELECT tree_id, CAST(payload AS TEXT) FROM events WHERE seq = 2"
        texts = dict(map(tuple, connection.execute(sa.text(query))))
    for summary in TreeLog(back).trees():
        if (text := TEXTS.get(summary.hypothesis)) is not None:
            payload = json.loads(texts[summary.id])
            assert payload == text or payload == json.loads(text)
    # The texts of a second backup are those of the first.
    backup(tmp_path / "c.zip", url=blank_url)
    with open_archive(tmp_path / "b.zip") as first, open_archive(tmp_path / "c.zip") as second:
        assert first.parts["tables/events.jsonl"] == second.parts["tables/events.jsonl"]


def test_an_act_that_is_damaged_while_its_tree_is_open(database: Database) -> None:
    tree, other = fill(database)
    log = TreeLog(database)
    assert log.history(tree).seq == 3
    for act in ("write", "undo", "dance", ""):
        run(database, "UPDATE events SET act = :act WHERE tree_id = :tree AND seq = 3", tree=tree, act=act)
        with pytest.raises(DamagedTreeError, match="act 3"):
            log.history(tree)
    assert log.history(other).seq == 3


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000])
def test_damaged_evidence_is_left_out(database: Database, tmp_path: Path, text: str) -> None:
    tree, other = fill(database)
    if not damage(database, tree, text, seq=3, column="evidence"):
        pytest.skip("PostgreSQL does not take this for JSON")
    log = TreeLog(database)
    assert (log.history(tree).seq, log.evidence(tree), log.evidence(other)) == (3, {}, {3: EVIDENCE})
    (problem,) = examine(database).problems
    assert (tree in problem, "act 3" in problem) == (True, True)
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


def test_a_text_that_is_not_utf_8(sqlite: Database) -> None:
    tree, other = fill(sqlite)
    run(
        sqlite,
        "UPDATE events SET payload = CAST(x'7bff' AS TEXT) WHERE tree_id = :tree AND seq = 2",
        tree=tree,
    )
    log = TreeLog(sqlite)
    assert (len(log.trees()), log.history(other).seq) == (2, 3)
    with pytest.raises(DamagedTreeError, match="act 2"):
        log.history(tree)
