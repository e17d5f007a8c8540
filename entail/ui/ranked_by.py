"""What ranks the candidates: the corpus's active encoder, or a retriever that the author chose by hand.

Beside an encoder shared words may count too (`entail.index.hybrid`): it finds what they alone show.

Who ranks by the active encoder follows every promotion and roll back, of any session and of the command
line, at the next run of the page; what was chosen by hand stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED
from entail.errors import EntailError
from entail.index.protocol import PremiseIndex
from entail.promotion import Active, active
from entail.ui import resources
from entail.ui.resources import LEXICAL, SHARED_WORDS, retriever_label, shelf
from entail.ui.words import label
from entail.ui.works import Work, failed

ACTIVE = "@active"
"""The choice to follow what is active; no encoder can be called so."""

KEY = "retriever"
"""Key of the field, and so of the choice in the session."""

WORDS_KEY = "shared_words"
"""Key of the field that says whether shared words count beside an encoder."""

_SHOWN = "active_shown"


@dataclass(frozen=True)
class Ranking:
    """What ranks.

    Attributes:
        choice: `ACTIVE`, or the retriever's name.
        corpus: Name of the corpus, None for a tree without one.
        active: What was active when the page was drawn; None where it was not asked for, or not to be read.
        problem: Why the active encoder cannot rank.
        words: Whether shared words count beside an encoder.
    """

    choice: str = ACTIVE
    corpus: str | None = None
    active: Active | None = None
    problem: EntailError | None = None
    words: bool = False

    @property
    def alone(self) -> str:
        """Name of what ranks but for shared words."""
        return self.active.encoder if self.active is not None else self.choice

    @property
    def name(self) -> str:
        """The retriever's."""
        return f"{self.alone}{SHARED_WORDS}" if self.words and self.alone not in LEXICAL else self.alone

    @property
    def encoder(self) -> str:
        """The encoder that a typed query will need, the packaged one where none will."""
        return PACKAGED if self.alone in LEXICAL or self.problem is not None else self.alone

    @property
    def outdated(self) -> bool:
        """Whether another encoder is active by now.

        Raises:
            PromotionError: If what is active cannot be read.
        """
        return self.active is not None and self.active != active(self.corpus)

    def take(self, corpus: Corpus) -> Work[PremiseIndex]:
        """Return the index of the corpus, in the making or made."""
        return failed(self.problem) if self.problem is not None else shelf().take(self.name, corpus)


def chosen() -> str:
    """Return what this session's author chose, `ACTIVE` if nothing, or if it is gone."""
    choice = str(st.session_state.get(KEY, ACTIVE))
    return choice if choice in resources.retrievers() else ACTIVE


def with_words() -> bool:
    """Return whether this session's author has shared words count beside an encoder."""
    return bool(st.session_state.get(WORDS_KEY))


def ranking_of(choice: str, corpus: str | None, *, words: bool = False) -> Ranking:
    """Return what ranks a corpus of this name; a choice that cannot be used is no error yet."""
    if choice != ACTIVE:
        return Ranking(choice, corpus, words=words)
    now = None
    try:
        now = active(corpus)
        now.check()
    except EntailError as error:
        return Ranking(choice, corpus, now, error, words)
    return Ranking(choice, corpus, now, words=words)


def draw_ranked_by(ranking: Ranking) -> None:
    """Draw the field that says what ranks."""
    now = ranking.active if ranking.choice == ACTIVE else ranking_of(ACTIVE, ranking.corpus).active

    def called(choice: str) -> str:
        if choice != ACTIVE:
            return retriever_label(choice)
        return f"Active: {retriever_label(now.encoder) if now is not None else 'cannot be told'}"

    shown = called(ACTIVE)
    if ranking.choice == ACTIVE and st.session_state.get(_SHOWN) != shown:
        # The browser keeps the words that were chosen, not the choice: it is told that they changed.
        st.session_state[KEY] = ACTIVE
    st.session_state[_SHOWN] = shown
    st.selectbox(
        "Ranked by",
        [ACTIVE, *resources.retrievers()],
        format_func=called,
        key=KEY,
        persist_state="session",
        width="stretch",
    )
    if ranking.alone not in LEXICAL:
        st.toggle(
            "And shared words",
            key=WORDS_KEY,
            persist_state="session",
            help="A share of BM25 beside the encoder: premises that have rare words in common with the "
            "sentence stand higher. On EntailmentBank it saves an author some reading.",
        )
    if ranking.active is not None:
        _tell(ranking.active, ranking.corpus)


def _tell(now: Active, corpus: str | None) -> None:
    """Say who made it active, and once a session that it changed."""
    known: dict[str | None, int] = st.session_state.setdefault("active_known", {})
    before = known.get(corpus)
    known[corpus] = now.number
    if before not in (None, now.number):
        st.toast(
            f"**{label(retriever_label(now.encoder))}** is active now: candidates are ranked by it.",
            icon=":material/published_with_changes:",
        )
    if (move := now.pointer) is not None:
        what = "rolled back to" if move.rolled_back else "promoted"
        st.caption(
            f"{what.capitalize()} by {label(move.by)}, {move.at.astimezone():%d %b %H:%M}"
            + (", for all corpora that have none of their own" if move.corpus is None else "")
        )
