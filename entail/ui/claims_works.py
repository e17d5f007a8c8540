"""Searches of the Claims page, made behind it, once for all sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.ui.authoring import draw_progress
from entail.ui.claims_lists import Lists, four_lists
from entail.ui.claims_pool import Pool
from entail.ui.resources import shelf
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.index.protocol import PremiseIndex
    from entail.progress import ProgressCallback


@st.cache_resource(show_spinner=False)
def _searches() -> Works:
    return Works(64, failure="the passages could not be searched")


def take_indexes(pool: Pool, left: str, right: str) -> tuple[PremiseIndex, PremiseIndex] | None:
    """Return both retrievers over a pool; draw how far they are, and return None, while one is made."""
    first, second = (shelf().take(name, pool.corpus) for name in (left, right))
    if first.value is None or second.value is None:
        draw_progress(first if first.value is None else second, waiting="Preparing the passages …")
        st.caption("Each passage is encoded once and kept.")
        return None
    return first.value, second.value


def take_lists(
    pool: Pool,
    indexes: tuple[PremiseIndex, PremiseIndex],
    question: str,
    claim: str,
    *,
    k: int,
    gold: frozenset[int],
) -> Work[Lists]:
    """Return what both retrievers bring for both wordings, in the making where it is not known."""

    def make(report: ProgressCallback) -> Lists:
        return four_lists(indexes, question, claim, k=k, gold=gold)

    ranked = tuple((index.name, index.manifest.revision) for index in indexes)
    return _searches().take((ranked, pool.corpus.hash, question, claim, k, gold), make)
