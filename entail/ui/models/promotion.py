"""Active models on the Models page: comparison with a candidate, promotion, rollback, history."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import streamlit as st

from entail.encoders.catalogue import PACKAGED
from entail.errors import EntailError, PromotionError
from entail.evaluation.retrieval.paired import FEW, PairedComparison
from entail.jobs.candidates import Candidate, Split, find_candidate, list_splits
from entail.progress import ProgressCallback
from entail.registry.models import (
    Active,
    active,
    is_shipped,
    promote,
    require_no_worse,
    roll_back,
    shipped_retriever,
)
from entail.registry.pointers import Pointer, list_moves, rollback_target
from entail.registry.roles import ROLES
from entail.runtime.tasks import TaskGroup
from entail.settings import is_demo
from entail.training.method import Role
from entail.trees.store.corpora import CorpusInfo
from entail.ui.components.elements import differences_table, draw_table
from entail.ui.frame.author import ask_name
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label, local
from entail.ui.shared.waiting import draw_progress, draw_result, start_task

ENCODER_TASKS = TaskGroup("encoder tasks", failure="the task failed")
"""Encoders compared and promoted."""

_VERDICTS = {
    "better": ":green[:material/trending_up:] **Better than the active model.**",
    "not different": ":gray[:material/trending_flat:] **No significant difference.**",
    "worse": ":red[:material/trending_down:] **Lower than the active model.**",
}

DEFAULT = "all other corpora"
"""Name of the corpora without a model of their own."""

_NOTICE = "models_notice"
_PROMOTING = "models_moving"
_CORPUS = "models_corpus"
_MOVES_SHOWN = 50


def draw_notice() -> None:
    """Draw how the last promotion or rollback of this session ended."""
    success, message = st.session_state.pop(_NOTICE, (True, ""))
    if message and success:
        st.success(label(message), icon=":material/check:")
    elif message:
        st.error(label(message), icon=":material/error:")


def draw_active_models(shared: Workspace, author: str | None) -> None:
    """Draw the models that were promoted, with their rollback, and the history."""
    retriever = ROLES["retriever"].title
    scopes = [
        (f"{retriever}: {info.name}", active(info.name), info.name) for info in shared.corpora.corpora()
    ]
    rows = [
        *((title, now, corpus) for title, now, corpus in scopes if now.pointer and now.pointer.corpus),
        *((record.title, active(role=role), None) for role, record in ROLES.items()),
    ]
    promoted = [row for row in rows if row[1].pointer is not None or row[1].notice is not None]
    st.markdown("##### Promoted models")
    if promoted:
        with st.container(border=True):
            for title, now, corpus in promoted:
                _draw_active(title, now, corpus, author)
    else:
        st.caption("None: every role uses the model that is packaged with entail.")
    is_locked_in_demo("nothing can be promoted or rolled back")
    if moves := list_moves():
        with st.expander(f"History ({len(moves)})", icon=":material/history:"):
            st.markdown("\n".join(f"- {_describe(move)}" for move in moves[:_MOVES_SHOWN]))


def _draw_active(title: str, now: Active, corpus: str | None, author: str | None) -> None:
    pointer = now.pointer
    own = pointer if pointer is not None and pointer.corpus == corpus else None
    if own is None or now.notice is not None:
        ships = now.encoder == PACKAGED or is_shipped(now.encoder)
        origin = "packaged with entail" if ships else "first installed model"
    else:
        verb = "restored" if own.rolled_back else "promoted"
        origin = f"{verb} by {label(own.by)}, {_clock(own.at)}"
    name, model, rollback = st.columns([4, 5, 3], vertical_alignment="center")
    name.markdown(f"**{label(title, longest=80)}**")
    model.markdown(
        f":material/check_circle: {label(model_label(now.encoder))}  \n:gray[{origin}]"
        if now.encoder
        else "none installed"
    )
    if now.notice is not None:
        model.warning(label(now.notice))
    try:
        if now.role == "retriever":
            now.check()
    except EntailError as error:
        model.error(label(str(error)))
    if own is None:
        return
    target = rollback_target(own)
    restored = str(target.encoder) if target is not None else _fallback(now.role, corpus)
    rollback.button(
        f"Restore {label(model_label(restored), longest=40)}",
        icon=":material/undo:",
        on_click=_roll_back,
        args=(corpus, now.role, author, own.number),
        disabled=author is None or is_demo(),
        key=f"back-{own.number}",
        width="stretch",
        help="Rolls back the last promotion, for everyone and within seconds.",
    )


def _fallback(role: Role, corpus: str | None) -> str:
    """Return the model that is active without any promotion for a corpus, or for all."""
    if role != "retriever":
        return ROLES[role].packaged
    return (shipped_retriever() if corpus is None else active()).encoder


def _describe(move: Pointer) -> str:
    scope = _where(move.role, move.corpus)
    if move.encoder is None:
        text = f"rolled back the last promotion {label(scope)}"
    else:
        verb = "restored" if move.rolled_back else "promoted"
        text = f"{verb} **{label(model_label(move.encoder))}** {label(scope)}"
    if move.role == "retriever" and not move.rolled_back:
        comparison = read_comparison(move.evaluation)
        text += f". {label(str(comparison))}" if comparison else ". Not compared"
    return f":gray[{_clock(move.at)}] **{label(move.by)}** {text}"


def _where(role: Role, corpus: str | None) -> str:
    if role != "retriever":
        return f"as {ROLES[role].title.lower()}"
    return f"for {corpus or DEFAULT}"


def _clock(at: datetime) -> str:
    return f"{local(at):%d %b %Y %H:%M}"


def _roll_back(corpus: str | None, role: Role, author: str, number: int) -> None:
    try:
        roll_back(corpus, by=author, role=role, number=number)
    except EntailError as error:
        st.session_state[_NOTICE] = (False, str(error))
        return
    restored = model_label(active(corpus, role=role).encoder)
    st.session_state[_NOTICE] = (True, f"Restored {restored} {_where(role, corpus)}.")


def draw_promotion(
    shared: Workspace, author: str | None, name: str, revision: str | None, role: Role
) -> None:
    """Draw the comparison of a candidate with the active model of its role, and the promotion.

    `revision` is empty if it cannot be promoted.
    """
    if not revision:
        st.info("Only an installed model that loads can be promoted.", icon=":material/block:")
        return
    if _draw_promoting():
        return
    corpora = shared.corpora.corpora()
    if role == "retriever" and not corpora:
        st.info("There is no corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return
    candidate = None
    with suppress(EntailError):  # jobs that cannot be read
        candidate = find_candidate(jobs(), name)
    info = _pick_corpus(corpora, candidate) if role == "retriever" else None
    corpus = info.name if info is not None else None
    now = active(corpus, role=role)
    if now.revision == revision and (role == "retriever" or now.encoder == name):
        st.info(label(f"Already active {_where(role, corpus)}."), icon=":material/check_circle:")
        return
    comparison = None
    if candidate is not None:
        _draw_training(candidate)
        comparison = candidate.evaluation
        if comparison is not None and (comparison.candidate, comparison.active) != (revision, now.revision):
            comparison = None  # of other weights, or with another model
    names = model_label(now.encoder), model_label(name)
    if names[0] == names[1]:
        names = f"{names[0]}, active", names[1]
    if now.encoder:
        st.markdown(f"**{label(names[1])}** compared with **{label(names[0])}**, the active model")
        premises = info or max(corpora, key=lambda corpus_info: corpus_info.count, default=None)
        splits = list_splits(jobs(), shared.log, shared.corpora, premises, candidate, role)
        comparison = _compare_on_split(splits, name, revision, now, corpus) or comparison
    if comparison is not None:
        draw_comparison(comparison, names)
    _draw_promote(shared, author, name, revision, now, info, comparison)


def _pick_corpus(corpora: Sequence[CorpusInfo], candidate: Candidate | None) -> CorpusInfo | None:
    infos = {info.id: info for info in corpora}
    if st.session_state.get(_CORPUS) not in [*infos, ""]:  # on the first run, or after a deletion
        source = candidate.job.spec.source.get("from_log") if candidate is not None else None
        trained_on = [info for info in corpora if source in (info.id, info.name)]
        st.session_state[_CORPUS] = max(trained_on or corpora, key=lambda info: info.count).id
    selected = st.selectbox(
        "Promote for",
        [*infos, ""],
        format_func=lambda id_: infos[id_].name if id_ else DEFAULT,
        key=_CORPUS,
        persist_state="session",
    )
    return infos.get(selected or "")


def _draw_training(candidate: Candidate) -> None:
    spec = candidate.job.spec
    st.caption(f":material/school: Trained on {label(spec.about)} by {label(spec.by)}, {_clock(spec.at)}.")
    if candidate.problem is not None:
        st.warning(label(f"{candidate.problem.capitalize()}."))
    for warning in candidate.job.warnings:
        st.warning(label(warning), icon=":material/warning:")


def _draw_promote(
    shared: Workspace,
    author: str | None,
    name: str,
    revision: str,
    now: Active,
    info: CorpusInfo | None,
    comparison: PairedComparison | None,
) -> None:
    target = (
        f" {label(_where(now.role, info.name if info is not None else None))}"
        if now.role == "retriever"
        else ""
    )
    replaced = f" instead of **{label(model_label(now.encoder))}**" if now.encoder else ""
    st.markdown(f"Once promoted, **{label(model_label(name))}** {ROLES[now.role].task}{target}{replaced}.")
    anyway, refused = False, False
    try:
        require_no_worse(name, revision, now, comparison)
    except PromotionError as error:
        reason, refused = str(error), True
        for model in (name, now.encoder):
            reason = reason.replace(f" {model} ", f" {model_label(model)} ")
        st.warning(label(reason[:1].upper() + reason[1:]), icon=":material/front_hand:")
        # The key holds candidate and move: a tick never carries over to another decision.
        anyway = st.checkbox("Promote anyway", key=f"anyway-{revision}-{now.number}")
    if is_locked_in_demo("nothing can be promoted"):
        return
    if author is None:
        ask_name("promotion")
    corpora = shared.corpora

    def run(report: ProgressCallback) -> Pointer:
        return promote(
            name,
            by=str(author),
            corpus=info.name if info is not None else None,
            evaluation=comparison,
            premises=corpora.corpus(info.id) if info is not None else None,
            anyway=anyway,
            number=now.number,
            progress=report,
        )

    is_advised = not refused and (comparison is None or comparison.verdict == "better")
    scope = f" for {label(info.name)}" if info is not None else ""
    st.button(
        f"Promote {label(model_label(name))}{scope}",
        icon=":material/publish:",
        type="primary" if is_advised else "secondary",
        disabled=author is None or (refused and not anyway),
        on_click=start_task,
        args=(ENCODER_TASKS, ("promote", secrets.token_hex(8)), run),
        kwargs={"slot": _PROMOTING},
        key=f"promote-{name}",
    )


def _draw_promoting() -> bool:
    """Draw the progress of this session's promotion; return whether it still runs."""
    key = st.session_state.get(_PROMOTING)
    task = ENCODER_TASKS.peek(key)
    if task is None:
        return False
    if not task.done.is_set():
        draw_progress(task, waiting="Building the index …")
        st.caption("The active model stays until the index is built. You can leave this page.")
        return True
    ENCODER_TASKS.drop(key)
    if isinstance(task.value, Pointer):
        scope = _where(task.value.role, task.value.corpus)
        message = f"{model_label(str(task.value.encoder))} is now active {scope}."
        st.session_state[_NOTICE] = (True, message)
    else:
        st.session_state[_NOTICE] = (False, f"Not promoted: {task.error}")
    st.rerun()


