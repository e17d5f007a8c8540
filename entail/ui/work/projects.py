"""Choice of a project, and the dialog that begins one."""

from __future__ import annotations

import streamlit as st

from entail.data.corpora import CorpusReading
from entail.data.records import Premise
from entail.data.text import count_of
from entail.teams.example import create_example
from entail.teams.exchange.imports import import_project
from entail.teams.projects import (
    DEFAULT_PLAN,
    MOST_COPIES,
    Addition,
    Plan,
    Project,
    read_hypotheses,
)
from entail.trees.log.rules import LONGEST_SENTENCE
from entail.ui.components.elements import draw_table, show_errors
from entail.ui.frame import sign_in
from entail.ui.frame.author import ask_name
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace

_KEY = "project"
"""Session key and address of the project on the screen."""

_BEGUN = "project_begun"
"""Session key: whether the form of a new project is open."""

NOT_ENFORCED = "There is no sign-in here, so everyone can do what a role would allow."


def pick_project(shared: Workspace) -> Project | None:
    """Draw the list of projects and return the chosen one; None if there is none."""
    projects = {project.id: project for project in shared.projects.projects(shared.viewer)}
    address = st.query_params.get(_KEY)
    if address in projects and st.session_state.get(f"{_KEY}:address") != address:
        st.session_state[_KEY] = st.session_state[f"{_KEY}:address"] = address
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="project-bar"):
        current = None
        if projects:
            if st.session_state.get(_KEY) not in projects:
                st.session_state[_KEY] = next(iter(projects))
            current = st.selectbox(
                "Project", list(projects), format_func=lambda id: projects[id].name, key=_KEY
            )
    if current is not None:
        st.query_params[_KEY] = current
    return projects.get(current or "")


def draw_begin(shared: Workspace, author: str | None, *, primary: bool) -> None:
    """Draw the button that begins a project."""
    if shared.database.read_only:
        is_locked_in_demo("no project can begin")
        return
    if not st.session_state.get(_BEGUN):
        with st.container(horizontal=True, gap="small"):
            st.button(
                "New project",
                icon=":material/add:",
                type="primary" if primary else "secondary",
                on_click=_show_form,
                args=(True,),
            )
            if primary:
                draw_example(shared, author)
        return
    with st.container(border=True, key="begin"):
        _draw_form(shared, author)


def draw_example(shared: Workspace, author: str | None) -> None:
    """Draw the button that makes a project with the trees of two annotators, under the author's name."""
    if shared.database.read_only or not st.button("Try an example", icon=":material/school:"):
        return
    if author is None:
        ask_name("example")
        return
    with show_errors(), st.spinner("Two annotators build seven trees …"):
        project = create_example(shared.database, shared.log, owner=author)
        st.session_state[_KEY] = st.query_params[_KEY] = project.id
        st.rerun()


def draw_no_project(shared: Workspace, author: str | None) -> None:
    """Draw where a project begins, and the button of the example, on the pages that need one."""
    st.info("No project yet. Begin one on the Work page.", icon=":material/groups:")
    draw_example(shared, author)


def _show_form(shown: bool) -> None:
    st.session_state[_BEGUN] = shown


def _draw_form(shared: Workspace, author: str | None) -> None:
    st.markdown("**New project**")
    if author is None:
        ask_name("project")
        author = st.session_state.get("author")
    name = st.text_input("Name", max_chars=100)
    corpora = {corpus.id: corpus for corpus in shared.corpora.corpora()}
    corpus = st.selectbox(
        "Corpus",
        list(corpora),
        format_func=lambda id: corpora[id].name,
        help="All search the version of today.",
    )
    premises = _draw_hypotheses("begin")
    plan = draw_plan(DEFAULT_PLAN)
    guidelines = st.text_area("Guidelines", placeholder="Markdown; optional", key="begin-guidelines")
    if not sign_in.is_configured():
        st.caption(NOT_ENFORCED)
    locked = author is None or not name.strip() or not premises
    if st.button("Create", type="primary", disabled=locked, key="create_project") and author is not None:
        with show_errors():
            project = shared.projects.create(name, author=author, corpus_id=corpus, plan=plan)
            addition = shared.projects.add_hypotheses(project.id, premises, actor=author)
            if guidelines.strip():
                shared.projects.write_guidelines(project.id, guidelines, actor=author)
            st.query_params[_KEY] = project.id
            st.session_state["work_notice"] = describe_addition(addition)
            _show_form(False)
            st.rerun()
    _draw_import(shared, author, name)
    st.button("Cancel", type="tertiary", on_click=_show_form, args=(False,), key="cancel_project")


