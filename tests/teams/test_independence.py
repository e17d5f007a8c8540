"""Copies of one hypothesis are independent: no way out shows a hidden one."""

import io
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import entail.serving
from entail.data.records import Corpus, Premise
from entail.errors import EntailError, TeamError, UnknownTreeError
from entail.hub.trees import push_trees
from entail.teams.comments import Comments
from entail.teams.curation import Curation
from entail.teams.exchange.export import export_project
from entail.teams.moves import Piece
from entail.teams.policy import Role
from entail.teams.progress import measure_progress
from entail.teams.projects import Project
from entail.teams.report import measure_agreement
from entail.teams.versions import Versions
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
        Comments(self.team.database).add(tree_id, f"{text} @Ann @Bob @Cid", actor=name)
        Versions(self.team.database, log).name(tree_id, text, seq=seq, actor=name)

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
    team, corpus, project_id = story.team, story.corpus, story.project.id
    log, database = team.log.viewed_by(viewer), team.database
    stored, comments = CorpusStore(database), Comments(database)

    def each_tree(read: Callable[[str], object]) -> list[object]:
        results = []
        for piece in story.pieces:
            with suppress(UnknownTreeError, TeamError):
                results.append(read(piece.tree_id or ""))
        return results

    def agreed(actor: str) -> list[object]:
        curation = Curation(database, team.log)
        results: list[object] = []
        for piece in {piece.id.agreed for piece in story.pieces}:
            with suppress(TeamError):
                curation.begin(piece, actor="Rita")
                results += [curation.compare(piece, actor=actor), curation.provenance(piece, actor=actor)]
        return results

    ways: dict[str, Callable[[], object]] = {
        "trees": lambda: [(tree.id, tree.created_by) for tree in log.trees(archived=None)],
        "history": lambda: each_tree(log.history),
        "summary": lambda: each_tree(log.summary),
        "evidence": lambda: each_tree(log.evidence),
        "training": lambda: judgements_of(log),
        "search": lambda: stored.find_premises(corpus.id, "secret", limit=9),
        "exportable": lambda: [log.exportable().history(tree.id) for tree in log.exportable().trees()],
        "presence": lambda: Authors(database).list_presences(viewer),
        "shares": lambda: [Shares(database).find(token) for token in story.tokens],
    }
    if viewer in (None, "Bob"):
        ways["bundle"] = lambda: bundle(stored.corpus(corpus.id), log)
    export = partial(export_project, team.database, team.log, story.project.id, names=True)
    ways["export"] = lambda: [
        content
        for name, content in export(actor=viewer or "Rita", public=viewer is None).files.items()
        if not name.endswith(".parquet")
    ]
    if viewer is not None:
        ways |= {
            "pieces": lambda: team.work.pieces(project_id, actor=viewer),
            "piece": lambda: each_tree(lambda tree: team.work.piece_of(tree, actor=viewer)),
            "moves": lambda: [team.work.moves(piece.id, actor=viewer) for piece in story.pieces],
            "review": lambda: team.work.review_queue(project_id, actor=viewer),
            "threads": lambda: each_tree(lambda tree: comments.threads(tree, actor=viewer)),
            "mentions": lambda: comments.mentioning(viewer),
            "versions": lambda: each_tree(lambda tree: Versions(database, log).versions(tree, actor=viewer)),
            "agreement": lambda: measure_agreement(database, team.log, project_id, actor=viewer).to_json(),
            "progress": lambda: measure_progress(database, team.log, project_id, actor=viewer),
            "agreed": lambda: agreed(viewer),
        }
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
    trees = [tree for tree in team.log.trees() if tree.created_by in ANNOTATORS]  # not the agreed ones
    assert {tree.id for tree in trees} == public, "and what is not hidden is there"
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


def test_the_http_api_knows_no_trees() -> None:
    sources = Path(entail.serving.__file__).parent.glob("*.py")
    text = "\n".join(source.read_text() for source in sources)
    assert not [name for name in ("entail.teams", "entail.trees.log", "shares") if name in text]


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
    ann, eve, rex, rita = map(team.sign_in, ("Ann", "Eve", "Rex", "Rita"))
    members: dict[str, Role] = {"Ann": "annotator", "rex@lab.example": "reader", "Rita": "reviewer"}
    project = team.start("ice melts", members=members)
    tree_id = team.next(project, ann).tree_id or ""
    shares, authors = Shares(team.database), Authors(team.database)
    authors.record_presence(tree_id, ann, ROOT)
    for viewer in (ann, rex, "Eve", None):
        assert team.log.viewed_by(viewer).history(tree_id).seq == 1
        assert len(authors.list_presences(viewer)) == 1
    for viewer in (eve, SignedIn("")):
        assert team.log.viewed_by(viewer).trees() == authors.list_presences(viewer) == []
        assert team.work.piece_of(tree_id, actor=viewer) is None
        with pytest.raises(UnknownTreeError):
            team.log.viewed_by(viewer).evidence(tree_id)
        with pytest.raises(UnknownTreeError):
            shares.share_tree(tree_id, author=viewer)
    share = shares.share_tree(tree_id, author=rita)
    for viewer in (ann, rex, eve):
        for change in (
            lambda: shares.share_tree(tree_id, author=viewer),  # noqa: B023 - called in this round
            lambda: shares.revoke(share.token, author=viewer),  # noqa: B023 - called in this round
        ):
            with pytest.raises((TeamError, UnknownTreeError)):
                change()
        assert shares.of_tree(tree_id, viewer=viewer) is None
        assert team.log.viewed_by(viewer).exportable().trees() == []
    assert shares.find(share.token) == shares.of_tree(tree_id, viewer=rita) == share
    assert [tree.id for tree in team.log.viewed_by(rita).exportable().trees()] == [tree_id]
    shares.revoke(share.token, author=rita)
    assert shares.find(share.token) is None
