"""Who is at work: who signed in; where nobody has to, a name asked once and remembered by the browser."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from entail.errors import EntailError
from entail.trees.authors import Authors
from entail.trees.identity import vouched
from entail.ui import sign_in
from entail.ui.words import label

UNVERIFIED = ":gray[unverified]"
"""Stands beside a name that somebody typed: nobody vouches for it."""

VERIFIED = ":material/verified_user:"
"""Stands beside a name that somebody signed in under."""

SIDEBAR, DIALOG = FIELDS = ("sidebar_name", "dialog_name")
"""Keys of the fields that ask for the name."""


@dataclass
class Visitor:
    """Who a session belongs to, as an object that a handler can ask without touching the session's state.

    Streamlit breaks a run off where it reads the session's state while the next one waits; an act that came
    by key would be lost there.
    """

    name: str | None = None


def visitor() -> Visitor:
    """Return this session's visitor."""
    found: Visitor = st.session_state.setdefault("visitor", Visitor())
    return found


_REMEMBER = """
export default function (component) {
  const { data, setStateValue } = component;
  const place = "entail.author";
  // Streamlit keeps the field, and the focus in it, until the run that goes without it ends: keys meant for
  // the page would be typed into it meanwhile.
  const field = document.activeElement;
  if (data.name && data.fields.some((key) => field?.closest(`.st-key-${key}`))) field.blur();
  try {
    if (data.name) localStorage.setItem(place, data.name);
    else if (data.forget) localStorage.removeItem(place);
    else if (localStorage.getItem(place)) setStateValue("name", localStorage.getItem(place));
  } catch (error) { /* a browser without storage asks again next time */ }
}
"""


def current_author(authors: Authors) -> str | None:
    """Return this session's author: who signed in, else who was named, here or in this browser before."""
    if sign_in.wanted():
        visitor().name = st.session_state["author"] = sign_in.signed_in_author(authors)
        return visitor().name
    if vouched(st.session_state.get("author") or ""):
        leave()  # signing in was taken out of the secrets meanwhile
    name = answered(authors)
    forget = bool(st.session_state.pop("forget_author", False))
    remembered = _remember(name, forget)  # by the name that was given just now, too
    if name is None and remembered and not forget:
        name = enter(authors, remembered)
    return name


def answered(authors: Authors) -> str | None:
    """Return the session's author, who may have said in one of the fields just now who they are.

    Where authors sign in nothing is believed that was typed. The fields are asked in every run until somebody
    is named: a callback would be told once, and Streamlit breaks a callback off for a run that waits. The
    name stood in the field, and nobody had heard of it.
    """
    name: str | None = st.session_state.get("author")
    if name is not None or sign_in.wanted():
        return name
    typed = (str(st.session_state.get(key, "")) for key in FIELDS)
    return next((enter(authors, name) for name in typed if name.strip()), None)


def enter(authors: Authors, name: str) -> str | None:
    """Make this the session's author; a name that cannot be used is explained and None returned."""
    try:
        entered = authors.enter(name)
    except EntailError as error:
        st.session_state["author_error"] = str(error)
        return None
    st.session_state["author"] = visitor().name = entered
    st.session_state.pop("author_error", None)
    return entered


def leave() -> None:
    """Forget the session's author, here and in the browser."""
    st.session_state.pop("author", None)
    visitor().name = None
    for key in FIELDS:
        st.session_state.pop(key, None)
    st.session_state["forget_author"] = True


def draw_author(authors: Authors) -> str | None:
    """Draw who is at work, or what it takes to be; return the author."""
    author = current_author(authors)
    if author is None:
        ask_name(authors, key=SIDEBAR)
        return None
    signed_in = sign_in.wanted()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/person: {with_mark(author, verified=vouched(author))}")
        if signed_in:
            st.button("Sign out", on_click=st.logout, type="tertiary", key="sign_out")
        else:
            st.button("Not you?", on_click=leave, type="tertiary", key="leave")
    return author


def with_mark(author: str, *, verified: bool) -> str:
    """Return an author's name as Markdown, with what there is to say of who vouches for it."""
    return f"**{label(sign_in.shown_name(author))}** {VERIFIED if verified else UNVERIFIED}"


def asks_who() -> str:
    """Return what to say to somebody who would write and has not said who they are."""
    if sign_in.wanted():
        return "First sign in: the button is in the sidebar."
    return "First say who you are: the field “Your name” in the sidebar."


def ask_name(authors: Authors, *, key: str) -> None:
    """Draw what asks who is at work: the buttons to sign in, or the field for a name.

    Args:
        authors: Those known.
        key: One of `FIELDS`.
    """
    if sign_in.wanted():
        if sign_in.claims() is None:
            sign_in.draw_sign_in(key=key)
        return

    st.text_input(
        "Your name",
        key=key,
        max_chars=60,
        placeholder="How colleagues know you",
        help="Stands beside everything that you do to a tree, as unverified: anybody can type any name. "
        "Asked once; this browser remembers it.",
    )
    if error := st.session_state.get("author_error"):
        st.error(label(error))


def _remember(name: str | None, forget: bool) -> str | None:
    component = st.components.v2.component("entail_author", js=_REMEMBER)
    result = component(
        key="author_memory",
        data={"name": name, "forget": forget, "fields": FIELDS},
        on_name_change=lambda: None,
        height="content",
    )
    remembered = getattr(result, "name", None)
    return remembered if isinstance(remembered, str) else None
