"""Four passage lists, question and claim side by side, with answers, verdicts and rank changes."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from entail.answering.spans import TextSpan
from entail.evaluation.passages.pool import (
    EXAMPLES,
    LIST_KEYS,
    ListedPassage,
    ListKey,
    PassageLists,
    PassageScore,
    Pool,
    Scores,
    Wording,
    find_lists,
    search_wordings,
)
from entail.judge.judges import THRESHOLD
from entail.progress import ProgressCallback
from entail.runtime.models import judge_stamp, load_judge, load_reader, model_cache, model_revision
from entail.runtime.tasks import Task, TaskGroup
from entail.ui.claims.fields import LINK
from entail.ui.claims.question import ClaimedQuestion
from entail.ui.components.elements import draw_ranked_list, moved_mark
from entail.ui.shared.model_names import model_name
from entail.ui.shared.text import certainty, label, marked, words_of
from entail.ui.shared.waiting import await_value, draw_progress

DEPTHS = (5, 10, 20, 50)
_SHOWN = 320
"""Characters of a passage that are not folded."""

_READ = 2000
"""Characters of a passage that are judged."""

_WAIT = 0.3
"""Seconds that the page waits for verdicts before it draws the lists without them."""

Answers = Mapping[int, TextSpan]
"""Position of a passage -> the words of it that answer the question best."""

_ANSWERS = TaskGroup("claim answers", failure="the passages could not be read")
_SCORES = TaskGroup("claim scores", failure="the passages could not be judged")
_SEARCHES = TaskGroup("claim searches", failure="the passages could not be searched")


def draw_passages(
    pool: Pool,
    claim_pair: ClaimedQuestion,
    names: tuple[str, str],
    judge: str | None,
    reader: str | None = None,
) -> None:
    """Draw the passages that both retrievers find for question and claim, and the answer in each list."""
    k = LINK.pick("k", "Passages per list", DEPTHS, 5, width=130)
    lists = _find_lists(pool, claim_pair, names, k)
    if lists is None:
        return
    if not lists.all_positions:
        st.info("No passage shares a word with the query.", icon=":material/search_off:")
        return
    scores = _judge(pool, lists, claim_pair.hypothesis, judge)
    answers = _read(pool, lists, claim_pair.question, reader)
    _draw_overview(lists, scores, answers)
    if scores:
        st.caption(
            f"Judged: does the passage entail “{label(claim_pair.hypothesis.rstrip('.'), longest=300)}”?"
        )
    texts: Mapping[Wording, str] = {"question": claim_pair.question, "claim": claim_pair.claim}
    for which in (0, 1):
        _draw_pair(pool, lists, ((which, "question"), (which, "claim")), texts, scores)
    if claim_pair.question == EXAMPLES[0].question:
        st.caption(":material/info: Example chosen because its lists differ.")
    st.caption(
        "Highlighted: words of the query."
        + (" ★ reference passage." if lists.gold else "")
        + " ▲ ▼ ranks against the other list; “new”: not in it."
    )
    # Where the lists ship, the indexes are still missing for whatever is asked next. Building them would slow
    # down the drawing.
    for name in names:
        model_cache().get_or_start(name, pool.corpus, wait=0)


def _find_lists(
    pool: Pool, claim_pair: ClaimedQuestion, names: tuple[str, str], k: int
) -> PassageLists | None:
    """Return the lists of question and claim; draw the progress and return None while they are made.

    Those of the examples ship.
    """
    question, claim = claim_pair.question, claim_pair.claim
    gold = known_question.gold if (known_question := pool.find_question(question)) else frozenset()
    revisions = [model_revision(name) for name in names]
    shipped = find_lists(names, revisions, pool.corpus.hash, question, claim, k=k, gold=gold)
    if shipped is not None:
        return shipped
    first, second = (model_cache().get_or_start(name, pool.corpus) for name in names)
    if first.value is None or second.value is None:
        draw_progress(first if first.value is None else second, waiting="Preparing the passages …")
        st.caption("Passage vectors are computed once and cached.")
        return None
    indexes = first.value, second.value
    search = _SEARCHES.get_or_start(
        (
            names,
            tuple(index.manifest.revision for index in indexes),
            pool.corpus.hash,
            question,
            claim,
            k,
            gold,
        ),
        lambda report: search_wordings(indexes, question, claim, k=k, gold=gold),
    )
    return await_value(search, waiting="Searching …")


def _judge(pool: Pool, lists: PassageLists, hypothesis: str, judge: str | None) -> Scores:
    """Return the verdicts of the judge; draw the progress and return none while they are made."""
    if judge is None:
        return {}
    task = take_scores(judge, [pool.corpus.texts[position] for position in lists.all_positions], hypothesis)
    verdicts = await_value(task, waiting=f"{label(model_name(judge))}: judging …", key="claims_again")
    return {} if verdicts is None else {judge: dict(zip(lists.all_positions, verdicts, strict=True))}


def take_scores(judge: str, passages: Sequence[str], claim: str) -> Task[list[PassageScore]]:
    """Return the task that judges each passage and the claim."""
    texts = [passage[:_READ] for passage in passages]

    def make(report: ProgressCallback) -> list[PassageScore]:
        values = load_judge(judge).entailment(texts, [claim] * len(texts), progress=report).tolist()
        words = {True: "entails", False: "does not entail"}
        return [
            PassageScore(value, entails, f"{words[entails]} ({certainty(value if entails else 1 - value)})")
            for value, entails in ((value, value >= THRESHOLD) for value in values)
        ]

    return _SCORES.get_or_start((judge, judge_stamp(judge), claim, tuple(texts)), make, wait=_WAIT)


def _read(pool: Pool, lists: PassageLists, question: str, reader: str | None) -> Answers:
    """Return the answers of the reader; draw the progress and return none while they are made."""
    if reader is None:
        return {}
    texts = tuple(pool.corpus.texts[position] for position in lists.all_positions)

    def make(report: ProgressCallback) -> list[TextSpan | None]:
        return load_reader(reader).read([(question, texts)])[0]

    task = _ANSWERS.get_or_start((reader, judge_stamp(reader), question, texts), make, wait=_WAIT)
    spans = await_value(task, waiting=f"{label(model_name(reader))}: reading …", key="claims_reader_again")
    return {at: span for at, span in zip(lists.all_positions, spans or (), strict=bool(spans)) if span}


def overview(lists: PassageLists, scores: Scores, answers: Answers | None = None) -> list[dict[str, str]]:
    """Return a row for each list: answer, rank of the first gold passage, and passages that entail."""
    rows = []
    for key in LIST_KEYS:
        first, positions = lists.first_gold(key), lists.positions[key]
        row = {"list": _list_name(lists, key)}
        if answers:
            best = max(
                (at for at in positions if at in answers), key=lambda at: answers[at].score, default=None
            )
            row["answer"] = (
                ""
                if best is None
                else f"{label(answers[best].text, longest=100)} (passage {positions.index(best) + 1})"
            )
        if first is not None:
            row["answer at"] = f"{first:,}" if first else "not found"
        for judge, verdicts in scores.items():
            entail = sum(verdicts[position].entails for position in positions)
            row[f"entail, by {model_name(judge)}"] = f"{entail} of {len(positions)}"
        rows.append(row)
    return rows


def _list_name(lists: PassageLists, key: ListKey) -> str:
    return f"{model_name(lists.names[key[0]])}, {key[1]}"


def _draw_overview(lists: PassageLists, scores: Scores, answers: Answers) -> None:
    import pandas as pd

    rows = overview(lists, scores, answers)
    if len(rows[0]) > 1:
        st.table(pd.DataFrame(rows), hide_index=True, border="horizontal", width="content")


def _draw_pair(
    pool: Pool,
    lists: PassageLists,
    keys: tuple[ListKey, ListKey],
    texts: Mapping[Wording, str],
    scores: Scores,
) -> None:
    title = label(model_name(lists.names[keys[0][0]]))
    st.markdown(f"##### {title} :gray[· {lists.shared(*keys)} of {lists.k} in both]")
    for key, other_key, column in zip(keys, keys[::-1], st.columns(2, gap="medium"), strict=True):
        rows, words = lists.rows(key, other_key), words_of(texts[key[1]])
        with column:
            st.markdown(f"**{label(_list_name(lists, key))}**")
            if not rows:
                st.caption("No passage shares a word with the query.")
            draw_ranked_list(
                (
                    row.rank,
                    _passage_html(pool, lists, row, words, scores),
                    row.score,
                    moved_mark(row.rank, row.other, k=lists.k),
                    row.position in lists.gold,
                )
                for row in rows
            )


def _passage_html(
    pool: Pool, lists: PassageLists, row: ListedPassage, words: frozenset[str], scores: Scores
) -> str:
    star = '<span title="reference passage">★</span> ' if row.position in lists.gold else ""
    verdicts = "".join(
        f'<span class="says{" yes" if of[row.position].entails else ""}">'
        f"{html.escape(model_name(judge))}: {html.escape(of[row.position].words)}</span>"
        for judge, of in scores.items()
    )
    return f"{star}{_fold(pool.corpus.texts[row.position], words)}{verdicts}"


def _fold(text: str, words: frozenset[str]) -> str:
    """Return a passage as HTML; the rest of a long one is folded."""
    if len(text) <= _SHOWN:
        return marked(text, words)
    cut = text.rfind(" ", _SHOWN // 2, _SHOWN)
    cut = cut if cut > 0 else _SHOWN
    return (
        f"{marked(text[:cut], words)} …<details><summary>more</summary>{marked(text[cut:], words)}</details>"
    )
