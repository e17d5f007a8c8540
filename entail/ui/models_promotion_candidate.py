"""A candidate beside the active encoder, and the button that makes it the active one."""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import cast

import pandas as pd
import streamlit as st

from entail.errors import EntailError
from entail.evaluation.measured import Beside
from entail.pointers import Pointer
from entail.progress import ProgressCallback
from entail.promotion import Active, active, pointers, promote, require_passed
from entail.settings import is_demo
from entail.trees.corpus_versions import CorpusInfo
from entail.ui.authoring import draw_progress
from entail.ui.models_encoder_list import Row
from entail.ui.models_measure import encoder_works
from entail.ui.models_promote_button import draw_promote
from entail.ui.models_promotion import NOTICE, clock
from entail.ui.models_promotion_splits import Split, candidate_of, splits
from entail.ui.resources import Workspace, retriever_label
from entail.ui.words import label
from entail.ui.works import Work

FEW = 20
"""With fewer claims than this, a comparison tells next to nothing."""

_MOVING = "models_moving"
_CORPUS = "models_corpus"
_EVERYWHERE = "all corpora without one of their own"


def draw_promotion(shared: Workspace, author: str | None, row: Row) -> None:
    """Draw whom an encoder could rank for, how it does beside the active one, and the button."""
    if row.entry.problem is not None or row.entry.path is None:
        st.info("Only an encoder that is here and can be loaded can be promoted.", icon=":material/block:")
        return
    if _draw_moving():
        return
    corpora = shared.corpora.corpora()
    if not corpora:
        st.info(
            "There is no corpus yet to rank. Bring one on the Corpora page.", icon=":material/library_add:"
        )
        return
    corpus = _pick_corpus(corpora, row)
    name = corpus.name if corpus is not None else None
    now = active(name)
    if now.revision == row.entry.revision:
        st.info(f"It is what ranks for {label(name or _EVERYWHERE)} already.", icon=":material/check_circle:")
        return
    _draw_origin(row)
    beside = _draw_comparison(shared, row, corpus or max(corpora, key=lambda info: info.count), name, now)
    _draw_button(row, corpus, now, beside, author)


def _pick_corpus(corpora: list[CorpusInfo], row: Row) -> CorpusInfo | None:
    ids: dict[str, CorpusInfo] = {info.id: info for info in corpora}
    if st.session_state.get(_CORPUS) not in [*ids, ""]:  # at first, or because it is gone
        made = candidate_of(row.name)
        source = made.job.spec.source.get("from_log") if made is not None else None
        learnt = [info for info in corpora if source in (info.id, info.name)]
        st.session_state[_CORPUS] = max(learnt or corpora, key=lambda info: info.count).id
    choice = st.selectbox(
        "Promote for",
        [*ids, ""],
        format_func=lambda id: f"{ids[id].name} ({ids[id].count:,} facts)" if id else _EVERYWHERE,
        key=_CORPUS,
        persist_state="session",
    )
    return ids.get(choice or "")


def _draw_origin(row: Row) -> None:
    made = candidate_of(row.name)
    if made is None:
        return
    job = made.job
    st.caption(
        f":material/school: Learnt from {label(job.spec.about)}, in a training that {label(job.spec.by)} "
        f"asked for on {clock(job.spec.at)}."
    )
    if made.problem is not None:
        st.warning(label(f"{made.problem.capitalize()}."))
    for warning in job.warnings:
        st.warning(label(warning), icon=":material/warning:")


