"""Signing in by OpenID Connect (`st.login`), where the section `[auth]` of the secrets says how.

docs/operating.md tells what has to stand there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import Error as StreamlitError

from entail.errors import EntailError
from entail.settings import load_settings
from entail.trees.authors import Authors
from entail.trees.identity import Identity, SignedIn, identity_of
from entail.ui.words import label

_NAMES: Mapping[str, str] = {"google": "Google", "microsoft": "Microsoft", "huggingface": "Hugging Face"}

_WAY_BACK = """
export default function ({ data }) {
  // The provider sends everybody to the first page: whoever came by a link to a tree is taken back to it.
  const place = "entail.way";
  try {
    if (!data.signed_in) {
      if (!window.entailWay) window.addEventListener("pagehide", () => {
        sessionStorage.setItem(place, location.pathname + location.search);
      });
      window.entailWay = true;
      return;
    }
    const way = sessionStorage.getItem(place);
    sessionStorage.removeItem(place);
    if (!location.pathname.endsWith("/")) return; // somebody went on by themselves meanwhile
    if (way && /^\\/(?!\\/)/.test(way) && way !== location.pathname + location.search) location.replace(way);
  } catch (error) { /* a browser without storage stays on the first page */ }
}
"""


def wanted() -> bool:
    """Say whether authors of this installation are who they signed in as."""
    return bool(_section()) or _unreadable()


def required_to_read() -> bool:
    """Say whether whoever has not signed in sees nothing."""
    return load_settings().sign_in == "to-read"


def claims() -> Mapping[str, Any] | None:
    """Return what the provider says of who signed in, None where nobody did."""
    told = st.user.to_dict()
    return told if told.get("is_logged_in") else None


def who() -> Identity | None:
    """Return who signed in, None where nobody did or the provider did not say who.

    Raises:
        ActError: If the provider did not say who it is.
    """
    told = claims() if wanted() else None
    return identity_of(told) if told is not None else None


def signed_in_author(authors: Authors) -> SignedIn | None:
    """Return the author who signed in; draws what has to be asked first, or what is in the way."""
    _way_back(signed_in=claims() is not None)
    try:
        identity = who()
        if identity is None:
            return None
        known: tuple[Identity, SignedIn] | None = st.session_state.get("signed_in")
        if known is not None and known[0] == identity:
            return known[1]
        typed = authors.typed_before(identity)
        answer: bool | None = st.session_state.get("adopts")
        if typed is not None and answer is None:
            _ask(typed)
            return None
        name = authors.sign_in(identity, adopt=bool(answer))
    except EntailError as error:
        st.error(label(str(error)))
        return None
    _called.clear()
    st.session_state["signed_in"] = (identity, name)
    return name


def draw_sign_in(*, key: str) -> None:
    """Draw a button for each provider that one may sign in with."""
    if _unreadable():
        st.error("The file of secrets cannot be read, so nobody can sign in; the server's log says why.")
    for provider in _providers():
        with_it = f" with {_NAMES.get(provider, provider)}" if provider else ""
        if st.button(
            f"Sign in{with_it}",
            key=f"{key}-{provider or 'default'}",
            icon=":material/login:",
            type="primary",
            width="stretch",
        ):
            try:
                st.login(provider or None)
            except StreamlitError as error:
                # What it says may name the section, never what stands in it.
                st.error(label(f"Signing in is not set up as it should be: {error}", longest=400))


def shown_name(author: str) -> str:
    """Return how an author is called now, who may have worked under another name first."""
    return _called().get(author, author)


@st.cache_data(show_spinner=False, ttl=30)
def _called() -> Mapping[str, str]:
    from entail.ui.resources import workspace

    return dict(workspace().authors.called())


def _ask(typed: str) -> None:
    st.markdown(f"Somebody worked here as **{label(typed)}** before, without signing in. Was that you?")
    for words, adopts in (("Yes, go on as this author", True), ("No, I am another", False)):
        st.button(words, key=f"adopts-{adopts}", on_click=_answer, args=(adopts,), width="stretch")


def _answer(adopts: bool) -> None:
    st.session_state["adopts"] = adopts


def _section() -> Mapping[str, Any]:
    if not st.secrets.load_if_toml_exists():
        return {}
    found = st.secrets.get("auth") or {}
    return found if isinstance(found, Mapping) else {}


def _unreadable() -> bool:
    """Say whether there are secrets that cannot be read: a name that is typed would get past signing in."""
    return not st.secrets.load_if_toml_exists() and any(
        Path(file).is_file() for file in st.get_option("secrets.files")
    )


def _providers() -> list[str]:
    """Return the providers by name, the one without a name as an empty text."""
    section = _section()
    named = [str(name) for name, said in section.items() if isinstance(said, Mapping) and "client_id" in said]
    return ["", *named] if "client_id" in section else named


def _way_back(*, signed_in: bool) -> None:
    component = st.components.v2.component("entail_way_back", js=_WAY_BACK)
    component(key="way_back", data={"signed_in": signed_in}, height="content")
