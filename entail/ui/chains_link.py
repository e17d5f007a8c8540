"""The address of a chain: what it explains, over which facts, by what, and what a person chose of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from entail.ui.words import label

PARTS = ("facts", "file", "row", "question", "answer", "by", "k", "length", "picks", "alone")
"""What an address may name; most are the end of the key `chains_<part>` of a widget."""

_CALLED = {"facts": "corpus or release", "row": "question", "by": "scorer"}
_KEPT, _WRITTEN, _IN_VAIN = "chains_link", "chains_written", "chains_in_vain"
_PICKS = "chains_by_hand"

_Option = TypeVar("_Option")


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
    given = {part: value for part in PARTS if (value := st.query_params.get(part))}
    if given and given != st.session_state.get(_WRITTEN):
        st.session_state[_KEPT] = given
        st.session_state[_IN_VAIN] = {}
        st.session_state.pop(_PICKS, None)
        for part in PARTS:
            st.session_state.pop(f"chains_{part}", None)


def wanted(part: str) -> str | None:
    """Return what the address, or this session before it left the page, says of a part."""
    kept: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    return kept.get(part)


def begin(part: str, options: Sequence[_Option], default: _Option) -> str:
    """Give the list of a part its first value and return its key.

    What the address asks for in vain is said as long as something else stands in its place.
    """
    key = f"chains_{part}"
    in_vain: dict[str, tuple[str, object]] = st.session_state.setdefault(_IN_VAIN, {})
    if st.session_state.get(key) not in options:
        asked = wanted(part)
        found = [option for option in options if str(option) == asked]
        if asked is not None and not found and key not in st.session_state:
            in_vain[part] = asked, default
        st.session_state[key] = found[0] if found else default
    asked, instead = in_vain.get(part, (None, None))
    if asked is not None and st.session_state[key] == instead:
        what = _CALLED.get(part, part)
        st.warning(f"The address asks for a {what} that is not here: “{label(asked, longest=60)}”.")
    else:
        in_vain.pop(part, None)
    return key


def begin_text(part: str, default: str, *, longest: int) -> str:
    """Give the text field of a part its first value and return its key."""
    key = f"chains_{part}"
    if key not in st.session_state:
        st.session_state[key] = (wanted(part) or default)[:longest]
    return key


def begin_number(part: str, default: int, *, least: int, most: int) -> str:
    """Give the number field of a part its first value and return its key.

    What the address says is taken where it is such a number.
    """
    key = f"chains_{part}"
    if key not in st.session_state:
        asked = wanted(part) or ""
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else default
        st.session_state[key] = min(max(number, least), most)
    return key


def picks(about: str) -> Picks:
    """Return what was decided of the chain of this question over these facts."""
    held: tuple[str, Picks] | None = st.session_state.get(_PICKS)
    if held is None:
        held = st.session_state[_PICKS] = (about, Picks.of(st.session_state.get(_KEPT, {})))
    return held[1] if held[0] == about else Picks()


def decide(about: str, found: Picks) -> None:
    """Remember what was decided of a chain; called before a run."""
    st.session_state[_PICKS] = (about, found)


def write(parts: Sequence[str], decided: Picks) -> None:
    """Put what is shown into the address."""
    state = {part: st.session_state.get(f"chains_{part}", wanted(part)) for part in parts}
    said = {part: str(value) for part, value in state.items() if value not in (None, "")}
    said |= decided.to_address()
    st.session_state[_KEPT] = said
    st.session_state[_WRITTEN] = said
    if said != st.query_params.to_dict():
        st.query_params.from_dict(said)
