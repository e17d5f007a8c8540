"""A team's trees and decisions as a data set of the Hub."""

import csv
import io
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, Premise
from entail.errors import CorpusError, TeamError
from entail.hub.trees import FILES, push_project, push_trees
from entail.teams.projects import Plan, Projects
from entail.teams.work import Work
from entail.trees.log.acts import Accept, Create, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

FACTS = ["spring is warm", "warm snow melts", "ice is cold", "=1+1 is two"]


@pytest.fixture
def team(home: Path) -> tuple[TreeLog, CorpusStore]:
    """Two authors, one tree with a proof and one without, an example, and one put away."""
    database = open_database()
    log, store = TreeLog(database), CorpusStore(database)
    info = store.add_corpus(Corpus.of("snow", FACTS), author="Ann", licence="CC-BY-4.0", source="our notes")

    def begin(hypothesis: str, **more: Any) -> str:
        return log.create(Create(hypothesis=hypothesis), author="Ann", corpus_id=info.id, **more)

    def act(tree: str, author: str, *acts: Any) -> None:
        for action in acts:
            log.act(tree, action, author=author, base=log.history(tree).seq)

    proved, bare = begin("snow melts in spring"), begin("nothing yet")
    act(proved, "Ann", *(Accept(node="n1", premise=Premise(text)) for text in FACTS[:2]))
    act(proved, "Bob", Reject(node="n1", premise=Premise(FACTS[2])))
    act(bare, "Bob", Reject(node="n1", premise=Premise(FACTS[3])))
    example, away = begin("an example", example=True), begin("put away")
    for tree in (example, away):
        act(tree, "Cyd", Accept(node="n1", premise=Premise(FACTS[0])))
    log.archive(away, author="Ann")
    return log, store


def test_what_was_written_here_goes_there(hub: Any, token: str, team: Any, tmp_path: Path) -> None:
    log, store = team
    plan = push_trees("snow", "team/snow", log=log, store=store, dry_run=True, licence="cc0-1.0")
    assert (hub.asked, yaml.safe_load(plan.card.split("---\n")[1])["license"]) == ([], "cc0-1.0")
    done = push_trees("snow", "team/snow", log=log, store=store)
    header = yaml.safe_load(done.card.split("---\n")[1])
    assert header["license"] == "cc-by-4.0"
    assert {config["data_files"] for config in header["configs"]} == set(FILES)
    assert "| 2 accepted, 2 rejected |" in done.card
    repository = hub.repositories["datasets/team/snow"]
    assert (done.kind, done.private, repository.private) == ("dataset", True, True)
    assert set(done.files) == {"README.md", *FILES}
    text = {name: repository.files[name].decode() for name in done.files}
    (tmp_path / "trees.jsonl").write_text(text["trees.jsonl"], encoding="utf-8")
    assert [tree.hypothesis for tree in read_trees(tmp_path / "trees.jsonl")] == ["snow melts in spring"]
    rows = list(csv.DictReader(io.StringIO(text["judged.csv"])))
    verdicts = {row["premise"]: row["verdict"] for row in rows}
    premises = [*FACTS[:3], "'=1+1 is two"]
    assert verdicts == dict(zip(premises, ["accepted"] * 2 + ["rejected"] * 2, strict=True))
    by = {row["premise"]: row["author"] for row in rows}
    assert by[FACTS[0]] == by[FACTS[1]] != by[FACTS[2]] == by["'=1+1 is two"]
    assert set(by.values()) == {"author 1", "author 2"}
    everything = "".join(text.values())
    assert not [part for part in ("an example", "put away", "Ann", "Bob", "Cyd") if part in everything]
    named = push_trees("snow", "team/snow", log=log, store=store, names=True)
    assert "with their names" in named.card
    assert "Ann" in repository.files["judged.csv"].decode()


def test_a_project_is_pushed_without_what_is_hidden(hub: Any, token: str, team: Any) -> None:
    log, _ = team
    database = open_database()
    projects, work = Projects(database), Work(database)
    project = projects.create("Snow", author="Ann", plan=Plan(overlap=2))
    projects.add_hypotheses(project.id, ["snow melts", "ice melts"], actor="Ann")
    projects.write_guidelines(project.id, "Be brief.", actor="Ann")
    for name, count in (("Bob", 2), ("Cyd", 1)):
        for number in range(count):
            piece = work.next_piece(project.id, actor=name)
            assert piece is not None
            act = Write(node="n1", text=f"{name} wrote {number}")
            log.viewed_by(name).act(str(piece.tree_id), act, author=name, base=1)
            work.move(piece.id, "submit", actor=name)
    push = partial(push_project, "snow", "team/snow", database=database, log=log, actor="Bob")
    plan = push(dry_run=True, licence="cc0-1.0")
    assert (hub.asked, yaml.safe_load(plan.card.split("---\n")[1])["license"]) == ([], "cc0-1.0")
    done = push()
    repository = hub.repositories["datasets/team/snow"]
    assert (done.kind, done.private, repository.private) == ("dataset", True, True)
    assert set(done.files) <= set(repository.files)
    configs = {c["config_name"] for c in yaml.safe_load(done.card.split("---\n")[1])["configs"]}
    assert configs == {"copies", "agreement"}, "of what there is"
    text = repository.files["copies.jsonl"].decode()
    assert "Bob wrote 0" in text
    assert "Bob wrote 1" not in text, "Cyd has not submitted"
    assert "annotator-1" in text
    repository.commit({**repository.files, "guidelines/9.md": b"old", "notes.md": b"of another"})
    assert push().removed == ("guidelines/9.md",)
    with pytest.raises(TeamError):
        push_project("rain", "team/rain", database=database, log=log, actor="Bob", dry_run=True)


def test_there_must_be_something_to_push(home: Path) -> None:
    database = open_database()
    log, store = TreeLog(database), CorpusStore(database)
    for _ in range(2):
        with pytest.raises(CorpusError):
            push_trees("snow", "team/snow", log=log, store=store, dry_run=True)
        if not store.corpora():
            info = store.add_corpus(Corpus.of("snow", FACTS), author="Ann")
            log.create(Create(hypothesis="an example"), author="Ann", corpus_id=info.id, example=True)
