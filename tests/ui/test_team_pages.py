"""Work, Review and Agreement: a project from its first hypothesis to an agreed tree."""

from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from entail.teams.example import HYPOTHESES
from entail.teams.moves import Piece
from entail.teams.projects import Plan, Project
from entail.teams.report import measure_agreement
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Write
from entail.trees.log.tree import ROOT
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import by, keys, named, on_tree, opened, said, settled

TEXTS = ("snow is cold", "rain is wet")


@pytest.fixture
def project(shared: Workspace) -> Project:
    """Return a project of Ada with two hypotheses, two copies each, for Bo and Cy."""
    project = shared.projects.create("Weather", author="Ada", corpus_id=SAMPLE_ID, plan=Plan(overlap=2))
    shared.projects.add_hypotheses(project.id, TEXTS, actor="Ada")
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
    page = opened(by(app), "pages/Work.py")
    page = named(page.button, "New project").click().run()
    named(page.text_input, "Name").set_value("Weather")
    named(page.text_area, "Or type them, one a line").set_value("snow is cold\n\nsnow is cold\nrain is wet")
    named(page.number_input, "Copies of a hypothesis").set_value(2)
    page = page.run()
    page = page.button(key="create_project").click().run()
    assert not page.exception
    (project,) = shared.projects.projects("Ada")
    assert (project.name, project.plan.overlap) == ("Weather", 2)
    pieces = shared.work.pieces(project.id, actor="Ada")
    assert [piece.hypothesis for piece in pieces] == ["snow is cold"] * 2 + ["rain is wet"] * 2


def test_next_opens_a_tree_that_submission_locks(app: AppTest, shared: Workspace, project: Project) -> None:
    page = opened(by(app, "Bo"), "pages/Work.py")
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


def test_the_reason_of_what_is_sent_back_is_with_the_piece(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    piece = submit(shared, project, "Bo", ["ice is cold"])
    page = opened(by(app, "Ada"), "pages/Review.py", project=project.id)
    key = f"{piece.id.number}.{piece.id.copy}"
    page.text_area(key=f"reason-{key}").set_value("where does ice come in?")
    page = next(b for b in page.button if b.label == "Send back").click().run()
    assert not page.exception
    (own,) = shared.work.pieces(project.id, actor="Bo", mine=True)
    assert own.state == "sent back"
    page = opened(by(app, "Bo"), "pages/Work.py")
    assert "where does ice come in?" in said(page)


def test_annotators_see_no_copy_of_a_colleague_before_all_are_submitted(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    bo = submit(shared, project, "Bo", ["a secret of Bo"])
    for name in ("Work", "Review", "Agreement", "Trees"):
        page = opened(by(app, "Cy"), f"pages/{name}.py")
        assert "a secret of Bo" not in said(page) + "".join(str(i) for i in page.get("imgs"))
    page = opened(by(app, "Cy"), "pages/Trees.py", tree=str(bo.tree_id))
    assert page.error
    assert "snow is cold" not in {heading.value for heading in page.markdown}


def test_copies_are_compared_and_an_agreed_tree_is_made(
    app: AppTest, shared: Workspace, project: Project
) -> None:
    submit(shared, project, "Bo", ["snow is ice", "ice is cold"])
    submit(shared, project, "Cy", ["snow is ice", "frost is cold"])
    page = opened(by(app, "Ada"), "pages/Agreement.py", project=project.id)
    assert {metric.label for metric in page.metric} >= {"Structure", "Steps", "Premises"}
    page = opened(by(app, "Ada"), "pages/Review.py", project=project.id)
    page = page.button(key="begin_agreed").click().run()
    takes = sorted(key for key in keys(page) if key.startswith("take-"))
    assert len(takes) == 2  # "snow is ice" is there already
    page = page.button(key=takes[0]).click().run()
    page = page.button(key=next(key for key in keys(page) if key.startswith("leave-"))).click().run()
    page = page.button(key="agree").click().run()
    assert not page.exception
    agreed = next(p for p in shared.work.pieces(project.id, actor="Ada") if p.id.copy == 0)
    assert agreed.state == "accepted"
    tree = shared.log.viewed_by("Ada").history(str(agreed.tree_id)).tree
    texts = {node.text for node in tree.nodes.values()}
    assert texts > {"snow is cold", "snow is ice"}
    assert len(texts) == 3


def test_a_comment_is_answered_and_resolved(app: AppTest, shared: Workspace, project: Project) -> None:
    piece = submit(shared, project, "Bo", ["ice is cold"])
    page = opened(by(app, "Ada"), "pages/Review.py", project=project.id)
    page.text_area(key=f"comment-{piece.tree_id}-text").set_value("where is snow, @Bo?")
    page = next(b for b in page.button if b.label == "Comment").click().run()
    (thread,) = shared.comments.threads(str(piece.tree_id), actor="Ada")
    assert thread.comments[0].mentions == ("Bo",)
    page = on_tree(app, str(piece.tree_id), author="Bo")
    assert "where is snow" in said(page)
    page = page.button(key=f"resolve-{piece.tree_id}-{thread.number}").click().run()
    assert not page.exception
    (thread,) = shared.comments.threads(str(piece.tree_id), actor="Bo")
    assert thread.resolved_by == "Bo"


def test_owners_see_the_progress(app: AppTest, shared: Workspace, project: Project) -> None:
    submit(shared, project, "Bo", ["ice is cold"])
    by(app, "Ada").session_state["work_view"] = "Progress"
    page = opened(app, "pages/Work.py", project=project.id)
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric}["Accepted"] == "0 of 4"


def test_the_example_fills_all_three_pages(app: AppTest, shared: Workspace) -> None:
    page = opened(by(app), "pages/Work.py")
    page = next(button for button in page.button if button.label == "Try an example").click().run()
    assert not page.exception
    (project,) = shared.projects.projects("Ada")
    report = measure_agreement(shared.database, shared.log, project.id, actor="Ada")
    assert report.trees["clades"].hypotheses == len(report.hypotheses) == HYPOTHESES - 1
    assert 0 <= min(row.steps for row in report.hypotheses) < 1
    assert shared.work.next_piece(project.id, actor="Ada") is not None
