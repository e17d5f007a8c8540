"""Server that the Serving page shows: this app, or another one by URL and token."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field

import streamlit as st

from entail.serving.client import Client
from entail.serving.history import History, local_history, read_metrics
from entail.settings import is_demo, load_settings
from entail.ui.components.elements import pick_view
from entail.ui.links.route import base_path
from entail.ui.operator.views import access_refusal
from entail.ui.server import API

OWN, OTHER = "This app", "Another server"


@dataclass(frozen=True)
class Target:
    """Server by its URL, empty while the API of this app is off.

    `is_own` tells this app from another server.
    """

    url: str
    token: str | None = field(repr=False)
    is_own: bool

    @property
    def history(self) -> History:
        """Metrics of the last day; of another server since the page first read them."""
        return local_history() if self.is_own else _remote_history(self.url, self.token)

    def client(self, *, timeout: float = 60.0, attempts: int = 1) -> Client:
        """Return a client, by default one that does not retry: a page shows why a request failed."""
        return Client(self.url, token=self.token, timeout=timeout, attempts=attempts)


@functools.lru_cache(maxsize=16)
def _remote_history(url: str, token: str | None) -> History:
    client = Target(url, token, is_own=False).client(timeout=5.0)
    return History(lambda: read_metrics(client))


def is_locked() -> bool:
    """Return whether this visitor may only read: in a demo, or where others are the operators."""
    return is_demo() or access_refusal() is not None


def own_target() -> Target:
    """Return this app, whose API is on if it was started with `--api`."""
    if "--api" not in sys.argv[1:]:
        return Target("", None, is_own=True)
    address = st.get_option("server.address")
    host = "127.0.0.1" if address in (None, "", "0.0.0.0", "::") else address
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    url = f"{scheme}://{host}:{st.get_option('server.port')}{base_path()}{API}"
    return Target(url, load_settings().serve_token, is_own=True)


def pick_server() -> str:
    """Draw the choice of this app or another server, which only operators can make the app ask."""
    if is_locked():
        return OWN
    return pick_view("Server", (OWN, OTHER), default=OWN, key="serving_server", persist_state="session")


def draw_target(server: str) -> Target | None:
    """Draw the fields of another server; return None while its URL is missing."""
    if is_locked():
        st.caption(":material/lock: Read-only: operators load, unload and promote models.")
    if server == OWN:
        return own_target()
    left, right = st.columns(2)
    url = left.text_input(
        "URL",
        key="serving_url",
        placeholder="http://host:8600",
        help="Of `entail serve`, or of another app with `/api` at the end.",
        persist_state="session",
    )
    token = right.text_input(
        "Token",
        type="password",
        key="serving_token",
        help="Its ENTAIL_SERVE_TOKEN. Not stored.",
    )
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        st.error("Expected a URL that begins with http:// or https://.")
        return None
    return Target(url.strip().rstrip("/"), token.strip() or None, is_own=False)


def draw_api_off() -> None:
    """Say how to turn the API of this app on."""
    st.info(
        "The HTTP API of this app is off. Start it by `entail app --api`, or choose another server above.",
        icon=":material/power_off:",
    )
