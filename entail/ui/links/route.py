"""Static pages behind read-only links, answered by the app itself under `/shared/TOKEN`.

A page needs no name and no sign-in: the token is the permission. It is one file without a connection to the
app, in a sandbox of its own.
"""

from __future__ import annotations

import json
import logging
from threading import Event
from typing import TYPE_CHECKING

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from entail.errors import DatabaseError, EntailError

if TYPE_CHECKING:
    from entail.trees.store.shares import Share

PATH = "/shared"
"""Path of the pages behind links, below `base_path`."""

HEADERS = {
    "Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
"""Headers of every answer: the page may do nothing, is not kept, and its address is not passed on."""

GONE = "This link does not exist, or was revoked."

_log = logging.getLogger("entail.ui")
_served = Event()


def base_path() -> str:
    """Return the path that the app is served below, such as `/tools/entail`; empty at the root."""
    path = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"/{path}" if path else ""


def share_routes() -> list[Route]:
    """Return the route of the pages behind links."""
    _served.set()
    return [Route(f"{base_path()}{PATH}/{{token}}", answer, methods=["GET"])]


def is_served() -> bool:
    """Return whether this process answers links; `streamlit run` of a script alone does not."""
    return _served.is_set()


async def answer(request: Request) -> Response:
    """Answer with the page behind a link, or the same 404 for an unknown and for a revoked one."""
    return await run_in_threadpool(_answer, request.path_params["token"])


def _answer(token: str) -> Response:
    # Not at the top: the server starts without them.
    from entail.trees.store.shares import Shares
    from entail.ui.shared.resources import team_stores

    try:
        share = Shares(team_stores().database).find(token)
        if share is None:
            return PlainTextResponse(GONE, 404, HEADERS)
        return HTMLResponse(_page(share), headers=HEADERS)
    except (EntailError, ValueError) as error:
        _log.exception("a shared page could not be answered")
        if isinstance(error, DatabaseError):
            return PlainTextResponse("The database cannot be read now. Try again later.", 503, HEADERS)
        return PlainTextResponse("This page is damaged. Its team can repair it.", 500, HEADERS)


def _page(share: Share) -> str:
    if share.tree_id is None:
        from entail.evaluation.retrieval.comparison import from_json, to_page

        return to_page(from_json(json.dumps(share.comparison)), at=share.at)
    from entail.trees.formats import to_html
    from entail.ui.shared.resources import team_stores

    log = team_stores().log
    history = log.history(share.tree_id).marked(log.review(share.tree_id))
    changed = history.events[-1].at
    note = f"Read-only: version {history.seq}, {changed:%d %b %Y, %H:%M} UTC."
    return to_html(history.tree, with_rejected=False, note=note)
