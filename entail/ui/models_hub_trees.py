"""A team's trees and decisions to the Hub, as a data set."""

from __future__ import annotations

from functools import partial

import streamlit as st

from entail.cards.licences import KNOWN, OTHER
from entail.hub.repository import Pushed
from entail.hub.trees import push_trees
from entail.ui.models_hub_work import draw_plan, draw_plan_and_push, pick_private, pick_repo
from entail.ui.resources import Workspace
from entail.ui.sign_in import shown_name
from entail.ui.words import label

_AS_CORPUS = "as the corpus's, where that is known"


def draw_push_trees(shared: Workspace, author: str | None) -> None:
    """Draw which corpus's trees are to be pushed, what would be sent, and the button that sends it."""
    corpora = {info.id: info for info in shared.corpora.corpora()}
    own = [tree for tree in shared.log.trees() if not tree.example and tree.corpus_id in corpora]
    with_trees = [id for id in corpora if any(tree.corpus_id == id for tree in own)]
    if not with_trees:
        st.info(
            "Your team has no trees yet; examples and trees that were put away are not pushed.",
            icon=":material/park:",
        )
        return
    left, right = st.columns(2, gap="large")
    with left:
        corpus = st.selectbox(
            "Trees over", with_trees, format_func=lambda id: corpora[id].name, key="hub_corpus"
        )
        licence = st.selectbox(
            "Licence",
            [_AS_CORPUS, *KNOWN, OTHER],
            key="hub_licence",
            accept_new_options=True,
            help="As you, who publish it, decide; in the Hub's words.",
        )
    with right:
        repo = pick_repo("Name of the data set on the Hub", key="hub_data_repo")
        private = pick_private(key="hub_data_private")
        names = st.toggle("With the authors' names", key="hub_names")
        st.caption("Their names go with it." if names else "Authors are numbered; no name goes with it.")
    if repo is None:
        st.caption("Give it a name on the Hub to see what would be pushed.")
        return
    said = None if licence in (None, _AS_CORPUS) else str(licence)
    # With the versions: what was decided meanwhile belongs into another preview.
    version = tuple(sorted((tree.id, tree.seq) for tree in own if tree.corpus_id == corpus))
    asked = (corpus, version, repo, private, names, said)
    push = partial(
        push_trees,
        corpus,
        repo,
        log=shared.log,
        store=shared.corpora,
        private=private,
        names=names,
        licence=said,
    )
    draw_plan_and_push(
        push,
        asked,
        key="hub_trees",
        author=author,
        help="Writes the files and makes the card.",
        waiting="Writing the files …",
        sure="" if private else "Everybody may see it, and its licence allows it",
        draw=_draw_people,
    )


def _draw_people(plan: Pushed) -> None:
    if plan.people:
        named = ", ".join(label(shown_name(name)) for name in plan.people)
        st.warning(f"These names go with it: {named}. Ask them first.", icon=":material/group:")
    draw_plan(plan)
