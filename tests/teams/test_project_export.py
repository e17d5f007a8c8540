"""Export of a project, and its import as a new one."""

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from entail.data.records import Corpus, Premise
from entail.errors import DataError, FormatError, TeamError, UnknownTreeError
from entail.teams.comments import Anchor, Comments
from entail.teams.curation import Curation
from entail.teams.exchange.export import ProjectExport, export_project
from entail.teams.exchange.imports import import_project
from entail.teams.permissions import PieceId
from entail.teams.projects import Plan, Project
from entail.trees.formats.bundle import zip_trees
from entail.trees.store.corpora import CorpusStore
from tests.teams.conftest import Team


def test_a_tree_has_the_review_of_its_last_move(team: Team) -> None:
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer"})
    ann, bob = team.next(project, "Ann"), team.next(project, "Bob")
    ann_id, bob_id = ann.tree_id or "", bob.tree_id or ""
    with pytest.raises(UnknownTreeError):
        team.log.viewed_by("Bob").review(ann_id)
    team.submit(ann, bob)
    team.work.move(ann.id, "accept", actor="Rita")
    team.work.move(bob.id, "send back", actor="Rita", reason="why?")
    team.work.move(bob.id, "release", actor="Bob")
    assert team.next(project, "Cid").id == bob.id
    reviews = [team.log.review(tree_id) for tree_id in (ann_id, bob_id)]
    assert [(r.number, r.copy, r.annotator, r.state, r.by) for r in reviews if r] == [
        (1, 1, "Ann", "accepted", "Rita"),
        (1, 2, "Bob", "released", "Bob"),
    ]
    with zipfile.ZipFile(io.BytesIO(zip_trees(Corpus.of("c", ["x"]), [ann_id], team.log))) as archive:
        assert json.loads(archive.read("trees.jsonl"))["review"]["by"] == "Rita"


@pytest.fixture
def bees(team: Team) -> Project:
    """The project of `begin_bees`, on SQLite."""
    return begin_bees(team)


def begin_bees(team: Team) -> Project:
    """Return a project with an agreed tree, an accepted copy, others sent back, begun, hidden and open."""
    corpus = CorpusStore(team.database).add_corpus(
        Corpus.of("facts", ["bees fly", "bees hum"]), author="Olga", licence="CC-BY-4.0"
    )
    project = team.start(overlap=2, corpus_id=corpus.id, members={"Rita": "reviewer"})
    texts = [Premise(f"claim {n}", f"c{n}", (("topic", "bees"),)) for n in range(1, 4)]
    team.projects.add_hypotheses(project.id, texts, actor="Olga")
    team.projects.change(project.id, actor="Olga", plan=Plan(overlap=1))
    team.projects.add_hypotheses(project.id, ["alone", "sent back", "open"], actor="Olga")
    for text in ("First", "Second *rules*"):
        team.projects.write_guidelines(project.id, text, actor="Olga")
    for name, premise in (("Ann", "bees fly"), ("Bob", "bees hum")):
        for _ in range(2):
            piece = team.next(project, name)
            team.judge(piece, {premise: True}, [premise])
            team.write(piece, "=bees are alive", author=name)
            if piece.id.number == 1:
                team.work.move(piece.id, "submit", actor=name)
    curation = Curation(team.database, team.log)
    agreed = curation.begin(PieceId(project.id, 1, 0), actor="Rita")
    curation.take(agreed, agreed.open[0], actor="Rita")
    team.work.move(agreed.piece.id, "agree", actor="Rita")
    for number, action in ((4, "accept"), (5, "send back")):
        piece = team.work.take(PieceId(project.id, number, 1), actor="Ann")
        team.write(piece, "bees are many")
        team.work.move(piece.id, "submit", actor="Ann")
        team.work.move(piece.id, action, actor="Rita", reason="why?")  # type: ignore[arg-type]  # both are actions
    comments, first = Comments(team.database), team.work.pieces(project.id, actor="Rita")[1]
    tree_id = first.tree_id or ""
    comments.add(tree_id, "really, @Ann?", actor="Rita", anchor=Anchor("node", "n3"))
    comments.add(tree_id, "yes", actor="Ann", thread=1)
    comments.resolve(tree_id, 1, actor="Rita")
    return project


def export(team: Team, project: Project, actor: str = "Rita", **options: Any) -> ProjectExport:
    return export_project(team.database, team.log, project.id, actor=actor, **options)


def rows(files: Mapping[str, bytes], name: str) -> list[dict[str, Any]]:
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in files[name].splitlines()]
    return parquet.read_table(pa.BufferReader(files[f"data/{name}.parquet"])).to_pylist()


