"""Start of a tree: a form for a new one, lists of existing ones, import of files."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from entail.data.text import count_of, similarity_key
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeSummary
from entail.ui.components.elements import pick_view, show_errors, toast_errors
from entail.ui.components.graph import show_picture
from entail.ui.components.inbox import keep_claim
from entail.ui.frame import sign_in
from entail.ui.frame.author import ask_name
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.corpus_choice import keep_picked, pick_corpus
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace, reference_premises
from entail.ui.shared.start_question import (
    CLAIM,
    begin_start,
    draw_question,
    forget,
    leave_question,
    smallest_example,
)
from entail.ui.shared.text import ago, label, spoken

_CLAIM, _QUESTION = WAYS = ("A claim", "A question")
"""Sources of a hypothesis."""

_RUNS, _ADDRESSED = "tree_runs", "tree_addressed"
"""Keys of the session: runs with a tree in the address, and when the app put it there last."""

_SETTLING = 2.0
"""Seconds within which the browser learns that the app has put a tree into the address."""

_WAIT_FOR_NAME, _OPEN_AGAIN = 10.0, 3.0
"""Seconds for which a start waits for the author's name, and for which a new tree is opened again."""


@dataclass
class StartRequest:
    """Start of a tree that a session asked for, and its new tree, each with its time; `twin` is an older one.

    A message of another field may come right after the click and end its run: the button's value is lost, and
    so is the change of the page. A handler sets this without the session state, which would end the run, too.
    """

    requested: float | None = None
    new_tree: tuple[str, float] | None = None
    twin: str | None = None

    def request(self) -> None:
        """Note the click."""
        self.requested = time.monotonic()
        keep_picked("start_corpus")


def start_request() -> StartRequest:
    """Return the request of this session."""
    request: StartRequest = st.session_state.setdefault("start_request", StartRequest())
    return request


def draw_chooser(shared: Workspace, author: str | None) -> None:
    """Draw the form of a new tree and the lists of trees."""
    st.title("Trees")
    st.markdown("Start a tree, or open one of your team or of the examples.")
    draw_start(shared, author)
    draw_trees(shared, shared.log.trees())


def draw_trees(shared: Workspace, trees: Sequence[TreeSummary]) -> None:
    """Draw the lists of the team's trees, of archived ones and of examples.

    A tree that this session has just archived stays in its place, to be restored.
    """
    recent, every = _recently_archived(), shared.log.trees(archived=None)
    if own := [tree for tree in every if not tree.example and (not tree.archived or tree.id in recent)]:
        st.subheader("Your team's trees")
        _draw_list(shared, own, key="find_own")
    if archived := [tree for tree in every if tree.archived and tree.id not in recent]:
        with st.expander(f"Archived ({len(archived)})"):
            _draw_list(shared, archived, key="find_archived")
    st.subheader("Examples")
    _draw_list(shared, [tree for tree in trees if tree.example], key="find_example")


