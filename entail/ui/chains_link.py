"""The address of a chain: what it explains, over which facts, by what, and what a person chose of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from entail.ui.link import Link

PARTS = ("facts", "file", "row", "question", "answer", "by", "k", "length", "picks", "alone")
"""What an address may name; most are the end of the key `chains_<part>` of a widget."""

_CALLED = {"facts": "corpus or release", "row": "question", "by": "scorer"}
_PICKS = "chains_by_hand"
_LINK = Link("chains", PARTS, called=_CALLED)
begin = _LINK.begin


@dataclass(frozen=True)
class Picks:
    """What a person decided of one chain.

    Attributes:
        uids: Of the facts chosen by hand, in order.
        alone: Whether the chain goes on alone behind them.
    """

    uids: tuple[str, ...] = ()
    alone: bool = True

    def to_address(self) -> dict[str, str]:
        """Return it as parts of an address; nothing where nothing was decided."""
        return {
            **({"picks": ",".join(self.uids)} if self.uids else {}),
            **({} if self.alone else {"alone": "0"}),
        }

    @classmethod
    def of(cls, said: Mapping[str, str]) -> Picks:
        """Take back what `to_address` returned.

        >>> Picks.of({"picks": "u1,u2", "alone": "0"})
        Picks(uids=('u1', 'u2'), alone=False)
        """
        uids = tuple(uid for uid in said.get("picks", "").split(",") if uid)
        return cls(uids, said.get("alone") != "0")


def arrive() -> None:
    """Take over what the address says, where it says anything new; else go on where this session was."""
    if _LINK.arrive():
        st.session_state.pop(_PICKS, None)


def begin_text(part: str, default: str, *, longest: int) -> str:
    """Give the text field of a part its first value and return its key."""
    key = f"chains_{part}"
    if key not in st.session_state:
        st.session_state[key] = (_LINK.wanted(part) or default)[:longest]
    return key


def begin_number(part: str, default: int, *, least: int, most: int) -> str:
    """Give the number field of a part its first value and return its key.

    What the address says is taken where it is such a number.
    """
    key = f"chains_{part}"
    if key not in st.session_state:
        asked = _LINK.wanted(part) or ""
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else default
        st.session_state[key] = min(max(number, least), most)
    return key


def picks(about: str) -> Picks:
    """Return what was decided of the chain of this question over these facts."""
    held: tuple[str, Picks] | None = st.session_state.get(_PICKS)
    if held is None:
        held = st.session_state[_PICKS] = (about, Picks.of(_LINK.said))
    return held[1] if held[0] == about else Picks()


def decide(about: str, found: Picks) -> None:
    """Remember what was decided of a chain; called before a run."""
    st.session_state[_PICKS] = (about, found)


def write(parts: Sequence[str], decided: Picks) -> None:
    """Put what is shown into the address."""
    _LINK.write(parts, further=decided.to_address())
