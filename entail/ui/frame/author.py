"""Author of the session: the signed-in account, or a name typed once and remembered by the browser."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from entail.errors import EntailError
from entail.trees.store.authors import Authors, is_signed_in
from entail.ui.components.inbox import component, read_assets
from entail.ui.frame import sign_in
from entail.ui.shared.text import label

UNVERIFIED, VERIFIED = ":gray[unverified]", ":material/verified_user:"
"""Marks of a typed name, which is not verified, and of a signed-in one."""

FIELD = "author_name-"
"""Beginning of the keys of the fields for the name, one at each form that needs it."""


@dataclass
class Visitor:
    """Author of a session, readable by a handler without touching the session state.

    Streamlit ends a run that reads the session state while the next run waits: an act by key would be lost.
    """

    name: str | None = None


def visitor() -> Visitor:
    """Return this session's visitor."""
    current: Visitor = st.session_state.setdefault("visitor", Visitor())
    return current


def current_author(authors: Authors) -> str | None:
    """Return this session's author: the signed-in one, else the name typed here or in this browser before."""
    if sign_in.is_configured():
        visitor().name = st.session_state["author"] = sign_in.signed_in_author(authors)
        return visitor().name
    if is_signed_in(st.session_state.get("author") or ""):
        leave()  # sign-in was removed from the secrets meanwhile
    name = read_author(authors)
    forget = bool(st.session_state.pop("forget_author", False))
    remembered = _remember(name, forget)  # stores a name that was just typed, too
    if name is None and remembered and not forget:
        name = enter(authors, remembered)
    return name


def read_author(authors: Authors) -> str | None:
    """Return the session's author, who may have just typed their name into one of the fields.

    Typed names are ignored where authors sign in. The fields are read in every run until there is a name: a
    callback runs once, and Streamlit ends it for a run that waits, so the name would be lost.
    """
    name: str | None = st.session_state.get("author")
    if name is not None or sign_in.is_configured():
        return name
    typed = [str(st.session_state[key] or "") for key in st.session_state if str(key).startswith(FIELD)]
    return next((enter(authors, name) for name in typed if name.strip()), None)


def enter(authors: Authors, name: str) -> str | None:
    """Set the session's author and return their name; None, with an error for the page, if it is invalid."""
    try:
        entered = authors.enter(name)
    except EntailError as error:
        st.session_state["author_error"] = str(error)
        return None
    st.session_state["author"] = visitor().name = entered
    st.session_state.pop("author_error", None)
    return entered


def leave() -> None:
    """Remove the session's author, here and in the browser."""
    st.session_state.pop("author", None)
    visitor().name = None
    for key in [key for key in st.session_state if str(key).startswith(FIELD)]:
        del st.session_state[key]
    st.session_state["forget_author"] = True


def draw_author(authors: Authors) -> str | None:
    """Draw the author, or the buttons to sign in; return the author."""
    author = current_author(authors)
    if author is None:
        if sign_in.is_configured():
            ask_name("sidebar")
        return None
    st.divider()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/person: {with_mark(author, verified=is_signed_in(author))}")
        if sign_in.is_configured():
            st.button("Sign out", on_click=sign_in.sign_out, type="tertiary", key="sign_out")
        else:
            st.button("Not you?", on_click=leave, type="tertiary", key="leave")
    return author


def with_mark(author: str, *, verified: bool) -> str:
    """Return an author's name as Markdown, marked as signed in, or as unverified where authors sign in."""
    mark = VERIFIED if verified else UNVERIFIED if sign_in.is_configured() else ""
    return f"**{label(sign_in.shown_name(author))}** {mark}".rstrip()


def ask_name(suffix: str) -> None:
    """Draw the buttons to sign in, or the field for a name; `suffix` differs for each field of a page."""
    if sign_in.is_configured():
        if sign_in.provider_claims() is None:
            sign_in.draw_sign_in(key=f"sign_in-{suffix}")
        return
    st.text_input(
        "Your name",
        key=f"{FIELD}{suffix}",
        max_chars=60,
        placeholder="As your team knows you",
        help="Shown with your edits. This browser remembers it.",
    )
    if error := st.session_state.get("author_error"):
        st.error(label(error))


def lacks_name(suffix: str) -> bool:
    """Return whether this session has no author, and ask for one; see `ask_name`."""
    if st.session_state.get("author") is not None:
        return False
    ask_name(suffix)
    return True


def _remember(name: str | None, forget: bool) -> str | None:
    memory = component("entail_author", read_assets("author.js"))
    data = {"name": name, "forget": forget, "field": FIELD}
    result = memory(key="author_memory", data=data, on_name_change=lambda: None, height="content")
    remembered = getattr(result, "name", None)
    return remembered if isinstance(remembered, str) else None