def _compare_on_split(
    splits: Sequence[Split], name: str, revision: str, now: Active, corpus: str | None
) -> PairedComparison | None:
    """Draw the choice of a split and the button; return the comparison with the active encoder once made.

    `corpus` names the corpus whose active encoder is meant, None for the default.
    """
    if not splits:
        st.info(
            "There is nothing to compare on. Copy an EntailmentBank file into the folder `splits` of "
            "the data folder, or build trees over this corpus.",
            icon=":material/park:",
        )
        return None
    by_name = {split.name: split for split in splits}
    selected = st.selectbox("Compare on", list(by_name), key=f"models_split-{corpus}")
    split = by_name.get(selected) or splits[0]
    key: Hashable = ("compare", revision, now.revision, split.stamp)
    comparison = draw_result(ENCODER_TASKS, key, PairedComparison, waiting="Reading the trees …")
    if comparison is not None and (comparison.candidate, comparison.active) != (revision, now.revision):
        comparison = None  # the active encoder changed meanwhile
    st.button(
        "Compare",
        icon=":material/balance:",
        on_click=start_task,
        args=(ENCODER_TASKS, key, lambda report: split.compare(name, corpus, report)),
        disabled=comparison is not None or is_demo(),
        key=f"compare-{name}",
        help="Measures both on the same data.",
    )
    return comparison


