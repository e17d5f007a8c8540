"""Check of the rankings on one's own judgements: the better one can be made the corpus's default.

The default retriever learnt from explanations of elementary science, and finds less in some other domains
(`docs/results/transfer.md`). After a few judgements a team can ask whether the packaged encoder places
its accepted premises above its rejected ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from entail.data.bundled import HELD_OUT_NAME, SAMPLE_NAME
from entail.encoders.catalogue import PACKAGED, SHIPPED, resolve
from entail.errors import EntailError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.progress import ProgressCallback
from entail.registry.models import Active, promote
from entail.runtime.models import SHARED_WORDS, model_cache
from entail.runtime.tasks import TaskGroup, finish
from entail.settings import is_demo
from entail.trees.review.decisions import count_decisions, judgements_of
from entail.ui.components.elements import draw_table
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import retrievers
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_result, start_task
from entail.ui.trees.authoring import TreeContext
from entail.ui.trees.ranked_by import includes_keywords

CHECKS = TaskGroup("ranking checks", failure="the rankings could not be compared")

ENOUGH = 20
"""Judgements of a check."""

_VERDICTS = {
    "better": "ranks accepted premises higher",
    "not different": "does not differ clearly",
    "worse": "ranks accepted premises lower",
}


def draw_ranking_check(context: TreeContext) -> None:
    """Draw the check of a corpus's default ranking; nothing where it was measured or chosen."""
    now, corpus_id = context.ranking.active, context.summary.corpus_id
    if now is None or corpus_id is None or context.ranking.problem is not None:
        return
    is_chosen = now.pointer is not None and now.pointer.corpus is not None
    other = PACKAGED if now.encoder == SHIPPED else SHIPPED
    if other not in retrievers() or is_chosen or context.corpus.name in (SAMPLE_NAME, HELD_OUT_NAME):
        return
    counts = count_decisions(context.shared.log, corpus_id=corpus_id)
    judged = counts.accepted + counts.rejected
    if judged < ENOUGH or not counts.rejected:
        st.caption(
            f"With {ENOUGH} judgements on this corpus you can check whether "
            f"{label(model_label(other))} ranks better here: {judged} so far."
        )
        return
    keywords = includes_keywords()
    key = (context.corpus.hash, now.revision, resolve(other).revision, keywords, judged)
    result = draw_result(CHECKS, key, PairedComparison, waiting="Ranking your judgements …")
    if result is not None:
        _draw_check(context, now, other, result)
    elif CHECKS.peek(key) is None:
        st.button(
            f"Check {label(model_label(other))} on your {judged} judgements",
            icon=":material/balance:",
            key="check_ranking",
            on_click=start_task,
            args=(CHECKS, key, partial(_compare, context, now, other, keywords)),
            help="Compares where both rankings place the premises that you accepted and rejected.",
        )


def _compare(
    context: TreeContext, now: Active, other: str, keywords: bool, report: ProgressCallback
) -> PairedComparison:
    from entail.evaluation.retrieval.judged import compare_on_judgements

    suffix = SHARED_WORDS if keywords else ""
    tasks = [
        model_cache().get_or_start(f"{name}{suffix}", context.corpus, wait=0) for name in (now.encoder, other)
    ]
    judgements = judgements_of(context.shared.log, corpus_id=context.summary.corpus_id)
    first, second = (finish(task) for task in tasks)
    comparison = compare_on_judgements(context.corpus, judgements, (first, second), progress=report)
    # What is promoted is the encoder: keyword match is a choice of each author.
    return replace(comparison, candidate=str(resolve(other).revision), active=now.revision)


def _draw_check(context: TreeContext, now: Active, other: str, comparison: PairedComparison) -> None:
    paired = comparison.measures[comparison.primary]
    names = (model_label(now.encoder), model_label(other))
    st.markdown(f"**{label(names[1])}** {_VERDICTS[comparison.verdict]}.")
    draw_table(
        {
            "retriever": list(names),
            "MAP": [f"{paired.first:.3f}", f"{paired.second:.3f}"],
            "better for": [paired.worse, paired.better],
        },
        key="ranking_check",
    )
    st.caption(
        f"{comparison.split}, {comparison.queries} sentences; difference {paired.difference:+.3f} "
        f"\\[{paired.low:+.3f}, {paired.high:+.3f}\\]. Only judged premises are compared."
    )
    if comparison.verdict != "worse" and paired.difference > 0:
        author = context.visitor.name
        st.button(
            f"Use {label(names[1])} for this corpus",
            key="use_checked",
            type="primary",
            on_click=_use,
            args=(context, other, comparison),
            disabled=author is None or is_demo(),
            help="For everybody. It can be taken back on the Models page.",
        )


def _use(context: TreeContext, name: str, comparison: PairedComparison) -> None:
    try:
        promote(name, by=str(context.visitor.name), corpus=context.corpus.name, evaluation=comparison)
    except EntailError as error:
        context.screen.notice = ("error", str(error))
