"""Hub view of the Models page: push encoders and trees, pull encoders."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar

import streamlit as st

from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.encoders.cross.encoder import CrossParts
from entail.encoders.hub import OFFICIAL, has_token
from entail.errors import HubError
from entail.hub.pull import PullResult, pull_encoder
from entail.hub.push import cross_encoders, push_encoder
from entail.hub.repository import PushResult, check_repo, check_revision
from entail.hub.trees import push_project, push_trees
from entail.operations.storage import in_words
from entail.progress import ProgressCallback
from entail.runtime.tasks import TaskGroup
from entail.teams.permissions import allowed
from entail.training.cards.markdown import readable_card, section
from entail.training.cards.sources import KNOWN, OTHER
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.frame.author import ask_name
from entail.ui.frame.sign_in import shown_name
from entail.ui.models.encoders import open_encoder
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_result, start_task

_Result = TypeVar("_Result")

PUSH, TREES, PULL = "Push an encoder", "Push trees", "Pull an encoder"
"""Views, by title."""

_OF_CORPUS = "Licence of the corpus, if known"

HUB_TASKS = TaskGroup("hub", failure="the Hub did not answer")
"""Previews, pushes and pulls."""


def draw_hub(shared: Workspace, author: str | None) -> None:
    """Draw the state of the token, and the view that is selected."""
    if is_locked_in_demo("nothing can be pushed to the Hub or pulled from it"):
        return
    with show_errors():
        _draw_token()
    view = pick_view("Transfer", (PUSH, TREES, PULL), default=PUSH, key="hub_what", persist_state="session")
    if view == TREES:
        _draw_push_trees(shared, author)
    elif view == PULL:
        _draw_pull(author)
    else:
        _draw_push(author)


def _draw_token() -> None:
    """Draw whether a token is available; the page never holds the token itself."""
    from huggingface_hub import constants

    endpoint = constants.ENDPOINT.rstrip("/")
    hub_note = "" if endpoint == OFFICIAL else f" Hub: {label(endpoint)}."
    if has_token():
        st.caption(f":material/key: A Hub token is set on the server.{hub_note}")
        return
    with st.expander("No Hub token: a push needs one", icon=":material/key_off:"):
        st.markdown(
            "Set `HF_TOKEN` for the app's process, or run `hf auth login` on its machine as its user. A push "
            f"needs a token with write access. Previews and public encoders need none.{hub_note}"
        )


def _draw_push(author: str | None) -> None:
    entries: dict[str, EncoderEntry | CrossParts] = {
        entry.name: entry for entry in catalogue() if entry.kind == "folder" and entry.problem is None
    }
    entries |= cross_encoders()
    if not entries:
        st.info("There is no encoder to push yet. Train or pull one first.", icon=":material/cloud_upload:")
        return
    left, right = st.columns(2, gap="large")
    with left:
        name = st.selectbox(
            "Encoder", list(entries), format_func=model_label, key="hub_encoder", persist_state="session"
        )
        entry = entries[name]
        is_adapter = isinstance(entry, EncoderEntry) and entry.base is not None
        merged = is_adapter and st.toggle(
            "Merge into its base",
            key=f"hub_merged-{name}",
            help="The adapter alone is small and needs its base; merged, it loads anywhere.",
        )
    with right:
        repo, private = _pick_repo("Name on the Hub", key="hub_repo"), _pick_private(key="hub_private")
    _draw_plan_and_push(
        partial(push_encoder, name, repo or "", merged=merged, private=private),
        repo,
        # The revision: retrained weights of the same name are another push.
        (name, entry.revision, repo, merged, private),
        key="hub",
        author=author,
        consent="" if private else f"Everyone may see {name}, and its licence allows it",
    )


def _draw_push_trees(shared: Workspace, author: str | None) -> None:
    corpora = {info.id: info for info in shared.corpora.corpora(archived=None)}
    trees = [tree for tree in shared.log.trees() if not tree.example]
    with_trees = [id_ for id_ in corpora if any(tree.corpus_id == id_ for tree in trees)]
    actor = shared.viewer
    projects = {project.id: project for project in shared.projects.projects(actor)}
    exportable = [id_ for id_ in projects if allowed(shared.database, actor, "export", id_).allowed]
    if not with_trees and not exportable:
        st.info(
            "Your team has no trees yet. Examples and archived trees are not pushed.", icon=":material/park:"
        )
        return
    left, right = st.columns(2, gap="large")
    with left:
        picked_id = st.selectbox(
            "Corpus or project",
            [*with_trees, *exportable],
            format_func=lambda id_: f"Project {projects[id_].name}" if id_ in projects else corpora[id_].name,
            key="hub_corpus",
        )
        picked = st.selectbox(
            "Licence",
            [_OF_CORPUS, *KNOWN, OTHER],
            key="hub_licence",
            accept_new_options=True,
            help="Licence of the data set, as a Hub id.",
        )
    with right:
        repo = _pick_repo("Name of the data set on the Hub", key="hub_data_repo")
        private = _pick_private(key="hub_data_private")
        names = st.toggle("Include author names", key="hub_names", help="Without it, authors are numbered.")
    licence = None if picked in (None, _OF_CORPUS) else str(picked)
    # The versions: later decisions need another preview.
    versions: tuple[object, ...]
    if picked_id in projects:
        push = partial(
            push_project, picked_id, repo or "", database=shared.database, log=shared.log, actor=actor
        )
        versions = tuple((p.id, p.moves) for p in shared.work.pieces(picked_id, actor=actor))
        versions += tuple((tree.id, tree.seq) for tree in trees)
    else:
        push = partial(push_trees, picked_id, repo or "", log=shared.log, store=shared.corpora)
        versions = tuple(sorted((tree.id, tree.seq) for tree in trees if tree.corpus_id == picked_id))
    _draw_plan_and_push(
        partial(push, private=private, names=names, licence=licence),
        repo,
        (picked_id, versions, repo, private, names, licence),
        key="hub_trees",
        author=author,
        consent="" if private else "Everyone may see it, and its licence allows it",
    )


def _draw_pull(author: str | None) -> None:
    left, middle, right = st.columns(3)
    with left:
        repo = _pick_repo("Name on the Hub", key="hub_pull_repo")
    revision = middle.text_input(
        "Revision", key="hub_revision", max_chars=200, placeholder="main", help="Branch, tag or commit"
    ).strip()
    own = repo.rpartition("/")[2] if repo else "Name of the repository"
    name = right.text_input("Local name", key="hub_pull_name", max_chars=96, placeholder=own).strip()
    st.caption("Pulls safetensors, configuration, vocabulary and card of one commit. Every file is verified.")
    problem = ""
    try:
        check_revision(revision or "main")
        check_repo(f"x/{name or 'x'}")
    except HubError as error:
        problem = str(error).replace("x/", "")
        st.caption(f":red[{label(problem)}]")

    def pull(report: ProgressCallback) -> PullResult:
        return pull_encoder(str(repo), revision=revision or None, name=name or None, progress=report)

    done = _draw_transfer(
        "Pull",
        ("pull", repo, revision, name),
        pull,
        PullResult,
        key="hub_pull",
        author=author,
        enabled=repo is not None and not problem,
    )
    if done is None:
        return
    st.success(
        f"Pulled **{label(done.name)}** from {label(done.repo)} at commit `{done.commit[:12]}`: "
        f"{len(done.files)} files, {in_words(sum(done.files.values()))}.",
        icon=":material/cloud_done:",
    )
    if done.entry is None:
        st.caption("It is a scorer or judge, for the Chains, Trees and Claims pages.")
    else:
        st.button("Open encoder", on_click=open_encoder, args=(done.name,), key="hub_open")


def _pick_repo(title: str, *, key: str) -> str | None:
    """Draw the field for a name on the Hub; return the name if it is valid."""
    typed = st.text_input(
        title, key=key, max_chars=200, placeholder="my-team/my-name", persist_state="session"
    )
    repo = (typed or "").strip()
    try:
        if repo:
            check_repo(repo)
    except HubError as error:
        st.caption(f":red[{label(str(error))}]")
        return None
    return repo or None


def _pick_private(*, key: str) -> bool:
    private = st.toggle("Private", value=True, key=key, persist_state="session")
    if not private:
        st.warning("Public: everyone can see and copy it.", icon=":material/public:")
    return private


def _draw_plan_and_push(
    push: Callable[..., PushResult],
    repo: str | None,
    inputs: Hashable,
    *,
    key: str,
    author: str | None,
    consent: str,
) -> None:
    """Draw the preview button, the preview, the push button, and the result.

    `push` pushes, or with `dry_run=True` only stages the files; `inputs` is everything that it depends on.
    `repo` is None while it is not valid. A `consent` is a statement to tick before the push.
    """
    if repo is None:
        st.caption("Enter a name on the Hub to preview the push.")
        return
    plan_key = (key, "plan", inputs)
    st.button(
        "Preview",
        key=f"{key}_preview",
        icon=":material/visibility:",
        on_click=start_task,
        args=(HUB_TASKS, plan_key, lambda _: push(dry_run=True)),
        kwargs={"slot": f"{key}_plan"},
        help="Stages the files and the card. Sends nothing, needs no token.",
    )
    plan = draw_result(HUB_TASKS, plan_key, PushResult, waiting="Staging the files …", slot=f"{key}_plan")
    if plan is None:
        return
    _draw_plan(plan)
    done = _draw_transfer(
        f"Push to {plan.repo}",
        (key, "push", inputs),
        lambda _: push(),
        PushResult,
        key=f"{key}_push",
        author=author,
        enabled=not consent or st.checkbox(consent, key=f"{key}_sure"),
    )
    if done is None:
        return
    removed = f" Removed there: {', '.join(map(label, done.removed))}." if done.removed else ""
    st.success(
        f"Pushed {len(done.files)} files, {in_words(done.size)}, to **{label(done.repo)}** "
        f"({'private' if done.private else 'public'}), commit `{(done.commit or '')[:12]}`.{removed}",
        icon=":material/cloud_done:",
    )
    if done.url and done.url.startswith(("https://", "http://")):
        st.link_button("Open on the Hub", done.url, icon=":material/open_in_new:")


def _draw_transfer(
    title: str,
    task_key: Hashable,
    make: Callable[[ProgressCallback], _Result],
    kind: type[_Result],
    *,
    key: str,
    author: str | None,
    enabled: bool,
) -> _Result | None:
    """Draw the button that starts a transfer, and its progress; return its result."""
    if author is None:
        ask_name(key)
    st.button(
        title,
        key=key,
        icon=":material/cloud_sync:",
        type="primary",
        disabled=author is None or not enabled,
        on_click=start_task,
        args=(HUB_TASKS, task_key, make),
        kwargs={"slot": f"{key}_done"},
    )
    return draw_result(HUB_TASKS, task_key, kind, waiting="Asking the Hub …", slot=f"{key}_done")


def _draw_plan(plan: PushResult) -> None:
    if plan.people:
        names = ", ".join(label(shown_name(name)) for name in plan.people)
        st.warning(f"Includes these names: {names}. Ask them first.", icon=":material/group:")
    st.markdown(
        f"**{label(plan.repo)}**, {'private' if plan.private else ':orange[public]'}: {len(plan.files)} "
        f"files, {in_words(plan.size)}. Nothing is sent yet."
    )
    if terms := section(plan.card, "Licence"):
        with st.container(border=True):
            st.markdown(f":material/gavel: **Licence**\n\n{readable_card(terms)}")
    draw_table(
        {"file": list(plan.files), "size": [in_words(size) for size in plan.files.values()]},
        height=min(38 + 35 * len(plan.files), 320),
        column_config={"file": st.column_config.TextColumn(width="large")},
    )
    with st.container(height=420, border=True):
        st.markdown(readable_card(plan.card))
