"""The address of a page: what it shows stands in the query string, so that it can be sent.

Streamlit's own binding of widgets to the address writes what a list shows, leaves out what is the default
today, and drops in silence what it does not know. A link that is kept for months needs ids, all of them, and
a word where one is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import streamlit as st

from entail.ui.words import label

_Option = TypeVar("_Option")


class Link:
    """What the address of one page may name.

    Args:
        page: Its widgets have the keys `<page>_<part>`.
        parts: What may be named.
        called: What a part is called where the address asks for it in vain; default: as it is.
    """

    def __init__(self, page: str, parts: Sequence[str], *, called: Mapping[str, str]) -> None:
        self.page, self.parts, self._called = page, tuple(parts), called
        self._kept, self._written, self._in_vain = f"{page}_link", f"{page}_written", f"{page}_in_vain"

    @property
    def said(self) -> Mapping[str, str]:
        """What the address says, or this session said before it left the page."""
        kept: dict[str, str] = st.session_state.setdefault(self._kept, {})
        return kept

    def arrive(self) -> bool:
        """Take over what the address says, where it says anything new; return whether it did."""
        given = {part: value for part in self.parts if (value := st.query_params.get(part))}
        if not given or given == st.session_state.get(self._written):
            return False
        st.session_state[self._kept] = given
        st.session_state[self._in_vain] = {}
        for part in self.parts:
            st.session_state.pop(f"{self.page}_{part}", None)
        return True

    def wanted(self, part: str) -> str | None:
        """Return what the address, or this session before it left the page, says of a part."""
        return self.said.get(part)

    def begin(self, part: str, options: Sequence[_Option], default: _Option) -> str:
        """Give the widget of a part its first value and return its key.

        The value is what the address asks for where that is one of the options (as text), else the default;
        a value that is no option any more gives way to them too. What the address asks for in vain is said
        as long as something else stands in its place.
        """
        key = f"{self.page}_{part}"
        in_vain: dict[str, tuple[str, object]] = st.session_state.setdefault(self._in_vain, {})
        if st.session_state.get(key) not in options:
            asked = self.wanted(part)
            found = [option for option in options if str(option) == asked]
            if asked is not None and not found and key not in st.session_state:
                in_vain[part] = asked, default
            st.session_state[key] = found[0] if found else default
        asked, instead = in_vain.get(part, (None, None))
        if asked is not None and st.session_state[key] == instead:
            what = self._called.get(part, part)
            st.warning(f"The address asks for a {what} that is not here: “{label(asked, longest=60)}”.")
        else:
            in_vain.pop(part, None)
        return key

    def write(self, parts: Sequence[str], *, further: Mapping[str, str] | None = None) -> None:
        """Put what is shown into the address.

        Args:
            parts: Those of its widgets, as asked for where they are not drawn yet.
            further: What no widget holds.
        """
        state = {part: st.session_state.get(f"{self.page}_{part}", self.wanted(part)) for part in parts}
        said = {part: str(value) for part, value in state.items() if value not in (None, "")}
        said |= further or {}
        st.session_state[self._kept] = said
        st.session_state[self._written] = said
        if said != st.query_params.to_dict():
            st.query_params.from_dict(said)
