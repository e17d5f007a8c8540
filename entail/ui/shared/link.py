"""State of a page in the query string, so that its address can be shared.

Streamlit's own binding of widgets to the address writes the text of an option, leaves out defaults and drops
unknown values silently. A link that is kept for months needs ids, all of them, and a warning for a value that
no longer exists.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

import streamlit as st

from entail.ui.shared.text import label

_Option = TypeVar("_Option")

UNSENT = 10.0
"""Seconds for which messages of a finished run may wait to be sent, on a busy machine."""


def init_value(key: str, value: object) -> None:
    """Set a widget's first value, again in every run of the first seconds.

    Streamlit sends a value that was set only in that run, and drops what waits to be sent when the next run
    starts. The browser would then start with the widget's own default.
    """
    since: dict[str, float] = st.session_state.setdefault("first_values", {})
    if key not in st.session_state:
        st.session_state[key] = value
        since[key] = time.monotonic()
    elif time.monotonic() - since.get(key, -UNSENT) < UNSENT:
        st.session_state[key] = st.session_state[key]


def draw_example_link(page: str, **values: str) -> None:
    """Draw a link that opens a page's file with an example, whose parts are these query parameters."""
    st.page_link(page, label="Try an example", icon=":material/lightbulb:", query_params=values)


class Link:
    """Query parameters of one page, and the widgets that they set.

    `page` begins the widget keys, `<page>_<part>`; `parts` are the query parameters, and `called` has the
    names in warnings of those that are not called by their own.
    """

    def __init__(self, page: str, parts: Sequence[str], *, called: Mapping[str, str]) -> None:
        self.page, self.parts, self._called = page, tuple(parts), called
        self._stored, self._written, self._unknown = f"{page}_link", f"{page}_written", f"{page}_unknown"

    @property
    def values(self) -> Mapping[str, str]:
        """Values of the address, or of this session when it last left the page."""
        values: dict[str, str] = st.session_state.setdefault(self._stored, {})
        return values

    def load_from_url(self) -> bool:
        """Take over the values of a new address; return whether there was one."""
        values = {part: value for part in self.parts if (value := st.query_params.get(part))}
        if not values or values == st.session_state.get(self._written):
            return False
        st.session_state[self._stored] = values
        st.session_state[self._unknown] = {}
        for part in self.parts:
            st.session_state.pop(f"{self.page}_{part}", None)
        return True

    def clear(self, part: str) -> None:
        """Empty the text field of a part."""
        st.session_state[f"{self.page}_{part}"] = ""

    def requested(self, part: str) -> str | None:
        """Return the value of a part in the address, or in this session when it last left the page."""
        return self.values.get(part)

    def pick(
        self,
        part: str,
        title: str,
        options: Collection[_Option],
        default: _Option,
        *,
        draw: Callable[..., Any] = st.selectbox,
        **more: Any,
    ) -> _Option:
        """Draw a part's field by `draw`, with `more` arguments, and return the selected option.

        `options` may be a mapping with their texts as values; `default` is the first one where the address
        names none.
        """
        if isinstance(options, Mapping):
            more["format_func"] = options.__getitem__
        key = self.init_widget(part, list(options), default)
        return cast(_Option, draw(title, list(options), key=key, **more))

    def enter(
        self,
        part: str,
        title: str,
        default: str = "",
        *,
        longest: int,
        draw: Callable[..., Any] = st.text_input,
        **more: Any,
    ) -> str:
        """Draw a text field by `draw`, with `more` arguments, and return its text."""
        return str(draw(title, key=self.init_text(part, default, longest=longest), max_chars=longest, **more))

    def init_widget(self, part: str, options: Sequence[_Option], default: _Option) -> str:
        """Set the first value of a part's widget and return the widget's key.

        The value is the option whose text the address requests, else the default, also where it is no longer
        an option. A requested value without an option is warned about as long as the default stands for it.
        """
        key = f"{self.page}_{part}"
        unknown: dict[str, tuple[str, object]] = st.session_state.setdefault(self._unknown, {})
        if st.session_state.get(key) not in options:
            value = self.requested(part)
            matching = [option for option in options if str(option) == value]
            if value is not None and not matching and key not in st.session_state:
                unknown[part] = value, default
            st.session_state.pop(key, None)
            init_value(key, matching[0] if matching else default)
        else:
            init_value(key, default)  # again, while it may not have been sent
        value, instead = unknown.get(part, (None, None))
        if value is not None and st.session_state[key] == instead:
            name = self._called.get(part, part)
            st.warning(f"This link names a {name} that does not exist here: “{label(value, longest=60)}”.")
        else:
            unknown.pop(part, None)
        return key

    def init_text(self, part: str, default: str, *, longest: int) -> str:
        """Set the first value of a part's text field and return the field's key."""
        key = f"{self.page}_{part}"
        init_value(key, (self.requested(part) or default)[:longest])
        return key

    def save_to_url(self, parts: Sequence[str], *, further: Mapping[str, str] | None = None) -> None:
        """Write the values of these parts into the address, and `further` ones that belong to no widget."""
        state = {part: st.session_state.get(f"{self.page}_{part}", self.requested(part)) for part in parts}
        values = {part: str(value) for part, value in state.items() if value not in (None, "")}
        values |= further or {}
        st.session_state[self._stored] = values
        st.session_state[self._written] = values
        if values != st.query_params.to_dict():
            st.query_params.from_dict(values)
