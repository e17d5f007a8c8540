"""Elements that several pages draw: errors, choice of a view, tables, ranked lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import streamlit as st

from entail.errors import EntailError, HubError
from entail.statistics.paired import PairedDifference
from entail.ui.components.inbox import component, read_assets
from entail.ui.shared.text import label

if TYPE_CHECKING:
    import pandas as pd

_Option = TypeVar("_Option")
_Interval: TypeAlias = tuple[float, float] | None

_HUB_REASONS = {"place": "Not possible", "quota": "Storage is full", "unexpected": "Error of the Hub"}
"""Reasons of the Hub whose word for programs says too little."""

_TITLE = 600
"""Characters of a sentence that a heading shows."""


def draw_error(error: Exception) -> None:
    """Draw an error of the library; one of the Hub with its reason."""
    reason = ""
    if isinstance(error, HubError):
        reason = _HUB_REASONS.get(error.reason, error.reason.replace("_", " ").capitalize())
    st.error((f"**{reason}.** " if reason else "") + label(str(error)), icon=":material/error:")


@contextmanager
def show_errors() -> Iterator[None]:
    """Draw an error of the library that ends this block, instead of raising it."""
    try:
        yield
    except EntailError as error:
        draw_error(error)


@contextmanager
def toast_errors(prefix: str = "") -> Iterator[None]:
    """Show an error of the library that ends this block as a toast, which outlives a rerun."""
    try:
        yield
    except EntailError as error:
        st.toast(label(f"{prefix}{error}"), icon=":material/error:")


def announce(text: str) -> None:
    """Let screen readers say a text that has changed since the last run; nothing is to be seen."""
    component("entail_announce", read_assets("announce.js"))(
        key="announce", data={"text": text}, height="content"
    )


def pick_view(title: str, options: Sequence[_Option], *, key: str, **more: Any) -> _Option:
    """Draw the options side by side, without a visible label, and return the selected one.

    `more` is passed on to `st.segmented_control`.
    """
    defaults: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
    return cast(_Option, st.segmented_control(title, options, key=key, **{**defaults, **more}))


def draw_sentence(text: str, *, level: int) -> None:
    """Draw a sentence as a heading; of a very long one the beginning, and all of it on a click."""
    st.markdown(
        f"{'#' * level} {label(text, longest=_TITLE)}", help=label(text) if len(text) > _TITLE else None
    )


def draw_table(rows: Any, **more: Any) -> Any:
    """Draw a table as high as its rows, and return its selection; `more` is passed on to `st.dataframe`."""
    return st.dataframe(rows, **{"hide_index": True, "height": "content", **more})


def describe_difference(paired: PairedDifference) -> str:
    """Return a difference with its interval; ● if the interval excludes 0."""
    sign = "●" if paired.low > 0 or paired.high < 0 else "○"
    return f"{sign} {paired.difference:+.3f} [{paired.low:+.3f}, {paired.high:+.3f}]"


def differences_table(
    measures: Mapping[str, PairedDifference],
    names: tuple[str, str],
    *,
    intervals: Sequence[tuple[tuple[float, float], tuple[float, float]]] | None = None,
) -> pd.DataFrame:
    """Return measures of two models, with difference and p.

    Args:
        measures: Name of a measure -> the figures of both.
        names: Names of the two, which must differ.
        intervals: Intervals of both figures of each measure.
    """
    import pandas as pd

    ends: Sequence[tuple[_Interval, _Interval]] = intervals or [(None, None)] * len(measures)
    pairs = list(zip(measures.values(), ends, strict=True))
    return pd.DataFrame(
        {
            "measure": list(measures),
            names[0]: [_figure(difference.first, end[0]) for difference, end in pairs],
            names[1]: [_figure(difference.second, end[1]) for difference, end in pairs],
            "difference": [describe_difference(difference) for difference in measures.values()],
            "p": [difference.p_shown for difference in measures.values()],
        }
    )


def _figure(value: float, interval: _Interval) -> str:
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def draw_ranked_list(rows: Iterable[tuple[int, str, float, str, bool]]) -> None:
    """Draw rows of rank, HTML of the text, score, HTML of the change, and whether the row is gold."""
    body = "".join(
        f'<tr class="{"gold" if is_gold else ""}"><td class="n">{rank}</td><td>{text}</td>'
        f'<td class="m">{score:.3f}<br>{change}</td></tr>'
        for rank, text, score, change, is_gold in rows
    )
    st.html(f'<style>{read_assets("ranked.css")}</style><table class="ranked">{body}</table>')


def moved_mark(rank: int, other: int, *, k: int) -> str:
    """Return the HTML of a rank's change against another list of depth k, 0 if it is not there.

    >>> moved_mark(2, 2, k=5)
    '='
    """
    if other == 0 or other > k:
        other_rank = f"rank {other:,}" if other else "not found"
        return f'<span class="new" title="Other side: {other_rank}">new</span>'
    if other == rank:
        return "="
    way, sign = ("up", "▲") if other > rank else ("down", "▼")
    return f'<span class="{way}" title="Other side: rank {other:,}">{sign} {abs(other - rank)}</span>'