def _draw_comparison(
    shared: Workspace, row: Row, candidates: CorpusInfo, corpus: str | None, now: Active
) -> Beside | None:
    """Draw the candidate's figures beside the active encoder's; return them, None while there are none."""
    st.markdown(
        f"**{label(retriever_label(row.name))}** beside **{label(retriever_label(now.encoder))}**, "
        "which is active now"
    )
    made = candidate_of(row.name)
    kept = (
        made.evaluation
        if made is not None and made.problem is None and not made.outdated(now.revision)
        else None
    )
    found = splits(shared, made, candidates)
    if not found and kept is None:
        st.info(
            "There is nothing to compare them on: no tree over this corpus has premises yet. Put an "
            "EntailmentBank file into the folder `splits` of the data folder, or build some trees.",
            icon=":material/park:",
        )
        return None
    split = None
    if found:
        names = {one.name: one for one in found}
        chosen = st.selectbox("Compare on", list(names), key=f"models_split-{corpus}")
        split = names[chosen if chosen in names else next(iter(names))]
    place = ("compare", row.entry.revision, now.revision, split.stamp) if split is not None else None
    work = cast("Work[Beside] | None", encoder_works().look(place)) if place is not None else None
    if work is not None and not work.done.is_set():
        draw_progress(work, waiting="Reading the trees …")
        st.caption("It goes on without this page; everybody who looks here sees the same.")
        return None
    if work is not None and work.error is not None:
        st.error(label(str(work.error)), icon=":material/error:")
    fresh = work.value if work is not None else None
    if fresh is not None and (fresh.candidate, fresh.active) != (row.entry.revision, now.revision):
        fresh = None  # somebody promoted while it was made
    beside = fresh or kept
    if split is not None and place is not None:
        st.button(
            "Compare" if beside is None else "Compare on this",
            icon=":material/balance:",
            type="secondary",
            on_click=_compare,
            args=(place, split, row.name, corpus),
            disabled=fresh is not None or is_demo(),
            key=f"compare-{row.name}",
            help="Both look for the known premises of the same claims.",
        )
    if beside is not None:
        draw_beside(beside, (retriever_label(now.encoder), retriever_label(row.name)))
    return beside


def draw_beside(beside: Beside, names: tuple[str, str]) -> None:
    """Draw both encoders' figures, the difference with its interval, and what it comes to in words."""
    icon, said = _VERDICTS[beside.verdict]
    decisive = beside.measures[beside.primary]
    st.markdown(
        f"{icon} **{said}** {label(beside.primary)}: {decisive.second:.3f} against {decisive.first:.3f}, "
        f"{decisive.difference:+.3f} \\[{decisive.low:+.3f}, {decisive.high:+.3f}\\], p "
        f"{decisive.p_shown}; {decisive.better:,} claims better, {decisive.worse:,} worse."
    )
    st.caption(f"Over {beside.queries:,} claims of {label(beside.split)}.")
    if beside.queries < FEW:
        st.warning(f"{beside.queries:,} claims are too few to tell.", icon=":material/warning:")
    if beside.seen:
        st.warning(
            f"One of the two was trained on {beside.seen:,} of these claims and knows them by heart: this "
            "says nothing about claims that it has not seen.",
            icon=":material/school:",
        )
    table = beside_table(beside, names)
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={"measure": st.column_config.TextColumn("")},
        key=f"beside-{beside.candidate}-{beside.active}-{beside.digest}",
    )
    st.caption(
        "In brackets: 95 % bootstrap interval over claims; ● where it leaves 0 out. p: paired randomisation "
        "test, not corrected for the number of measures. What decides is the first line above."
    )


_VERDICTS = {
    "better": (":green[:material/trending_up:]", "It does better."),
    "not different": (":gray[:material/trending_flat:]", "No difference can be shown."),
    "worse": (":red[:material/trending_down:]", "It does worse."),
}


def beside_table(beside: Beside, names: tuple[str, str]) -> pd.DataFrame:
    """Return the measures of both as a person reads them."""
    first, second = names if names[0] != names[1] else (f"{names[0]}, active", names[1])
    found = beside.measures.values()
    return pd.DataFrame(
        {
            "measure": list(beside.measures),
            first: [f"{one.first:.3f}" for one in found],
            second: [f"{one.second:.3f}" for one in found],
            "difference": [
                f"{'●' if one.low > 0 or one.high < 0 else '○'} {one.difference:+.3f} "
                f"[{one.low:+.3f}, {one.high:+.3f}]"
                for one in found
            ],
            "p": [one.p_shown for one in found],
        }
    )


