"""Cards of the page: a sentence, a chart and the document of each headline figure."""

from __future__ import annotations

import streamlit as st

from entail.ui.components.elements import show_errors
from entail.ui.components.inbox import read_assets
from entail.ui.results.chart import describe, draw_bars
from entail.ui.results.figures import Headline, Limit, read_document, read_figures
from entail.ui.shared.text import label

_COLUMNS = 3


def draw_cards() -> None:
    """Draw a card for each headline figure, and one with the limits of all of them."""
    figures = read_figures()
    st.html(f"<style>{read_assets('results.css')}</style>")
    with st.container(key="results"):
        cards: list[Headline | list[Limit]] = [*figures.headlines, figures.limits]
        for start in range(0, len(cards), _COLUMNS):
            for cell, card in zip(st.columns(_COLUMNS), cards[start : start + _COLUMNS], strict=False):
                with cell:
                    if isinstance(card, Headline):
                        _draw_headline(card)
                    else:
                        _draw_limits(card)


def _draw_headline(headline: Headline) -> None:
    with st.container(border=True, key=f"figure-{headline.key}", gap="xsmall"):
        st.markdown(f"##### {label(headline.title)}")
        st.markdown(label(headline.sentence))
        st.altair_chart(draw_bars(headline), width="stretch", alt=describe(headline))
        st.caption(label(headline.data))
        _draw_document(headline.page, key=headline.key)


def _draw_limits(limits: list[Limit]) -> None:
    with st.container(border=True, key="figure-limits", gap="xsmall"):
        st.markdown("##### Limits")
        st.markdown("\n".join(f"- {label(limit.text)}" for limit in limits))
        for page in filter(None, (limit.page for limit in limits)):
            _draw_document(page, key="limits")


def _draw_document(page: str, *, key: str) -> None:
    """Draw the button that opens a document of `docs/results`."""
    if st.button(
        f"docs/results/{page}.md", key=f"document-{key}", type="tertiary", icon=":material/description:"
    ):
        _show_document(page)


@st.dialog("Measured figures", width="large")
def _show_document(page: str) -> None:
    with show_errors():
        st.markdown(read_document(page))
