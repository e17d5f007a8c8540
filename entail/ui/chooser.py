"""Starting a tree, or going on with one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from entail.errors import EntailError
from entail.trees.acts import Create
from entail.trees.corpus_versions import CorpusInfo
from entail.trees.log import TreeSummary
from entail.ui.author import asks_who
from entail.ui.resources import Workspace
from entail.ui.sign_in import shown_name
from entail.ui.start_question import begin_start, draw_question, forget, leave_question
from entail.ui.words import ago, label

_OWN = "A sentence of my own"
_QUESTION = "A question, and its answer"


def draw_chooser(shared: Workspace, author: str | None) -> None:
    """Draw both: the form that starts a tree and the list of trees to go on with."""
    st.title("Trees")
    draw_start(shared, author)
    trees = shared.log.trees()
    own = [tree for tree in trees if not tree.example]
    if own:
        st.subheader("Go on with")
        draw_some(shared, own, key="find_own")
    st.subheader("Examples")
    draw_trees(shared, [tree for tree in trees if tree.example][:10])


def draw_start(shared: Workspace, author: str | None) -> None:
    """Draw the form that starts a tree: a corpus, and a hypothesis typed, picked, or made of a question."""
    corpora = shared.corpora.corpora()
    trees = shared.log.trees()
    examples = [tree.hypothesis for tree in trees if tree.example]
    with st.container(border=True):
        st.markdown("**Start a tree**")
        if not corpora:
            st.info("There is no corpus yet. Bring one on the Corpora page.", icon=":material/library_add:")
            return
        begin_start(_QUESTION)
        picked = st.selectbox(
            "Hypothesis",
            [_OWN, _QUESTION, *examples],
            key="start_pick",
            help="Type to find one among the examples",
        )
        text = picked
        if picked == _QUESTION:
            text = draw_question()
        else:
            leave_question()
        if picked == _OWN:
            text = st.text_input(
                "The claim to explain", key="start_text", max_chars=2000, placeholder="One sentence"
            )
        corpus = pick_corpus(corpora, trees, author, key="start_corpus")
        if st.button("Start", type="primary", key="start", disabled=not shared.takes_trees):
            _start(shared, author, text, corpus)


def usual_corpus(
    corpora: Sequence[CorpusInfo], trees: Sequence[TreeSummary], author: str | None
) -> CorpusInfo:
    """Return the corpus of the tree that the author worked on last, else the largest; there is one at least.

    Of `trees` the last changed comes first, as `TreeLog.trees` returns them.
    """
    known = {corpus.id: corpus for corpus in corpora}
    used = (known.get(tree.corpus_id or "") for tree in trees if author in tree.authors)
    return next(filter(None, used), None) or max(corpora, key=lambda corpus: corpus.count)


def pick_corpus(
    corpora: Sequence[CorpusInfo], trees: Sequence[TreeSummary], author: str | None, *, key: str
) -> CorpusInfo:
    """Draw the list of corpora and return the one that is picked: the author's usual one until they pick."""
    touched = f"{key}:touched"

    def touch() -> None:
        st.session_state[touched] = True

    # The author may become known, or start a tree, after the list was drawn first.
    if not st.session_state.get(touched):
        st.session_state[key] = usual_corpus(corpora, trees, author).id
    ids = {corpus.id: corpus for corpus in corpora}
    picked = st.selectbox(
        "Facts from", list(ids), format_func=lambda id: _corpus_line(ids[id]), key=key, on_change=touch
    )
    return ids[picked]


def _corpus_line(corpus: CorpusInfo) -> str:
    return f"{corpus.name} ({corpus.count:,} facts)"


def _start(shared: Workspace, author: str | None, text: str, corpus: CorpusInfo) -> None:
    if author is None:
        st.warning(asks_who(), icon=":material/person:")
        return
    if not text.strip():
        st.warning("Write the claim first: one sentence that the tree is to explain.", icon=":material/edit:")
        return
    try:
        tree_id = shared.log.create(Create(hypothesis=text.strip()), author=author, corpus_id=corpus.id)
    except EntailError as error:
        st.error(label(str(error)))
        return
    forget()
    open_tree(tree_id)


def open_tree(tree_id: str) -> None:
    """Go to the authoring screen of a tree."""
    st.session_state["tree"] = tree_id
    st.switch_page("pages/Trees.py", query_params={"tree": tree_id})


def leave_tree() -> None:
    """Go back from a tree to the list of all."""
    st.session_state.pop("tree", None)
    st.query_params.clear()


def draw_some(
    shared: Workspace, trees: Sequence[TreeSummary], *, key: str, archive: bool = False, most: int = 12
) -> None:
    """Draw the first trees of a list and, where there are more, a field that finds the others by words."""
    words = ""
    if len(trees) > most:
        words = st.text_input("Find a tree", key=key, placeholder="Words in the hypothesis")
    found = [tree for tree in trees if words.strip().lower() in tree.hypothesis.lower()]
    draw_trees(shared, found[:most], archive=archive)
    if not found:
        st.caption("No hypothesis holds these words.")
    if len(found) > most:
        st.caption(f"{len(found) - most:,} more: type a word to find them.")


def _archive(shared: Workspace, tree: TreeSummary, author: str) -> None:
    try:
        shared.log.archive(tree.id, author=author, archived=not tree.archived)
    except EntailError as error:
        st.session_state["archive_error"] = str(error)


def draw_trees(shared: Workspace, trees: Sequence[TreeSummary], *, archive: bool = False) -> None:
    """Draw a line for each tree, with who is on it now."""
    here = shared.authors.here()
    for tree in trees:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            with st.container(gap=None):
                st.markdown(label(tree.hypothesis, longest=160))
                at_work = ", ".join(
                    sorted({label(shown_name(p.author)) for p in here if p.tree_id == tree.id})
                )
                st.caption(
                    f"{tree.premises} premises, {tree.steps} steps"
                    f" · {label(shown_name(tree.changed_by))}, {ago(tree.changed_at)}"
                    + (f" · :green[:material/person: {at_work} now]" if at_work else "")
                )
            if archive and not shared.database.read_only:
                author = st.session_state.get("author")
                st.button(
                    "",
                    icon=":material/unarchive:" if tree.archived else ":material/archive:",
                    key=f"archive-{tree.id}",
                    help="Bring back" if tree.archived else "Archive: out of sight, never lost",
                    disabled=author is None,
                    on_click=_archive,
                    args=(shared, tree, author),
                    type="tertiary",
                )
            if st.button("Open", key=f"open-{tree.id}"):
                open_tree(tree.id)