def draw_addition(shared: Workspace, author: str, project: Project) -> None:
    """Draw the form that adds hypotheses to a project."""
    done = st.session_state.get("hypotheses_added", 0)
    premises = _draw_hypotheses(f"add-{done}")
    if st.button("Add", disabled=not premises, key="add_hypotheses"):
        with show_errors():
            addition = shared.projects.add_hypotheses(project.id, premises, actor=author)
            st.session_state["work_notice"] = describe_addition(addition)
            st.session_state["hypotheses_added"] = done + 1
            st.rerun()


def draw_plan(plan: Plan) -> Plan:
    """Draw the fields of a plan and return what they say."""
    left, right = st.columns(2)
    overlap = left.number_input(
        "Copies of a hypothesis",
        1,
        MOST_COPIES,
        plan.overlap,
        help="Annotators who work on the same hypothesis, without seeing each other's trees.",
    )
    share = right.slider(
        "Share with so many copies, %",
        0,
        100,
        round(100 * plan.share),
        step=5,
        disabled=overlap == 1,
        help="The other hypotheses get one copy.",
    )
    idle = left.number_input(
        "Idle hours until a piece is free again",
        1.0,
        8760.0,
        plan.idle_hours,
        step=1.0,
    )
    order = right.selectbox("Order", ("As in the file", "Random"), index=int(plan.shuffled))
    return Plan(int(overlap), share / 100, order == "Random", float(idle))


def describe_addition(addition: Addition) -> str:
    """Describe what was added."""
    added = f"{len(addition.numbers):,} added"
    left_out = f", {addition.repeats:,} left out: repeated, or in the project already"
    return added + (left_out if addition.repeats else "")


def _draw_hypotheses(key: str) -> list[Premise]:
    """Draw a field and a file for hypotheses, say what is left out of the file, and return the others."""
    file = st.file_uploader(
        "Hypotheses: text (one a line), CSV, Excel or JSONL",
        key=f"{key}-file",
        help="Column: hypothesis; of questions: question, and answer if there is one",
    )
    typed = "" if file else st.text_area("Or type them, one a line", key=f"{key}-typed", height=100)
    questions = st.toggle("These are questions", key=f"{key}-questions", help="Each becomes its claim.")
    premises: list[Premise] = []
    with show_errors():
        if file is not None or typed.strip():
            content, name = (file.getvalue(), file.name) if file else (typed.encode(), "typed.txt")
            reading = _read(content, name, questions)
            too_long = f"longer than {LONGEST_SENTENCE:,} characters"
            skipped = {"repeated": reading.repeats, "empty": reading.empty, too_long: reading.too_long}
            left_out = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items() if count)
            left_out = f"; left out: {left_out}" if left_out else ""
            st.caption(f"{len(reading.corpus):,} of {reading.read:,} can be added{left_out}")
            premises += reading.corpus.premises
    if questions and premises:
        with st.expander(f"Claims ({len(premises):,})", expanded=True):
            rows = [{"question": dict(p.extra)["question"], "claim": p.text} for p in premises]
            draw_table(rows, **({"height": 240} if len(rows) > 6 else {}))
    return premises


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(content: bytes, name: str, questions: bool) -> CorpusReading:
    return read_hypotheses(content, name=name, questions=questions)


def _draw_import(shared: Workspace, author: str | None, name: str) -> None:
    """Draw the field for an exported project, and make a new one of it."""
    file = st.file_uploader(
        "Or an exported project (ZIP)", type="zip", key="project-file", max_upload_size=upload_limit()
    )
    if file is None:
        return
    accepted = st.toggle("Accepted trees alone", key="import-accepted")
    locked = author is None
    if st.button("Import", type="primary", disabled=locked, key="import_project") and author is not None:
        with show_errors():
            done = import_project(
                file.getvalue(),
                database=shared.database,
                actor=author,
                name=name.strip() or None,
                accepted=accepted,
            )
            st.query_params[_KEY] = done.project.id
            counts = f"{done.hypotheses:,} hypotheses, {count_of(done.trees, 'tree')}"
            st.session_state["work_notice"] = f"Imported: {counts}"
            _show_form(False)
            st.rerun()
