"""Members, guidelines and settings of a project."""

from __future__ import annotations

import streamlit as st

from entail.data.text import count_of, file_stem
from entail.teams.policy import ROLES
from entail.teams.projects import Project
from entail.ui.components.elements import show_errors
from entail.ui.frame import sign_in
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label, without_images
from entail.ui.work.projects import NOT_ENFORCED, draw_addition, draw_plan

_DOES = {
    "owner": "manages the project",
    "reviewer": "compares, accepts and sends back",
    "annotator": "builds trees",
    "reader": "views",
}


def draw_guidelines(shared: Workspace, author: str | None, project: Project, *, manages: bool) -> None:
    """Draw the newest guidelines; owners edit them."""
    versions = shared.projects.guidelines(project.id, actor=shared.viewer)
    if versions:
        newest = versions[0]
        st.caption(f"Version {newest.version} · {label(shown_name(newest.author))}, {ago(newest.at)}")
        with st.container(border=True):
            st.markdown(without_images(newest.text))
    else:
        st.caption("No guidelines yet.")
    if len(versions) > 1:
        with st.expander(f"Earlier versions ({len(versions) - 1})"):
            for version in versions[1:]:
                st.caption(
                    f"Version {version.version} · {label(shown_name(version.author))}, {ago(version.at)}"
                )
                st.markdown(without_images(version.text))
    if manages and author is not None:
        with st.form("guidelines", border=False):
            text = st.text_area(
                "Guidelines, Markdown",
                versions[0].text if versions else "",
                height=240,
                help="Pictures become links.",
            )
            if st.form_submit_button("Save as a new version"):
                with show_errors():
                    shared.projects.write_guidelines(project.id, text, actor=author)
                    st.rerun()


def draw_members(shared: Workspace, author: str, project: Project, *, manages: bool) -> None:
    """Draw the members with their roles; owners add, change and remove them."""
    if not sign_in.is_configured():
        st.caption(NOT_ENFORCED)
    members = shared.projects.members(project.id, actor=author)
    st.table(
        [{"member": label(shown_name(name)), "role": role, "": _DOES[role]} for name, role in members.items()]
    )
    if not manages:
        return
    with st.form("member", border=False, clear_on_submit=True):
        left, right = st.columns([3, 2])
        title = "E-mail or name" if sign_in.is_configured() else "Name"
        name = left.text_input(title)
        role = right.selectbox("Role", ROLES, index=ROLES.index("annotator"))
        if st.form_submit_button("Add, or change the role"):
            with show_errors():
                shared.projects.set_member(project.id, name, role, actor=author)
                st.rerun()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        leaving = st.selectbox("Remove", list(members), format_func=shown_name, key="leaving")
        if st.button(
            "Remove", key="remove_member", help="What they wrote is kept; open pieces are free again."
        ):
            with show_errors():
                number = shared.projects.remove_member(project.id, leaving, actor=author)
                freed = f", {count_of(number, 'piece')} free again" if number else ""
                st.session_state["work_notice"] = f"{label(shown_name(leaving))} removed{freed}"
                st.rerun()


def draw_owner(shared: Workspace, author: str, project: Project) -> None:
    """Draw what owners change: hypotheses, settings, archive."""
    st.markdown("**Add hypotheses**")
    draw_addition(shared, author, project)
    st.markdown("**Settings**")
    with st.form("settings", border=False):
        name = st.text_input("Name", project.name, max_chars=100)
        plan = draw_plan(project.plan)
        st.caption("A new number of copies is that of hypotheses added from now on.")
        if st.form_submit_button("Save"):
            with show_errors():
                shared.projects.change(project.id, actor=author, name=name, plan=plan)
                st.session_state["work_notice"] = "Settings saved"
                st.rerun()
    _draw_corpus(shared, author, project)
    st.markdown("**Export**")
    draw_export(shared, author, project)
    if st.button("Archive the project", icon=":material/archive:", key="archive_project"):
        with show_errors():
            shared.projects.archive(project.id, actor=author)
            st.session_state["work_notice"] = f"Archived: {label(project.name)}"
            st.rerun()


def draw_export(shared: Workspace, author: str, project: Project) -> None:
    """Draw the button that saves the project as a ZIP file, for who may export it."""
    names = st.toggle("Names of people", key="export_names", help="Without, people are numbered.")

    def make() -> bytes:
        from entail.teams.exchange.export import export_project

        return export_project(shared.database, shared.log, project.id, actor=author, names=names).zip()

    draw_download("Project (ZIP)", f"{file_stem(project.name)}.zip", make)


def _draw_corpus(shared: Workspace, author: str, project: Project) -> None:
    if project.corpus_id is None:
        return
    info = shared.corpora.info(project.corpus_id)
    st.caption(f"Corpus {label(info.name)}, version {project.corpus_version} of {info.version}")
    if info.version != project.corpus_version and st.button("Use the newest version", key="newest_version"):
        with show_errors():
            shared.projects.change(project.id, actor=author, corpus_version=info.version)
            st.rerun()


def draw_archived(shared: Workspace, author: str | None) -> None:
    """Draw the archived projects, each with a button that restores it."""
    archived = shared.projects.projects(shared.viewer, archived=True)
    if not archived:
        return
    with st.expander(f"Archived projects ({len(archived)})"):
        for project in archived:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(label(project.name))
                if author and st.button("Restore", key=f"restore-{project.id}", type="tertiary"):
                    with show_errors():
                        shared.projects.archive(project.id, actor=author, archived=False)
                        st.rerun()