def read_comparison(evaluation: Mapping[str, object] | None) -> PairedComparison | None:
    """Return a recorded comparison; None without one, or if another version wrote it."""
    try:
        return PairedComparison.from_json(evaluation) if evaluation else None
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def draw_comparison(comparison: PairedComparison, names: tuple[str, str]) -> None:
    """Draw verdict, sample, warnings and table of a comparison of the active model and a candidate."""
    primary = comparison.measures[comparison.primary]
    st.markdown(
        f"{_VERDICTS[comparison.verdict]} {label(comparison.primary)}: {primary.second:.3f} against "
        f"{primary.first:.3f}, {primary.difference:+.3f} \\[{primary.low:+.3f}, {primary.high:+.3f}\\], p "
        f"{primary.p_shown}; {primary.better:,} cases better, {primary.worse:,} worse."
    )
    st.caption(f"On {comparison.queries:,} cases of {label(comparison.split)}.")
    if comparison.rivals:
        rivals = ", ".join(f"{name} {figure:.3f}" for name, figure in comparison.rivals.items())
        st.caption(f"Simple rules on the same data: {label(rivals)}.")
        if max(comparison.rivals.values()) >= primary.second:
            st.warning("A simple rule does at least as well as this model.", icon=":material/warning:")
    if comparison.queries < FEW:
        st.warning(f"{comparison.queries:,} cases are too few for a decision.", icon=":material/warning:")
    if comparison.seen:
        st.warning(
            f"One of the two was trained on {comparison.seen:,} of these cases: scores are optimistic.",
            icon=":material/school:",
        )
    draw_table(
        differences_table(comparison.measures, names),
        column_config={"measure": st.column_config.TextColumn("")},
        key=f"measures-{comparison.candidate}-{comparison.active}-{comparison.digest}",
    )
    st.caption(
        "In brackets: 95 % bootstrap interval over cases; ● if it excludes 0. p: paired randomisation "
        "test, not corrected for the number of measures. The first measure above decides."
    )
    if any(name.startswith("MAP") for name in comparison.measures):
        st.caption(
            "Hit@k: share of the premises in the first k. MAP and NDCG: quality of the whole ranking. Paper: "
            "the claim itself is a candidate; query excluded: it is not."
        )
