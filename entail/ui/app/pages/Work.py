"""Work: projects of a team, the next piece, and one's own."""

import streamlit as st

from entail.teams.permissions import allowed
from entail.ui.components.elements import pick_view
from entail.ui.frame.shell import page
from entail.ui.work.manage import draw_archived, draw_guidelines, draw_members, draw_owner
from entail.ui.work.pieces import draw_all, draw_next, draw_own
from entail.ui.work.progress import draw_progress
from entail.ui.work.projects import draw_begin, pick_project

with page("Work", "Take the next hypothesis of a project, build its tree, submit it.") as (shared, author):
    project = pick_project(shared)
    if notice := st.session_state.pop("work_notice", None):
        st.toast(notice, icon=":material/check:")
    if project is None:
        st.info(
            "No project yet. A project holds hypotheses, and hands each to one annotator or to several.",
            icon=":material/groups:",
        )
    if project is not None:
        draw_next(shared, author, project)
        # Not `str(author)`: roles count for who signed in, see `SignedIn`.
        manages = author is not None and allowed(shared.database, author, "manage", project.id).allowed
        manages &= not shared.database.read_only
        oversees = author is not None and allowed(shared.database, author, "oversee", project.id).allowed
        views = ["Mine", "All", "Guidelines", "Members"]
        views += [*(["Progress"] if oversees else []), *(["Settings"] if manages else [])]
        view = pick_view("View", views, default="Mine", key="work_view")
        if view == "Mine":
            draw_own(shared, author, project)
        elif view == "All":
            draw_all(shared, author, project, manages=manages)
        elif view == "Guidelines":
            draw_guidelines(shared, author, project, manages=manages)
        elif view == "Members":
            draw_members(shared, shared.viewer, project, manages=manages)
        elif view == "Progress" and author is not None:
            draw_progress(shared, author, project)
        elif author is not None:
            draw_owner(shared, author, project)
    draw_begin(shared, author, primary=project is None)
    draw_archived(shared, author)