def draw_start(shared: Workspace, author: str | None) -> None:
    """Draw the form of a new tree: a corpus, and a hypothesis typed or made from a question."""
    request = start_request()
    if request.new_tree is not None and time.monotonic() - request.new_tree[1] < _OPEN_AGAIN:
        show_tree(request.new_tree[0])  # the change to its page was superseded
    corpora, trees = shared.corpora.corpora(), shared.log.trees()
    with st.container(border=True, key="start_box"):
        st.markdown("**Start a tree**")
        if not corpora:
            st.info("There is no corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
            return
        begin_start(_QUESTION)
        way = pick_view("From", WAYS, default=_CLAIM, key="start_pick", width="stretch")
        if way == _QUESTION:
            text = draw_question()
        else:
            leave_question()
        corpus = pick_corpus(corpora, trees, author, key="start_corpus")
        is_signing_in = sign_in.is_configured()
        if author is None and is_signing_in:
            ask_name("start")
        keep_claim()
        # In a form, so that the claim comes with the click, and the button stays while the name is entered.
        with st.form("start_form", border=False):
            if way == _CLAIM:
                text = st.text_input(
                    "Claim to explain",
                    st.session_state.get(CLAIM, ""),
                    key="start_text",
                    placeholder="One sentence",
                )
            if author is None and not is_signing_in:
                ask_name("start")
            st.form_submit_button(
                "Start",
                type="primary",
                key="start",
                disabled=not shared.accepts_trees,
                on_click=request.request,
            )
            if request.requested is None or time.monotonic() - request.requested > _WAIT_FOR_NAME:
                return
            if author is None:  # the request lasts until the name is there
                action = "Sign in" if is_signing_in else "Enter your name"
                st.warning(f"{action} first.", icon=":material/person:")
                return
            request.requested = None
            if not text.strip():
                st.warning("Enter the claim first: one sentence.", icon=":material/edit:")
                return
            claim, own = similarity_key(text), (tree for tree in trees if not tree.example)
            twin = next((tree for tree in own if similarity_key(tree.hypothesis) == claim), None)
            if twin is not None and request.twin != twin.id:
                request.twin = twin.id
                subject = (
                    "You work" if twin.changed_by == author else f"{label(shown_name(twin.changed_by))} works"
                )
                st.info(
                    f"{subject} on a tree of this claim already. Press Start again to begin another one.",
                    icon=":material/account_tree:",
                )
                parameters = {"tree": twin.id}
                st.page_link("pages/Trees.py", label="Open the existing tree", query_params=parameters)
                return
            with show_errors():
                tree_id = shared.log.create(
                    Create(hypothesis=text.strip()), author=author, corpus_id=corpus.id
                )
                request.new_tree, request.twin = (tree_id, time.monotonic()), None
                forget()
                show_tree(tree_id)


def show_tree(tree_id: str) -> None:
    """Open the authoring screen of a tree."""
    st.session_state["tree"] = tree_id
    st.session_state[_ADDRESSED] = time.monotonic()
    _recently_archived().clear()
    st.switch_page("pages/Trees.py", query_params={"tree": tree_id})


def comes_back(tree_id: str | None) -> bool:
    """Return whether the browser's own Back took the tree out of the address.

    Of one that this app has just put there the browser may know nothing yet: it does when it has sent it back
    twice, or after a while.
    """
    runs = st.session_state.get(_RUNS, 0)
    st.session_state[_RUNS] = runs + 1 if tree_id else 0
    is_settled = runs > 1 or time.monotonic() - st.session_state.get(_ADDRESSED, math.inf) > _SETTLING
    return tree_id is None and is_settled and "view" in st.session_state


def address(tree_id: str) -> None:
    """Put a tree that is open into the address."""
    if "tree" not in st.query_params:
        st.session_state[_ADDRESSED] = time.monotonic()
    st.session_state["tree"] = st.query_params["tree"] = tree_id


def leave_tree() -> None:
    """Return from a tree to the list of trees."""
    st.session_state.pop("tree", None)
    st.query_params.clear()


_LISTED = 12
"""Trees of a list at first, and by each click more."""


def _draw_list(shared: Workspace, trees: Sequence[TreeSummary], *, key: str) -> None:
    """Draw the first trees of a list; if there are more, with a search field and a button for the next."""
    matches, listed = list(trees), st.session_state.get(f"{key}-listed", _LISTED)
    if len(trees) > _LISTED:
        typed = st.text_input("Find a tree", key=key, placeholder="Words of the claim or of an author")
        words = typed.lower().split()
        texts = (" ".join((tree.hypothesis, *map(shown_name, tree.authors))).lower() for tree in trees)
        matches = [tree for tree, text in zip(trees, texts, strict=True) if all(w in text for w in words)]
    for tree in matches[:listed]:
        _draw_tree(shared, tree)
    if not matches:
        st.caption("No tree has all of these words.")
    if len(matches) > listed:
        more = {f"{key}-listed": listed + _LISTED}
        title = f"Show more ({len(matches) - listed:,})"
        st.button(title, key=f"{key}-more", on_click=st.session_state.update, args=(more,), type="tertiary")


def _recently_archived() -> set[str]:
    """Return the ids of the trees that this session archived since it last opened one."""
    recent: set[str] = st.session_state.setdefault("recently_archived", set())
    return recent


def _draw_tree(shared: Workspace, tree: TreeSummary) -> None:
    recent = _recently_archived()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(gap=None):
            st.markdown(label(tree.hypothesis, longest=160))
            state = ":orange[:material/archive: Archived] · " if tree.archived else ""
            st.caption(
                f"{state}{count_of(tree.premises, 'premise')}, {count_of(tree.steps, 'step')}"
                f" · {label(shown_name(tree.changed_by))}, {ago(tree.changed_at)}"
            )
        if not tree.example and not shared.database.read_only:
            author, act = st.session_state.get("author"), "Restore" if tree.archived else "Archive"

            def archive() -> None:
                with toast_errors():
                    shared.log.archive(tree.id, author=author or "", archived=not tree.archived)
                    (recent.discard if tree.archived else recent.add)(tree.id)
                    state = "Restored" if tree.archived else "Archived"
                    st.toast(f"{state}: {label(tree.hypothesis, longest=80)}", icon=":material/archive:")

            st.button(
                spoken("Undo" if tree.id in recent else "", f"{act}: {tree.hypothesis}"),
                icon=":material/unarchive:" if tree.archived else ":material/archive:",
                key=f"archive-{tree.id}",
                help=act if tree.archived else f"{act}: hidden, not deleted",
                disabled=author is None,
                on_click=archive,
                type="tertiary",
            )
        if st.button(spoken("Open", tree.hypothesis), key=f"open-{tree.id}"):
            show_tree(tree.id)


def draw_example(shared: Workspace, trees: Sequence[TreeSummary]) -> None:
    """Draw the smallest example of two steps or more, held-out ones first, with a button to open it."""
    if (tree := smallest_example(trees)) is None:
        return
    with st.container(border=True, key="example-tree"):
        show_picture(shared.log.history(tree.id).tree)
        if st.button(
            "Open this example", icon=":material/account_tree:", key="open_example", type="tertiary"
        ):
            show_tree(tree.id)


def draw_import(shared: Workspace, author: str | None) -> None:
    """Draw the import of EntailmentBank JSONL (a tree a row) or claims (one a line)."""
    if is_locked_in_demo("no trees can be imported"):
        return
    notice = st.session_state.pop("import_notice", None)
    with st.expander("Import trees", icon=":material/upload_file:", expanded=notice is not None):
        if notice:
            st.success(notice)
        corpora = shared.corpora.corpora()
        corpus_id = (
            pick_corpus(corpora, shared.log.trees(), author, key="import_corpus").id if corpora else None
        )
        # An import empties the field, so that a second click imports nothing twice.
        done = st.session_state.get("trees_imported", 0)
        file = st.file_uploader(
            "EntailmentBank JSONL (.jsonl, .jsonl.gz), or claims, one a line (.txt)",
            key=f"import_file-{done}",
            max_upload_size=upload_limit(),
        )
        if file is None or not st.button(
            "Import",
            key="import_go",
            disabled=shared.database.read_only,
            on_click=keep_picked,
            args=("import_corpus",),
        ):
            return
        if author is None:
            ask_name("import")
            return
        from entail.trees.formats.convert import read_acts

        with show_errors():  # every row becomes a tree, or none if one is malformed
            corpus = shared.corpora.corpus(corpus_id) if corpus_id else None
            acts = read_acts(file.getvalue(), name=file.name, corpus=corpus)
            count = len(shared.log.create_all(acts, author=author, corpus_id=corpus_id))
            reference_premises.clear()
            st.session_state["trees_imported"] = done + 1
            st.session_state["import_notice"] = f"Imported {count_of(count, 'tree')} into your team's trees."
            st.rerun()