def test_an_export_has_the_whole_project(team: Team, bees: Project) -> None:
    done = export(team, bees, names=True)
    files = done.files
    works = [(row["review"]["number"], row["review"]["copy"]) for row in rows(files, "copies.jsonl")]
    assert works == [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (5, 1)]
    assert [(row["number"], row["copy"], row["state"]) for row in rows(files, "trees")] == [
        (1, 0, "accepted"),
        (4, 1, "accepted"),
    ]
    assert [row["proof"] for row in rows(files, "trees")] == [
        row["proof"] for row in rows(files, "trees.jsonl")
    ]
    decisions = rows(files, "decisions")
    assert {row["rank"] for row in decisions if row["retriever"]} == {1}
    assert {row["author"] for row in decisions} >= {"Ann", "Bob"}
    table = list(csv.DictReader(io.StringIO(files["decisions.csv"].decode())))
    assert [row["premise"] for row in table] == [row["premise"] for row in decisions]
    assert [(row["sentence"], row["author"], row["mentions"]) for row in rows(files, "comments")] == [
        ("=bees are alive", "Rita", ["Ann"]),
        ("=bees are alive", "Ann", []),
    ]
    assert [row["annotators"] for row in rows(files, "agreement")] == [["Ann", "Bob"]]
    assert json.loads(files["agreement.json"])["trees"]["leaves"]["observed"] == pytest.approx(1 / 3)
    assert files["guidelines/2.md"] == b"Second *rules*"
    assert [guidelines.version for guidelines in team.projects.guidelines(bees.id, actor="Ann")] == [2, 1]
    assert len(rows(files, "hypotheses.jsonl")) == 6
    assert done.counts["copies"] == 6


def test_people_have_numbers_unless_asked_otherwise_and_annotators_do_not_export(
    team: Team, bees: Project
) -> None:
    done = export(team, bees)
    assert done.people == {"Ann": "annotator-1", "Bob": "annotator-2", "Rita": "reviewer-1"}
    text = b"".join(done.files.values()).decode(errors="replace")
    assert not [name for name in ("Ann", "Bob", "Rita", "Olga") if name in text]
    team.projects.set_member(bees.id, "Ann", "annotator", actor="Olga")
    with pytest.raises(TeamError):
        export(team, bees, team.sign_in("Ann"))


@pytest.mark.parametrize("actor", ["Rita", "Olga", "", "public"])
def test_what_the_actor_may_not_see_is_not_exported(team: Team, bees: Project, actor: str) -> None:
    if actor == "Olga":  # annotates, too
        team.work.assign(PieceId(bees.id, 3, 1), "Olga", actor="Olga")
        assert team.next(bees, "Olga").id.number == 3
        assert team.next(bees, "Bob").id == PieceId(bees.id, 3, 2)
    done = export(team, bees, "Rita", public=True) if actor == "public" else export(team, bees, actor)
    numbers = {(row["number"], row["copy"]) for row in rows(done.files, "copies")}
    hidden = {"Rita": set(), "Olga": {(3, 2)}}.get(actor, {(2, 1), (2, 2)})
    assert not numbers & hidden
    assert numbers >= {(1, 1), (1, 2), (4, 1), (5, 1)} | ({(2, 1)} - hidden)
    trees = {row["tree"] for row in rows(done.files, "copies") + rows(done.files, "trees")}
    assert {row["tree"] for row in rows(done.files, "decisions")} <= trees


def test_an_import_has_what_was_exported(team_of_both: Team, tmp_path: Path) -> None:
    team = team_of_both
    before, source = export(team, begin_bees(team), names=True), tmp_path / "bees"
    before.write(source)
    with pytest.raises(DataError):  # nothing is overwritten
        before.write(source)
    with pytest.raises(TeamError):
        import_project(source, database=team.database, actor="Olga")
    done = import_project(source, database=team.database, actor="Olga", name="Wasps")
    assert (done.hypotheses, done.trees, done.comments) == (6, 7, 2)
    team.projects.set_member(done.project.id, "Rita", "reviewer", actor="Olga")
    after = export(team, done.project, names=True)
    assert after.people == before.people
    logs = [rows(part.files, "logs.jsonl") for part in (before, after)]
    new_ids = dict(zip(*([log["tree"] for log in part] for part in logs), strict=True))
    for name in ("copies", "trees", "comments", "decisions", "hypotheses.jsonl", "logs.jsonl"):
        old, new = (json.dumps(rows(part.files, name), default=str) for part in (before, after))
        for old_id, new_id in new_ids.items():
            old = old.replace(old_id, new_id)
        assert old == new, name
    reasons = [move["reason"] for log in logs[1] for move in log["moves"] if move["action"] == "send back"]
    assert reasons == ["why?"]
    sent_back = PieceId(done.project.id, 5, 1)
    assert team.work.moves(sent_back, actor="Rita")[-1].reason == "why?", "its annotator reads it"
    curation, agreed = Curation(team.database, team.log), PieceId(done.project.id, 1, 0)
    origins = curation.provenance(agreed, actor="Rita").values()
    assert {origin.authors for origin in origins} == {("Ann", "Bob"), ("Ann",)}
    for name in ("guidelines/1.md", "guidelines/2.md", "agreement.json"):
        assert after.files[name] == before.files[name]
    outlines = [
        [
            (node.text, node.key, node.kind)
            for node in team.log.viewed_by("Rita").history(row["tree"]).tree.walk()
        ]
        for part in (before, after)
        for row in rows(part.files, "copies")
    ]
    assert outlines[:6] == outlines[6:]
    assert [s.id for s in team.log.trees() if s.id in {r["tree"] for r in rows(after.files, "copies")}]
    hidden = {row["tree"] for row in rows(after.files, "copies") if row["number"] == 2}
    assert not hidden & {summary.id for summary in team.log.trees()}, "what was hidden stays so"
    piece = PieceId(done.project.id, 4, 1)
    with pytest.raises(TeamError):
        team.work.undo(piece, actor="Rita")
    team.work.move(piece, "send back", actor="Olga", reason="again")
    assert team.next(done.project, "Cid").hypothesis == "claim 3"


