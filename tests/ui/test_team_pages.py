"""Work, Review and Agreement: a project from its first hypothesis to an agreed tree."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus, Premise
from entail.teams.comments import Anchor
from entail.teams.example import HYPOTHESES
from entail.teams.exchange.export import export_project
from entail.teams.moves import Piece
from entail.teams.permissions import PieceId
from entail.teams.policy import Role
from entail.teams.projects import Plan, Project
from entail.teams.report import measure_agreement
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Reject, Write
from entail.trees.log.tree import ROOT
from entail.trees.store.authors import identity_of
from entail.ui.frame import sign_in
from entail.ui.shared.resources import Workspace
from entail.ui.trees.page import open_tree
from tests.ui.conftest import by, keys, metrics, named, new_app, on_tree, opened, said, settled
from tests.ui.test_sign_in import AUTH


@pytest.fixture
def project(shared: Workspace) -> Project:
    """Return a project of Ada with two hypotheses, two copies each, for Bo and Cy."""
    project = shared.projects.create("Weather", author="Ada", corpus_id=SAMPLE_ID, plan=Plan(overlap=2))
    shared.projects.add_hypotheses(project.id, ("snow is cold", "rain is wet"), actor="Ada")
    for name in ("Bo", "Cy"):
        shared.projects.set_member(project.id, name, "annotator", actor="Ada")
    return project


def submit(shared: Workspace, project: Project, author: str, sentences: Sequence[str]) -> Piece:
    """Let an author take the next piece, write premises below its hypothesis and submit it."""
    piece = shared.work.next_piece(project.id, actor=author)
    assert piece is not None
    for text in sentences:
        log = shared.log.viewed_by(author)
        base = log.history(str(piece.tree_id)).seq
        log.act(str(piece.tree_id), Write(node=ROOT, text=text), author=author, base=base)
    return shared.work.move(piece.id, "submit", actor=author)


def test_a_project_is_made_from_typed_hypotheses(app: AppTest, shared: Workspace) -> None:
    page = opened(by(app), "Work")
    page = named(page.button, "New project").click().run()
    named(page.text_input, "Name").set_value("Weather")
    typed = ["snow is cold", "", "snow is cold", "rain is wet", "x" * 10_001]
    named(page.text_area, "Or type them, one a line").set_value("\n".join(typed))
    named(page.number_input, "Copies of a hypothesis").set_value(2)
    page = page.run()
    assert ("1 repeated" in said(page), "1 longer" in said(page)) == (True, True)
    page = page.button(key="create_project").click().run()
    (project,) = shared.projects.projects("Ada")
    assert (project.name, project.plan.overlap) == ("Weather", 2)
    pieces = shared.work.pieces(project.id, actor="Ada")
    assert [piece.hypothesis for piece in pieces] == ["snow is cold"] * 2 + ["rain is wet"] * 2


def test_questions_become_claims_and_what_is_left_out_is_counted(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    page = opened(by(app), "Work")
    page = named(page.button, "New project").click().run()
    named(page.text_input, "Name").set_value("Wins")
    page = page.toggle(key="begin-questions").set_value(True).run()
    long = "x" * 10_001
    rows = ["question,answer", "Who won?,Rome", "When did Rome win?,", ",Paris", "Who won?,Rome", f"{long},"]
    file = "\n".join(rows).encode()
    page = page.file_uploader(key="begin-file").upload("questions.csv", file, "text/csv").run()
    assert [word in said(page) for word in ("2 of 5", "1 repeated", "1 empty", "1 longer")] == [True] * 4
    page = page.button(key="create_project").click().run()
    wins = shared.projects.project("Wins", actor="Ada")
    pieces = shared.work.pieces(wins.id, actor="Ada")
    assert [piece.hypothesis for piece in pieces] == [
        "Rome won.",
        "There exists a known time when Rome won.",
    ]
    assert page.selectbox(key="project").value == wins.id


def test_an_exported_project_is_imported(app: AppTest, shared: Workspace, project: Project) -> None:
    submit(shared, project, "Bo", ["ice is cold"])
    submit(shared, project, "Cy", ["frost is cold"])
    by(app, "Ada").session_state["work_view"] = "Progress"
    page = opened(app, "Work", project=project.id)
    assert metrics(page)["Accepted"] == "0 of 4"
    page.session_state["work_view"] = "Settings"
    page = page.run().toggle(key="export_names").set_value(True).run()
    assert "weather.zip" in str(page.get("download_button")[0].proto)
    packed = export_project(shared.database, shared.log, project.id, actor="Ada", names=True).zip()
    page.session_state["work_view"] = "Mine"
    page = named(page.run().button, "New project").click().run()
    named(page.text_input, "Name").set_value("Copy")
    page = page.file_uploader(key="project-file").upload("weather.zip", packed, "application/zip").run()
    page = page.button(key="import_project").click().run()
    imported = shared.projects.project("Copy", actor="Ada")
    pieces = shared.work.pieces(imported.id, actor="Ada", states=["submitted"])
    assert [piece.annotator for piece in pieces] == ["Bo", "Cy"]
    assert page.selectbox(key="project").value == imported.id


def test_next_opens_a_tree_that_submission_locks_and_that_may_be_taken_away(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    page = opened(by(app, "Bo"), "Work")
    page = page.button(key="next_piece").click().run()
    (piece,) = shared.work.pieces(project.id, actor="Bo", mine=True)
    assert (piece.hypothesis, piece.state) == ("snow is cold", "in progress")
    assert page.session_state["tree"] == piece.tree_id
    page = on_tree(app, str(piece.tree_id), author="Bo")
    assert not page.button(key="tool-write").disabled
    page = settled(page.button(key="piece_move").click().run())
    assert shared.work.piece_of(str(piece.tree_id), actor="Bo").state == "submitted"  # type: ignore[union-attr]  # it is one
    assert page.button(key="tool-write").disabled
    page = settled(page.button(key="piece_move").click().run())  # takes it back
    assert not page.button(key="tool-write").disabled
    log = shared.log.viewed_by("Bo")
    log.act(str(piece.tree_id), Write(node=ROOT, text="ice is cold"), author="Bo", base=1)
    page = page.run()
    shared.projects.remove_member(project.id, "Bo", actor="Ada")
    page = page.button(key="tool-undo").click().run()
    assert "dismiss" in keys(page), "the page says that it was not saved"
    assert len(log.history(str(piece.tree_id)).tree.nodes) == 2, "nothing is lost"


def test_a_copy_is_accepted_another_sent_back_with_a_comment_and_a_reason(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    tree_id = str(submit(shared, project, "Bo", ["ice is cold"]).tree_id)
    submit(shared, project, "Cy", ["frost is cold"])
    page = opened(by(app, "Ada"), "Review", project=project.id)
    page.text_area(key=f"comment-{tree_id}-text").set_value("where is snow, @Bo?")
    page = named(page.button, "Comment").click().run()
    (thread,) = shared.comments.threads(tree_id, actor="Ada")
    assert thread.comments[0].mentions == ("Bo",)
    page.text_area(key="reason-1.1").set_value("where does ice come in?")
    page = named(page.button, "Send back").click().run()
    page.button(key="accept_copy-1.2").click().run()
    states = [shared.work.pieces(project.id, actor=name, mine=True)[0].state for name in ("Bo", "Cy")]
    assert states == ["sent back", "accepted"]
    page = opened(by(app, "Bo"), "Work")
    assert "where does ice come in?" in said(page)
    page = on_tree(app, tree_id, author="Bo")
    assert "where is snow" in said(page)
    page.button(key=f"resolve-{tree_id}-{thread.number}").click().run()
    (thread,) = shared.comments.threads(tree_id, actor="Bo")
    assert thread.resolved_by == "Bo"


def test_annotators_see_no_copy_of_a_colleague_before_all_are_submitted(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    bo = submit(shared, project, "Bo", ["a secret of Bo"])
    for name in ("Work", "Review", "Agreement", "Trees"):
        page = opened(by(app, "Cy"), name)
        assert "a secret of Bo" not in said(page) + "".join(str(i) for i in page.get("imgs"))
    page = opened(by(app, "Cy"), "Trees", tree=str(bo.tree_id))
    assert page.error
    assert "snow is cold" not in {heading.value for heading in page.markdown}


def test_copies_are_compared_and_an_agreed_tree_has_a_premise_once_that_two_reviewers_take(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    submit(shared, project, "Bo", ["snow is ice", "ice is cold"])
    piece = submit(shared, project, "Cy", ["snow is ice", "frost is cold"])
    shared.projects.set_member(project.id, "Dee", "reviewer", actor="Ada")
    page = opened(by(app, "Ada"), "Agreement", project=project.id)
    assert metrics(page).keys() >= {"Structure", "Steps", "Premises"}
    page = opened(by(app, "Ada"), "Review", project=project.id)
    page = page.button(key="begin_agreed").click().run()
    takes = sorted(key for key in keys(page) if key.startswith("take-"))
    assert len(takes) == 2  # "snow is ice" is there already
    comparison = shared.curation.compare(piece.id, actor="Dee")
    (row,) = (row for row in comparison.open if takes[0] == f"take-{row.key}")
    shared.curation.take(comparison, row, actor="Dee")
    page = page.button(key=takes[0]).click().run()
    page = page.button(key=takes[1].replace("take", "leave")).click().run()
    page = page.button(key="agree").click().run()
    agreed = next(p for p in shared.work.pieces(project.id, actor="Ada") if p.id.copy == 0)
    assert agreed.state == "accepted"
    tree = shared.log.viewed_by("Ada").history(str(agreed.tree_id)).tree
    texts = sorted(node.text for node in tree.nodes.values())
    assert texts == sorted(["snow is cold", "snow is ice", row.text])


def test_pictures_in_guidelines_and_names_are_not_fetched(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    picture = "![tree](https://elsewhere.example/tree.png)"
    shared.projects.write_guidelines(project.id, f"Build {picture}", actor="Ada")
    shared.projects.set_member(project.id, picture, "annotator", actor="Ada")
    for view in ("Guidelines", "Members"):
        by(app, "Ada").session_state["work_view"] = view
        page = opened(app, "Work", project=project.id)
        texts = [element.value for element in page.main.markdown]
        texts += [str(value) for table in page.table for value in table.value["member"]]
        assert any("elsewhere" in text for text in texts)
        assert not any("![" in text for text in texts)


def test_home_filters_trees_by_the_state_of_their_piece(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    begun = shared.work.next_piece(project.id, actor="Bo")
    done = submit(shared, project, "Bo", ["rain falls"])
    own = shared.log.viewed_by("Bo").create(Create(hypothesis="ice floats"), author="Bo")
    page = by(app, "Bo").run()

    def cards() -> set[str]:
        trees = {str(begun and begun.tree_id), str(done.tree_id), own}
        queries = [link.proto.query_string for link in page.get("page_link")]
        return {tree for tree in trees if any(tree in query for query in queries)}

    assert len(cards()) == 3
    page.session_state["own_state"] = "submitted"
    page = page.run()
    assert cards() == {str(done.tree_id)}


def test_a_piece_is_built_over_the_corpus_version_of_its_project(shared: Workspace) -> None:
    info = shared.corpora.add_corpus(Corpus.of("facts", ["ice is cold"]), author="Ada")
    project = shared.projects.create("Ice", author="Ada", corpus_id=info.id)
    shared.projects.add_hypotheses(project.id, ["snow is cold"], actor="Ada")
    piece = shared.work.next_piece(project.id, actor="Bo")
    assert piece is not None
    shared.corpora.add(info.id, ["snow is ice"], author="Ada")
    for version in (1, 2):
        shared.projects.change(project.id, actor="Ada", corpus_version=version)
        page = open_tree(replace(shared, log=shared.log.viewed_by("Bo")), str(piece.tree_id), "tfidf")
        assert (page.corpus_version, len(page.corpus)) == (version, version)


@pytest.mark.parametrize("start", ["Work", "Review", "Agreement"])
def test_the_example_fills_all_three_pages(app: AppTest, shared: Workspace, start: str) -> None:
    page = named(opened(app, start).button, "Try an example").click().run()
    assert page.text_input, "who has no name yet is asked for it"
    assert not shared.projects.projects("")
    named(opened(by(app), start).button, "Try an example").click().run()
    (project,) = shared.projects.projects("Ada")
    report = measure_agreement(shared.database, shared.log, project.id, actor="Ada")
    assert report.trees["clades"].hypotheses == len(report.hypotheses) == HYPOTHESES - 1
    assert 0 <= min(row.steps for row in report.hypotheses) < 1
    assert shared.work.next_piece(project.id, actor="Ada") is not None


def test_versions_are_named_compared_and_restored(app: AppTest, shared: Workspace, project: Project) -> None:
    piece = shared.work.next_piece(project.id, actor="Bo")
    assert piece is not None
    tree_id, log = str(piece.tree_id), shared.log.viewed_by("Bo")
    for base, text in enumerate(("ice is cold", "snow is ice"), start=1):
        log.act(tree_id, Write(node=ROOT, text=text), author="Bo", base=base)
    by(app, "Bo").session_state["view"] = "History"
    page = on_tree(app, tree_id, author="Bo")
    page = page.selectbox(key=f"version-{tree_id}").set_value(2).run()
    assert "snow is ice" in " ".join(element.value for element in page.main.markdown)
    page.text_input(key="version_name").set_value("first draft")
    page = named(page.button, "Name it").click().run()
    assert [(v.name, v.seq) for v in shared.versions.versions(tree_id, actor="Bo")] == [("first draft", 2)]
    page = settled(page.button(key="restore").click().run())
    history = log.history(tree_id)
    assert history.seq == 4
    assert {node.text for node in history.tree.nodes.values()} == {"snow is cold", "ice is cold"}


def test_a_comment_jumps_to_its_place_and_mentions_are_listed(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    piece = shared.work.next_piece(project.id, actor="Bo")
    assert piece is not None
    tree_id, log = str(piece.tree_id), shared.log.viewed_by("Bo")
    log.act(tree_id, Write(node=ROOT, text="ice is cold"), author="Bo", base=1)
    log.act(tree_id, Reject(node="n2", premise=Premise("fire is hot")), author="Bo", base=2)
    shared.authors.enter("Ada")
    page = opened(by(app, "Bo"), "Trees", tree=tree_id, node="n2")
    about = page.selectbox(key=f"comment-{tree_id}-about")
    assert about.value == Anchor("node", "n2")
    about.select_index(1)
    page.text_area(key=f"comment-{tree_id}-text").set_value("hot enough, @Ada?")
    named(page.button, "Comment").click().run()
    (thread,) = shared.comments.mentioning("Ada")
    assert thread.anchor == Anchor("candidate", "n2", Premise("fire is hot").key)
    page = opened(by(new_app(), "Ada"), "Work", project=project.id)
    links = {link.proto.label: link.proto for link in page.get("page_link")}
    (jump,) = (link for link in links.values() if "hot enough" in link.label)
    assert f"tree={tree_id}" in jump.query_string
    assert "node=n2" in jump.query_string
    assert any(label.startswith("Work") and "1" in label for label in links)


def test_owners_drop_a_copy_and_undo_their_moves(
    app: AppTest, shared: Workspace, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    by(app, "Ada").session_state["work_view"] = "All"
    rows: list[int] = [0]
    monkeypatch.setattr(
        "entail.ui.work.pieces.draw_table",
        lambda *_, **__: SimpleNamespace(selection=SimpleNamespace(rows=rows)),
    )
    page = opened(app, "Work", project=project.id)
    page = page.button(key="drop").click().run()
    (dropped,) = shared.work.pieces(project.id, actor="Ada", states=["dropped"])
    assert dropped.id == PieceId(project.id, 1, 1)
    assert "dropped it" in said(page)
    rows[:] = [1]
    page = page.run().button(key="drop").click().run()
    assert page.error
    assert shared.work.counts(project.id, actor="Ada") == {"dropped": 1, "open": 3}, "the last copy stays"


ROLES_OF_PAGES: dict[Role, set[str]] = {
    "owner": {"next_piece", "assign", "begin_agreed", "accept_copy-1.1", "accept_copy-1.2"},
    "reviewer": {"next_piece", "begin_agreed", "accept_copy-1.1", "accept_copy-1.2"},
    "annotator": {"next_piece"},
    "reader": set(),
}
"""Role -> buttons that its pages have, of those that any role has."""


def test_pages_offer_what_a_role_may_do(
    shared: Workspace, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = {"iss": "https://id.example", "name": "Eve", "email": "eve@lab.example", "sub": "1"}
    monkeypatch.setattr(sign_in, "provider_claims", lambda: claims or None)
    eve = shared.authors.sign_in(identity_of(claims))
    for name in ("Bo", "Cy"):
        submit(shared, project, name, [f"said {name}"])
    shared.projects.set_member(project.id, "ada@lab.example", "owner", actor="Ada")

    def offered(*, sees: bool) -> set[str]:
        names: set[str] = set()
        for name in ("Work", "Review"):
            app = new_app()
            app.secrets["auth"] = dict(AUTH)
            app.session_state["work_view"] = "All"
            page = opened(app, name, project=project.id)
            assert any(field.key == "project" for field in page.selectbox) == sees
            names |= keys(page)
        return names & set().union(*ROLES_OF_PAGES.values())

    for role, expected in ROLES_OF_PAGES.items():
        shared.projects.set_member(project.id, eve, role, actor="Ada")
        assert offered(sees=True) == expected, role
    shared.projects.remove_member(project.id, eve, actor="Ada")
    assert offered(sees=False) == set(), "no member"
    claims.clear()
    assert offered(sees=False) == set(), "a visitor who did not sign in"