def _draw_button(
    row: Row, corpus: CorpusInfo | None, now: Active, beside: Beside | None, author: str | None
) -> None:
    whom = f" for {label(corpus.name)}" if corpus is not None else ""
    draw_promote(
        f"Promote {label(retriever_label(row.name))}{whom}",
        does=what_it_does(row, corpus, now),
        check=lambda: require_passed(beside, str(row.entry.revision), now.revision),
        promote=lambda anyway: _promote(row.name, corpus, str(author), beside, anyway, now.number),
        author=author,
        key=f"promote-{row.name}",
        stands=(str(row.entry.revision), now.number),
    )


def what_it_does(row: Row, corpus: CorpusInfo | None, now: Active) -> str:
    """Return what promoting an encoder changes and what it does not, as Markdown."""
    single = row.entry.base is not None and row.entry.towers == "single"
    premise = str(row.entry.base.revision) if single and row.entry.base else row.entry.revision
    if corpus is None:
        own = [move.corpus for move in pointers() if move.corpus]
        whom = "for every corpus that has none of its own"
        stay = (
            f" Corpora with one of their own stay as they are: {label(', '.join(map(str, own)))}."
            if own
            else ""
        )
        index = "Indexes are made as they are asked for."
    else:
        whom, stay = f"for everybody on **{label(corpus.name)}**", ""
        index = (
            "It searches the index that is there: nothing is encoded."
            if premise == now.premise_revision
            else f"First its index is made ({corpus.count:,} facts are encoded, unless they were); until "
            "then nothing changes."
        )
    return (
        f"**{label(retriever_label(row.name))}** ranks {whom} instead of "
        f"**{label(retriever_label(now.encoder))}**, from their next look on. {index} Who chose a retriever "
        f"by hand keeps it; trees and judgements stay as they are.{stay} One click above takes it back."
    )


def _compare(place: Hashable, split: Split, name: str, corpus: str | None) -> None:
    encoder_works().drop(lambda other: other == place)
    encoder_works().take(place, lambda report: split.compare(name, corpus, report), wait=0)


def _promote(
    name: str, info: CorpusInfo | None, author: str, beside: Beside | None, anyway: bool, number: int
) -> None:
    from entail.ui.resources import workspace

    corpora = workspace().corpora

    def make(report: ProgressCallback) -> Pointer:
        return promote(
            name,
            by=author,
            corpus=info.name if info is not None else None,
            evaluation=beside,
            premises=corpora.corpus(info.id) if info is not None else None,
            anyway=anyway,
            number=number,
            progress=report,
        )

    place = ("promote", secrets.token_hex(8))
    st.session_state[_MOVING] = place
    encoder_works().take(place, make, wait=1.0)


def _draw_moving() -> bool:
    """Draw how far this session's promotion is; return whether it is still on its way."""
    place = st.session_state.get(_MOVING)
    work = encoder_works().look(place) if place is not None else None
    if work is None:
        st.session_state.pop(_MOVING, None)
        return False
    if not work.done.is_set():
        draw_progress(work, waiting="Making the index …")
        st.caption("Until it is there, everybody ranks as before. It goes on without this page.")
        return True
    st.session_state.pop(_MOVING, None)
    encoder_works().drop(lambda other: other == place)
    st.session_state[NOTICE] = _ended(work)
    st.rerun()


def _ended(work: Work[object]) -> tuple[bool, str]:
    if work.error is not None:
        why = work.error if isinstance(work.error, EntailError) else EntailError(str(work.error))
        return False, f"It was not promoted: {why}"
    pointer = cast(Pointer, work.value)
    where = f"for {pointer.corpus}" if pointer.corpus else f"for {_EVERYWHERE}"
    return True, f"{retriever_label(str(pointer.encoder))} ranks {where} now. One click below takes it back."
