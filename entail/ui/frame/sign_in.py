"""Sign-in by OpenID Connect (`st.login`), configured in the section `[auth]` of the secrets.

docs/operate.md describes the section.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping
from functools import partial
from threading import Event
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.errors import Error as StreamlitError

from entail.errors import EntailError, SettingsError
from entail.settings import load_settings
from entail.trees.store.authors import Authors, Identity, SignedIn, identity_of
from entail.ui.components.inbox import component, read_assets
from entail.ui.shared.text import label

_NAMES = {"google": "Google", "microsoft": "Microsoft", "huggingface": "Hugging Face"}

LEAVING = 5.0
"""Seconds in which a browser that signs in leaves the page; later it came back by its Back button."""

_log = logging.getLogger("entail.ui")
_seen = Event()  # once there was a section, its removal opens nothing


def check_secrets() -> None:
    """Refuse by a `SettingsError` to start with secrets that cannot be used."""
    if mistake := find_mistake():
        raise SettingsError(mistake)
    is_configured()


def is_configured() -> bool:
    """Return whether authors of this installation sign in.

    They do, too, where reading needs it and the section is missing, where the secrets have a mistake, and
    where the section was removed while the app runs: a typed name opens nothing then.
    """
    if find_mistake() or _section():
        _seen.set()
    return _seen.is_set() or is_required_to_read()


def find_mistake() -> str | None:
    """Return why these secrets cannot be used to sign in, without their contents; None if they are right."""
    files, is_named = config.get_option("secrets.files"), config.is_manually_set("secrets.files")
    required = [file for file in files if is_named or os.path.lexists(file)]
    if unreadable := [file for file in required if not os.access(file, os.R_OK)]:
        return f"expected secrets in {unreadable}, found nothing to read; spaces separate several paths"
    secrets = _secrets()
    if secrets is None:
        return f"expected secrets in {required}, found none in TOML and UTF-8" if required else None
    entries = [name for name in secrets if name.lower() == "auth"]
    section = secrets.get("auth")
    # Without a secret, anyone could sign a cookie.
    is_usable = isinstance(section, Mapping) and section.get("cookie_secret") and _providers(section)
    if not entries or (is_usable and entries == ["auth"]):
        return None
    return (
        "expected one section [auth] in the secrets, with a cookie_secret and the client_id of each provider "
        f"(docs/operate.md), found {entries} without them or in other capitals"
    )


def is_required_to_read() -> bool:
    """Return whether the pages are hidden from visitors who are not signed in."""
    return load_settings().sign_in == "to-read"


def provider_claims() -> Mapping[str, Any] | None:
    """Return the provider's claims about the signed-in user, None if no user is signed in."""
    user = {} if find_mistake() else st.user.to_dict()
    return user if user.get("is_logged_in") else None


def current_identity() -> Identity | None:
    """Return the identity of the signed-in user, None without one; `ActError` if the claims name no user."""
    claims = provider_claims() if is_configured() else None
    return identity_of(claims) if claims is not None else None


def signed_in_author(authors: Authors) -> SignedIn | None:
    """Return the signed-in author, None if there is none; draw a pending question or the error."""
    _leave_page()
    back = component("entail_way_back", read_assets("way_back.js"))
    back(key="way_back", data={"signed_in": provider_claims() is not None}, height="content")
    try:
        identity = current_identity()
        if identity is None:
            return None
        previous_sign_in: tuple[Identity, SignedIn] | None = st.session_state.get("signed_in")
        if previous_sign_in is not None and previous_sign_in[0] == identity:
            return previous_sign_in[1]
        typed = authors.typed_before(identity)
        answer: bool | None = st.session_state.get("adopts")
        if typed is not None and answer is None:
            st.markdown(f"An unverified author **{label(typed)}** has worked here before. Was that you?")
            for words, adopts in (("Yes, that was me", True), ("No, another person", False)):
                store = partial(st.session_state.__setitem__, "adopts", adopts)
                st.button(words, key=f"adopts-{adopts}", on_click=store, width="stretch")
            return None
        name = authors.sign_in(identity, adopt=bool(answer))
    except EntailError as error:
        st.error(label(str(error)))
        return None
    _current_names.clear()
    st.session_state["signed_in"] = (identity, name)
    return name


def draw_sign_in(*, key: str) -> None:
    """Draw a button for each configured provider."""
    if mistake := find_mistake():
        _log.error("sign-in is unavailable: %s", mistake)
        st.error("Sign-in is unavailable: the secrets have a mistake. The server's log has the reason.")
        return
    if not _section():
        st.error("Sign-in is required here, but the secrets have no section [auth].")
    for provider in _providers(_section()):
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
                # The message may name the section, never its contents.
                st.error(label(f"Sign-in is not configured correctly: {error}", longest=400))
            else:
                st.session_state["signing_in"] = provider or None, time.monotonic()


def sign_out() -> None:
    """Sign the user out, here and at the provider; for callbacks."""
    st.session_state["signing_out"] = True


def _leave_page() -> None:
    """Send the browser to the provider where the user signs in or out.

    It is sent in every run until it leaves: Streamlit drops the redirect of a run that another one follows at
    once. After a sign-out the cookie would stay, and a reload would sign the user in again.
    """
    provider, pressed = st.session_state.get("signing_in", (None, -math.inf))
    if "signing_out" in st.session_state:
        st.logout()
    elif time.monotonic() - pressed < LEAVING:
        st.login(provider)


def shown_name(author: str) -> str:
    """Return the current name of an author, who may have been entered under another one."""
    return _current_names().get(author, author)


@st.cache_data(show_spinner=False, ttl=30)
def _current_names() -> Mapping[str, str]:
    from entail.ui.shared.resources import workspace

    return dict(workspace().authors.display_names())


def _secrets() -> Mapping[str, Any] | None:
    try:
        return st.secrets.to_dict()
    except (OSError, ValueError):  # missing or no TOML; no right to read it; no UTF-8
        return None


def _section() -> Mapping[str, Any]:
    section: Mapping[str, Any] = (_secrets() or {}).get("auth", {})
    return section


def _providers(section: Mapping[str, Any]) -> list[str]:
    """Return the names of the providers; the one without a name is the empty string."""
    named = [str(name) for name, part in section.items() if isinstance(part, Mapping) and "client_id" in part]
    return ["", *named] if "client_id" in section else named
