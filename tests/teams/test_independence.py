"""Copies of one hypothesis are independent: no way out shows a hidden one."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from entail.data.records import Corpus, Premise
from entail.errors import EntailError, TeamError, UnknownTreeError
from entail.hub.trees import push_trees
from entail.teams.moves import Piece
from entail.teams.projects import Project
from entail.trees.formats.bundle import zip_trees
from entail.trees.log.acts import Evidence, Reject, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.review.decisions import count_decisions, judgements_of, read_decisions
from entail.trees.store.authors import Authors, SignedIn
from entail.trees.store.corpora import CorpusInfo, CorpusStore
from entail.trees.store.shares import Shares
from tests.teams.conftest import Team

ANNOTATORS = ("Ann", "Bob", "Cid")
VIEWERS = (*ANNOTATORS, "Rita", "Stranger")


@dataclass
class Story:
    """Random work of annotators, and a model of who may see what they wrote."""

    team: Team
    project: Project
    corpus: CorpusInfo
    pieces: list[Piece] = field(default_factory=list)
    submitted: set[str] = field(default_factory=set)
    tokens: list[str] = field(default_factory=list)

    def mark(self, piece: Piece) -> str:
        return f"secret {piece.annotator} {piece.id.number}"

    def act(self, luck: random.Random) -> None:
        """Do a random act of a random annotator."""
        name = luck.choice(ANNOTATORS)
        own = [piece for piece in self.pieces if piece.annotator == name]
        open_pieces = [piece for piece in own if piece.tree_id not in self.submitted]
        if not own or (luck.random() < 0.3):
            if piece := self.team.work.next_piece(self.project.id, actor=name):
                self.pieces.append(piece)
        elif open_pieces and luck.random() < 0.4:
            piece = luck.choice(open_pieces)
            self.team.work.move(piece.id, "submit", actor=name)
            self.submitted.add(piece.tree_id or "")
        elif open_pieces:
            self.write(luck.choice(open_pieces), luck)

    def write(self, piece: Piece, luck: random.Random) -> None:
        tree_id, log = piece.tree_id or "", self.team.log
        seq = log.viewed_by(piece.annotator).history(tree_id).seq
        text = f"{self.mark(piece)} {seq}"
        name = piece.annotator or ""
        if luck.random() < 0.5:
            log.act(tree_id, Write(node=ROOT, text=text), author=name, base=seq)
        else:
            evidence = Evidence(retriever="r", revision="1", corpus_version=1, query=text)
            act = Reject(node=ROOT, premise=Premise(text))
            log.act(tree_id, act, author=name, base=seq, evidence=evidence)
        Authors(self.team.database).record_presence(tree_id, name, f"{self.mark(piece)}")
        self.tokens.append(Shares(self.team.database).share_tree(tree_id, author=name).token)

    def hidden_from(self, viewer: str | None) -> Iterator[Piece]:
        """Yield the copies that a viewer must not see."""
        for piece in self.pieces:
            siblings = [p for p in self.pieces if p.id.number == piece.id.number]
            revealed = sum(p.tree_id in self.submitted for p in siblings) == self.project.plan.overlap
            if not revealed and viewer not in (piece.annotator, "Rita", "Olga"):
                yield piece


def bundle(corpus: Corpus, log: TreeLog) -> dict[str, bytes]:
    """Return the unpacked files of the export of all trees."""
    with zipfile.ZipFile(io.BytesIO(zip_trees(corpus, [tree.id for tree in log.trees()], log))) as files:
        return {name: files.read(name) for name in files.namelist()}


def outputs(story: Story, viewer: str | None) -> dict[str, Callable[[], object]]:
    """Return way out -> what it gives to a viewer."""
    team, corpus = story.team, story.corpus
    log = team.log.viewed_by(viewer)
    stored = CorpusStore(team.database)

    def each_tree(read: Callable[[str], object]) -> list[object]:
        results = []
        for piece in story.pieces:
            with suppress(UnknownTreeError):
                results.append(read(piece.tree_id or ""))
        return results

    ways: dict[str, Callable[[], object]] = {
        "trees": lambda: [(tree.id, tree.created_by) for tree in log.trees(archived=None)],
        "history": lambda: each_tree(log.history),
        "summary": lambda: each_tree(log.summary),
        "evidence": lambda: each_tree(log.evidence),
        "training": lambda: judgements_of(log),
        "presence": lambda: Authors(team.database).list_presences(),
        "shares": lambda: [
            each_tree(log.history) for token in story.tokens if Shares(team.database).find(token) is None
        ],
    }
    if viewer in (None, "Bob"):
        ways["bundle"] = lambda: bundle(stored.corpus(corpus.id), log)
    if viewer is not None:
        ways["pieces"] = lambda: team.work.pieces(story.project.id, actor=viewer)
        ways["moves"] = lambda: [team.work.moves(piece.id, actor=viewer) for piece in story.pieces]
    return ways


@pytest.mark.parametrize("seed", range(2))
def test_no_way_out_shows_a_hidden_copy(team: Team, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DATABASE_URL", team.database.url)
    luck = random.Random(seed)
    corpus = CorpusStore(team.database).add_corpus(Corpus.of("facts", ["ice is cold"]), author="Olga")
    members = {"Rita": "reviewer", **dict.fromkeys(ANNOTATORS, "annotator")}
    project = team.start(
        *(f"claim {n}" for n in range(3)), overlap=2 + seed % 2, corpus_id=corpus.id, members=members
    )
    story = Story(team, project, corpus)
    for _ in range(24):
        story.act(luck)
    for viewer in (*VIEWERS, None):
        hidden = list(story.hidden_from(viewer))
        for way, give in outputs(story, viewer).items():
            text = repr(give())
            leaks = [p for p in hidden if story.mark(p) in text or (p.tree_id or "-") in text]
            assert leaks == [], (viewer, way)
    public = {p.tree_id for p in story.pieces} - {p.tree_id for p in story.hidden_from(None)}
    assert {tree.id for tree in team.log.trees()} == public, "and what is not hidden is there"
    judgements = read_decisions(corpus.name)[1]
    assert not [piece for piece in story.hidden_from(None) if story.mark(piece) in repr(judgements)]
    for viewer in VIEWERS:
        view = team.log.viewed_by(viewer)
        assert count_decisions(view, corpus_id=corpus.id) == count_decisions(team.log, corpus_id=corpus.id)
    own = {name: {p.tree_id for p in story.pieces if p.annotator == name} for name in ANNOTATORS}
    for name, tree_ids in own.items():
        assert tree_ids <= {tree.id for tree in team.log.viewed_by(name).trees()}
    with suppress(EntailError):  # nothing to push yet
        plan = push_trees(
            corpus.name,
            "team/trees",
            log=team.log.viewed_by("Rita"),
            store=CorpusStore(team.database),
            dry_run=True,
        )
        assert not [piece for piece in story.hidden_from(None) if story.mark(piece) in repr(plan)]


def test_a_link_to_a_hidden_copy_leads_nowhere_until_it_is_revealed(team: Team) -> None:
    project = team.start("ice melts", overlap=2)
    ann, bob = team.next(project, "Ann"), team.next(project, "Bob")
    share = Shares(team.database).share_tree(ann.tree_id or "", author="Ann")
    assert Shares(team.database).find(share.token) is None
    for piece in (ann, bob):
        team.work.move(piece.id, "submit", actor=piece.annotator or "")
    assert Shares(team.database).find(share.token) == share


def test_a_reviewer_who_annotates_is_independent_too(team: Team) -> None:
    project = team.start("ice melts", "bees fly", overlap=2, members={"Rita": "reviewer"})
    ann = team.next(project, "Ann")
    assert team.log.viewed_by("Rita").history(ann.tree_id or "").seq == 1
    rita = team.next(project, "Rita")
    assert rita.hypothesis == "bees fly", "she may have seen the copy of the other"
    bob = team.next(project, "Bob")
    bob = team.next(project, "Bob") if bob.hypothesis == "ice melts" else bob
    with pytest.raises(UnknownTreeError):
        team.log.viewed_by("Rita").history(bob.tree_id or "")
    assert bob.id not in [piece.id for piece in team.work.pieces(project.id, actor="Rita")]
    with pytest.raises(TeamError):
        team.work.take(ann.id._replace(copy=2), actor="Rita")


def test_where_people_sign_in_a_project_is_for_its_members(team: Team) -> None:
    ann, eve = team.sign_in("Ann"), team.sign_in("Eve")
    project = team.start("ice melts", members={"Ann": "annotator", "rex@lab.example": "reader"})
    tree_id = team.next(project, ann).tree_id or ""
    for viewer in (ann, team.sign_in("Rex"), "Eve", None):
        assert team.log.viewed_by(viewer).history(tree_id).seq == 1
    for viewer in (eve, SignedIn("")):
        assert team.log.viewed_by(viewer).trees() == []
        with pytest.raises(UnknownTreeError):
            team.log.viewed_by(viewer).evidence(tree_id)
