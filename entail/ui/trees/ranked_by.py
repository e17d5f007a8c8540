"""Choice of the retriever: the corpus's active one, or another one picked by hand.

An encoder can be combined with keyword match (`entail.index.combined`). The active choice follows every
promotion and rollback, by any session or the command line, at the next run of the page. A choice by hand
stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED
from entail.errors import EntailError
from entail.index.factory import LEXICAL
from entail.index.protocol import PremiseIndex
from entail.registry.models import Active, active
from entail.runtime.models import SHARED_WORDS, model_cache
from entail.runtime.tasks import Task, failed
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import retrievers
from entail.ui.shared.text import label, local

ACTIVE = "@active"
"""Choice of the active retriever; not a valid name of an encoder."""

KEY, KEYWORDS_KEY = "retriever", "shared_words"
"""Widget keys of the choice and of the switch for keyword match."""


@dataclass(frozen=True)
class Ranking:
    """Retriever that ranks the candidates.

    Attributes:
        choice: `ACTIVE`, or the name of a retriever.
        corpus: Name of the corpus, None for a tree without one.
        active: Retriever active when the page was drawn; None if another one was chosen, or on errors.
        problem: Reason why the active encoder cannot rank.
        keywords: Combine an encoder with keyword match.
    """

    choice: str = ACTIVE
    corpus: str | None = None
    active: Active | None = None
    problem: EntailError | None = None
    keywords: bool = False

    @property
    def base(self) -> str:
        """Name of the retriever without keyword match."""
        return self.active.encoder if self.active is not None else self.choice

    @property
    def name(self) -> str:
        """Name of the retriever."""
        return f"{self.base}{SHARED_WORDS}" if self.keywords and self.base not in LEXICAL else self.base

    @property
    def encoder(self) -> str:
        """Encoder that a typed query needs; the packaged one if none does."""
        return PACKAGED if self.base in LEXICAL or self.problem is not None else self.base

    @property
    def is_outdated(self) -> bool:
        """Whether another retriever has become active.

        Raises:
            PromotionError: If the registry cannot be read.
        """
        return self.active is not None and self.active != active(self.corpus)

    def get_or_start(self, corpus: Corpus) -> Task[PremiseIndex]:
        """Return the task that builds the index of a corpus."""
        if self.problem is not None:
            return failed(self.problem)
        return model_cache().get_or_start(self.name, corpus)


def selected_retriever() -> str:
    """Return the session's choice; `ACTIVE` if there is none or the retriever was removed."""
    choice = str(st.session_state.get(KEY, ACTIVE))
    return choice if choice in retrievers() else ACTIVE


def includes_keywords() -> bool:
    """Return whether the session's author combines encoders with keyword match."""
    return bool(st.session_state.get(KEYWORDS_KEY, True))


def ranking_of(choice: str, corpus: str | None, *, keywords: bool = False) -> Ranking:
    """Return the ranking of a corpus; its `problem` says if the active encoder cannot be used."""
    if choice != ACTIVE:
        return Ranking(choice, corpus, keywords=keywords)
    now, problem = None, None
    try:
        now = active(corpus)
        now.check()
    except EntailError as error:
        problem = error
    return Ranking(choice, corpus, now, problem, keywords)


def draw_ranked_by(ranking: Ranking) -> None:
    """Draw the choice of the retriever."""
    now = ranking.active if ranking.choice == ACTIVE else ranking_of(ACTIVE, ranking.corpus).active

    def display_name(choice: str) -> str:
        if choice != ACTIVE:
            return model_label(choice)
        return f"Active: {model_label(now.encoder) if now is not None else 'unknown'}"

    if ranking.choice == ACTIVE:  # the browser keeps the label of the choice, so a new one has to be set
        st.session_state[KEY] = ACTIVE
    st.selectbox(
        "Ranked by",
        [ACTIVE, *retrievers()],
        format_func=display_name,
        key=KEY,
        persist_state="session",
        width="stretch",
    )
    if ranking.base not in LEXICAL:
        st.toggle(
            "Include keyword match (BM25)",
            value=True,
            key=KEYWORDS_KEY,
            persist_state="session",
            help="Ranks premises higher that share rare words with the sentence.",
        )
    if ranking.active is not None and (move := ranking.active.pointer) is not None:
        verb = "Rolled back to" if move.rolled_back else "Promoted"
        scope = ", for all corpora without their own" if move.corpus is None else ""
        st.caption(f"{verb} by {label(move.by)}, {local(move.at):%d %b %H:%M}{scope}")
