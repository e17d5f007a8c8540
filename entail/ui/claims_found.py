"""The passages found: four lists, two side by side, with what the judges say and where the lists differ."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from entail.ui.authoring import draw_progress
from entail.ui.claims_judges import Score, take_scores
from entail.ui.claims_link import begin
from entail.ui.claims_lists import PLACES, Lists, Place, Row
from entail.ui.claims_pool import Pool
from entail.ui.claims_question import Asked
from entail.ui.claims_works import take_indexes, take_lists
from entail.ui.compare_files import CSV, offer, rows_csv
from entail.ui.resources import retriever_name
from entail.ui.words import label, marked, words_of

RETRIEVERS, WORDED = "retrievers", "wordings"
BESIDE = {RETRIEVERS: "The two retrievers", WORDED: "Question and claim"}
DEPTHS = (5, 10, 20, 50)
_SHOWN = 320
_STYLE = """
<style>
  .clm { width: 100%; border-collapse: collapse; table-layout: fixed; }
  .clm td { padding: .34rem .4rem; vertical-align: top; overflow-wrap: anywhere; border-bottom: 1px solid
            color-mix(in srgb, currentColor 14%, transparent); }
  .clm td.n { text-align: right; width: 2rem; font-variant-numeric: tabular-nums; opacity: .75; }
  .clm td.m { width: 3rem; white-space: nowrap; font-variant-numeric: tabular-nums; font-size: .86rem; }
  .clm tr.gold td { background: color-mix(in srgb, #e69f00 13%, transparent); }
  .clm .up { color: #0a8f6a; } .clm .down { color: #c8541c; } .clm .new { color: #8a5fc7; font-weight: 600; }
  .clm .says { display: block; font-size: .84rem; opacity: .8; margin-top: .15rem; }
  .clm .yes { color: #0a8f6a; opacity: 1; font-weight: 600; }
  .clm summary { cursor: pointer; opacity: .72; font-size: .86rem; }
</style>
"""

Scores = Mapping[str, Mapping[int, Score]]
"""Judge -> position -> what it says."""


@dataclass(frozen=True)
class View:
    """What is drawn of the lists.

    Attributes:
        k: Passages of each list.
        beside: What stands side by side: one of `BESIDE`.
        differing: Whether only rows are drawn that stand elsewhere in the list beside.
    """

    k: int
    beside: str
    differing: bool

    def pairs(self) -> tuple[tuple[Place, Place], tuple[Place, Place]]:
        """Return which lists stand side by side, one pair below the other.

        >>> View(10, "retrievers", False).pairs()[0]
        ((0, 'question'), (1, 'question'))
        """
        if self.beside == WORDED:
            return ((0, "question"), (0, "claim")), ((1, "question"), (1, "claim"))
        return ((0, "question"), (1, "question")), ((0, "claim"), (1, "claim"))


def pick_view() -> View:
    """Draw the fields that say how lists are drawn."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        beside = st.segmented_control(
            "Side by side",
            list(BESIDE),
            format_func=BESIDE.__getitem__,
            key=begin("beside", list(BESIDE), RETRIEVERS),
            required=True,
        )
        k = st.selectbox("Passages", DEPTHS, key=begin("k", DEPTHS, 5), width=110)
        differing = st.toggle("Only where they differ", key="claims_differing")
    return View(k, beside or RETRIEVERS, differing)


def draw_found(pool: Pool, asked: Asked, names: tuple[str, str], judges: Sequence[str]) -> None:
    """Draw what both retrievers bring for question and claim, once that is there."""
    indexes = take_indexes(pool, *names)
    if indexes is None:
        return
    view = pick_view()
    known = pool.known(asked.question)
    gold = known.gold if known else frozenset()
    work = take_lists(pool, indexes, asked.question, asked.claim, k=view.k, gold=gold)
    if work.value is None:
        draw_progress(work, waiting="Searching …")
        return
    lists = work.value
    if not lists.all_positions:
        st.info("Neither finds a passage that shares a word with it.", icon=":material/search_off:")
        return
    passages = [pool.corpus.texts[position] for position in lists.all_positions]
    scores: dict[str, Mapping[int, Score]] = {}
    for judge in judges:
        told = take_scores(judge, passages, asked.claim)
        if told.value is None:
            draw_progress(told, waiting=f"{label(judge)} judges the passages …", key=f"claims_again-{judge}")
        else:
            scores[judge] = dict(zip(lists.all_positions, told.value, strict=True))
    draw_overview(lists, scores)
    words = {"question": words_of(asked.question), "claim": words_of(asked.claim)}
    for one, other in view.pairs():
        draw_pair(pool, lists, (one, other), view, words, scores)
    st.caption(
        "Highlighted: words shared with what was searched with."
        + (" Amber rows with ★: known to answer." if gold else "")
        + " ▲ ▼ ranks better or worse than in the list beside, “new”: not in it."
    )
    offer("Lists (CSV)", rows_csv(csv_rows(pool, lists, asked, scores)), name="claims_passages.csv", kind=CSV)


def called(lists: Lists, place: Place) -> str:
    """Return how a person calls a list."""
    return f"{retriever_name(lists.names[place[0]])}, for the {place[1]}"


def overview(lists: Lists, scores: Scores) -> list[dict[str, str]]:
    """Return a line for each list: where the gold passage is, and how many of its passages entail."""
    rows = []
    for place in PLACES:
        first = lists.first_gold(place)
        row = {"list": called(lists, place)}
        if first is not None:
            row["answer at"] = f"{first:,}" if first else "not found"
        found = lists.positions[place]
        for judge, told in scores.items():
            entail = sum(told[position].entails for position in found)
            row[f"entail, by {judge}"] = f"{entail} of {len(found)}"
        rows.append(row)
    return rows


def draw_overview(lists: Lists, scores: Scores) -> None:
    """Draw the four lists in figures, where there are any."""
    import pandas as pd

    rows = overview(lists, scores)
    if len(rows[0]) > 1:
        st.table(pd.DataFrame(rows).set_index("list"), border="horizontal", width="content")


def draw_pair(
    pool: Pool,
    lists: Lists,
    places: tuple[Place, Place],
    view: View,
    words: Mapping[str, frozenset[str]],
    scores: Scores,
) -> None:
    """Draw two lists side by side."""
    one, other = places
    alike = f"For the {one[1]}" if one[1] == other[1] else retriever_name(lists.names[one[0]])
    st.markdown(f"##### {label(alike)} :gray[· {lists.shared(one, other)} of {view.k} in both]")
    for place, beside, column in zip(places, places[::-1], st.columns(2, gap="medium"), strict=True):
        rows = lists.rows(place, beside)
        shown = [row for row in rows if not view.differing or row.moved(view.k) != "="]
        with column:
            st.markdown(f"**{label(called(lists, place))}**")
            if not rows:
                st.caption("Nothing shares a word with it.")
            elif not shown:
                st.caption("Nothing that stands elsewhere beside.")
            body = "".join(_row(pool, lists, row, view.k, words[place[1]], scores) for row in shown)
            st.html(f'{_STYLE}<table class="clm">{body}</table>')


def _row(pool: Pool, lists: Lists, row: Row, k: int, words: frozenset[str], scores: Scores) -> str:
    moved = row.moved(k)
    if moved == "new":
        where = f"rank {row.other:,} beside" if row.other else "not found beside"
        mark = f'<span class="new" title="{where}">new</span>'
    elif moved == "=":
        mark = "="
    else:
        way, sign = ("up", "▲") if moved[0] == "+" else ("down", "▼")
        mark = f'<span class="{way}" title="rank {row.other:,} beside">{sign} {moved[1:]}</span>'
    gold = row.position in lists.gold
    star = '<span title="known to answer">★</span> ' if gold else ""
    says = "".join(
        f'<span class="says{" yes" if told[row.position].entails else ""}">'
        f"{html.escape(judge)}: {html.escape(told[row.position].words)}</span>"
        for judge, told in scores.items()
    )
    text = pool.corpus.texts[row.position]
    return (
        f'<tr class="{"gold" if gold else ""}"><td class="n">{row.rank}</td>'
        f"<td>{star}{_folded(text, words)}{says}</td>"
        f'<td class="m">{row.score:.3f}<br>{mark}</td></tr>'
    )


def _folded(text: str, words: frozenset[str]) -> str:
    """Return a passage as HTML, of a long one the beginning with the rest to unfold."""
    if len(text) <= _SHOWN:
        return marked(text, words)
    cut = text.rfind(" ", _SHOWN // 2, _SHOWN)
    cut = cut if cut > 0 else _SHOWN
    return (
        f"{marked(text[:cut], words)} …<details><summary>the rest</summary>"
        f"{marked(text[cut:], words)}</details>"
    )


def csv_rows(pool: Pool, lists: Lists, asked: Asked, scores: Scores) -> list[dict[str, object]]:
    """Return every passage of every list with its ranks, similarity and what the judges say."""
    rows: list[dict[str, object]] = []
    for place, positions in lists.positions.items():
        found = zip(positions, lists.scores[place], strict=True)
        for rank, (position, score) in enumerate(found, start=1):
            premise = pool.corpus.premises[position]
            row: dict[str, object] = {
                "retriever": lists.names[place[0]],
                "for": place[1],
                "searched with": asked.question if place[1] == "question" else asked.claim,
                "rank": rank,
                "passage": premise.text,
                "id": premise.source_id or "",
                "similarity": f"{score:.6f}",
                "answers": int(position in lists.gold) if lists.gold else "",
            }
            row |= {
                f"rank by {lists.names[number]} for {wording}": lists.ranks[number, wording][position]
                for number, wording in PLACES
            }
            for judge, told in scores.items():
                row[f"entailment by {judge}"] = f"{told[position].value:.6f}"
                row[f"entails by {judge}"] = int(told[position].entails)
            rows.append(row)
    return rows