def test_an_import_copes_with_a_dropped_copy(team: Team) -> None:
    project = team.start("claim", overlap=3, members={"Ann": "annotator", "Bob": "annotator"})
    team.write(team.next(project, "Ann"), "begun")
    for name in ("Bob", "Cid"):
        piece = team.next(project, name)
        team.write(piece, f"bees of {name}", author=name)
        team.work.move(piece.id, "submit", actor=name)
    team.work.move(PieceId(project.id, 1, 1), "drop", actor="Olga")
    before = export(team, project, "Olga", names=True)
    done = import_project(before.zip(), database=team.database, actor="Olga", name="Wasps")
    pieces = team.work.pieces(done.project.id, actor="Olga")
    assert [(piece.id.copy, piece.annotator, piece.state) for piece in pieces] == [
        (1, "Bob", "submitted"),
        (2, "Cid", "submitted"),
    ]


def test_accepted_trees_alone_can_be_imported(team: Team, bees: Project) -> None:
    done = import_project(
        export(team, bees).zip(), database=team.database, actor="Olga", name="W", accepted=True
    )
    pieces = team.work.pieces(done.project.id, actor="Olga", states=["accepted"])
    assert [(piece.id.number, piece.id.copy) for piece in pieces] == [(1, 1), (4, 1)]


DAMAGE: tuple[tuple[str, bytes, bytes], ...] = (
    ("project.json", b"{", b"{]"),
    ("hypotheses.jsonl", b'"number": 2', b'"number": 3'),
    ("hypotheses.jsonl", b"claim 2", b"claim 1"),
    ("copies.jsonl", b'"review"', b'"other"'),
    ("copies.jsonl", b"annotator-2", b"annotator-1"),
    ("copies.jsonl", b'"copy": 2', b'"copy": 99'),
    ("copies.jsonl", b'"submitted"', b'"lost"'),
    ("data/comments.parquet", b"PAR1", b"PAR0"),
    ("data/comments.parquet", b"resolved", b"reversed"),
    ("logs.jsonl", b'"accept"', b'"adopt"'),
    ("logs.jsonl", b'"send back"', b'"own"'),
    ("logs.jsonl", b'"state": "accepted"', b'"state": "won"'),
    ("logs.jsonl", b'"first_seq": 1', b'"first_seq": -9'),
    ("logs.jsonl", b'"tree_seq": 1', b'"tree_seq": 1e9'),
    ("logs.jsonl", b'"rank": 1', b'"rank": 99999999999999999999'),
    ("logs.jsonl", b'"score": 0.5', b'"score": NaN'),
)
"""File, a part of it, and what stands there instead."""


def test_a_damaged_export_is_refused_whole(team: Team, bees: Project) -> None:
    done = export(team, bees)
    spoilt = [{**done.files, name: done.files[name].replace(old, new)} for name, old, new in DAMAGE]
    spoilt += [{name: done.files[name] for name in done.files if name != "project.json"}]
    for files in spoilt:
        assert files != done.files
        with pytest.raises(DataError):
            import_project(replace(done, files=files).zip(), database=team.database, actor="Olga", name="W")
    with pytest.raises(FormatError):
        import_project(b"no zip", database=team.database, actor="Olga")
    assert [project.name for project in team.projects.projects("Olga")] == ["Bees"]


def test_datasets_reads_each_configuration(team: Team, bees: Project, tmp_path: Path) -> None:
    import datasets

    done, folder = export(team, bees), tmp_path / "bees"
    done.write(folder)
    for name, count in done.counts.items():
        table = datasets.load_dataset(str(folder), name, split="train", cache_dir=str(tmp_path / "cache"))
        assert table.num_rows == count
        assert table.to_list() == rows(done.files, name)
    assert set(done.counts) >= {"trees", "copies", "decisions", "agreement"}
    assert datasets.get_dataset_default_config_name(str(folder)) == "trees"
