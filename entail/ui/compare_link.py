"""The address of a comparison: what is compared stands in the query string, so that it can be sent.

Streamlit's own binding of widgets to the address writes what a list shows, leaves out what is the default
today, and drops in silence what it does not know. A link that is kept for months needs ids, all of them, and
a word where one is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from entail.ui.words import label

_ALWAYS = ("mode", "corpus", "left", "right", "depth")
_OF_MODE = {
    "query": ("pick", "query"),
    "tree": ("tree",),
    "split": ("trees", "file"),
    "bias": ("trees", "file"),
    "tour": ("trees", "file", "stop"),
}
PARTS = tuple(dict.fromkeys((*_ALWAYS, *(part for parts in _OF_MODE.values() for part in parts))))
"""What an address may name; each is the end of the key `compare_<part>` of a widget."""
_CALLED = {
    "left": "retriever",
    "right": "retriever",
    "pick": "claim",
    "trees": "kind of trees",
    "stop": "card",
}

_Option = TypeVar("_Option")
_KEPT, _WRITTEN, _IN_VAIN = "compare_link", "compare_written", "compare_in_vain"


def arrive() -> None:
    """Take over what the address says, where it says anything new; else go on where this session was."""
    given = {part: value for part in PARTS if (value := st.query_params.get(part))}
    if given and given != st.session_state.get(_WRITTEN):
        st.session_state[_KEPT] = given
        st.session_state[_IN_VAIN] = {}
        for part in PARTS:
            st.session_state.pop(f"compare_{part}", None)


def wanted(part: str) -> str | None:
    """Return what the address, or this session before it left the page, says of a part."""
    kept: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    return kept.get(part)


def begin(part: str, options: Sequence[_Option], default: _Option) -> str:
    """Give the widget of a part its first value and return its key.

    The value is what the address asks for where that is one of the options (as text), else the default; a
    value that is no option any more gives way to them too. What the address asks for in vain is said as long
    as something else stands in its place.
    """
    key = f"compare_{part}"
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


def write(mode: str) -> None:
    """Put what is compared into the address: the parts of this mode, as asked for where not drawn yet."""
    parts = (*_ALWAYS, *_OF_MODE.get(mode, ()))
    state = {part: st.session_state.get(f"compare_{part}", wanted(part)) for part in parts}
    said = {part: str(value) for part, value in state.items() if value not in (None, "")}
    st.session_state[_KEPT] = said
    st.session_state[_WRITTEN] = said
    if said != st.query_params.to_dict():
        st.query_params.from_dict(said)
