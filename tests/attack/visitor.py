"""A client of the app without a browser: it opens pages and sends messages of its own making."""

import http.client
import json
import secrets
from collections.abc import Iterator
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value, generate_xsrf_token_string
from websockets.sync.client import connect

USER_COOKIE = "_streamlit_user"
XSRF_COOKIE = "_streamlit_xsrf"


class Visitor:
    """A visitor of the app at a port.

    Args:
        port: Port on this machine.
        user: Claims of a signed-in user, None for an anonymous visitor.
        secret: Secret that signs the cookie.
        headers: More headers of the handshake.
    """

    def __init__(
        self,
        port: int,
        *,
        user: dict[str, Any] | None = None,
        secret: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        token = generate_xsrf_token_string()
        self.cookies = {XSRF_COOKIE: token}
        if user is not None:
            claims = {"origin": self.origin, "is_logged_in": True, **user}
            value = create_signed_value(secret, USER_COOKIE, json.dumps(claims))
            self.cookies[USER_COOKIE] = value.decode()
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.connection = connect(
            f"ws://127.0.0.1:{port}/_stcore/stream",
            origin=self.origin,  # type: ignore[arg-type]  # a NewType of str
            subprotocols=["streamlit", token, secrets.token_hex(4)],  # type: ignore[list-item]  # NewTypes
            additional_headers={"Cookie": cookie, **(headers or {})},
            max_size=None,
            proxy=None,
        )

    def __enter__(self) -> "Visitor":
        self.socket = self.connection.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.connection.__exit__(*error)

    def open(self, page: str, query: str = "", **widget: Any) -> "Answer":
        """Run a page, with one state of a widget if it is given; return all that came back."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        if widget:
            message.rerun_script.widget_states.widgets.add(**widget)
        self.socket.send(message.SerializeToString())
        parts: list[ForwardMsg] = []
        while not parts or parts[-1].WhichOneof("type") != "script_finished":
            data = self.socket.recv(timeout=120)
            assert isinstance(data, bytes)
            parts.append(ForwardMsg.FromString(data))
        return Answer(parts)


class Answer:
    """Messages of one run of a page."""

    def __init__(self, messages: list[ForwardMsg]) -> None:
        self.messages = messages

    def __contains__(self, text: str) -> bool:
        return any(text.encode() in message.SerializeToString() for message in self.messages)

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))

    def ids(self, kind: str) -> Iterator[str]:
        """Yield the ids of the elements of a kind, by their name in Streamlit's protocol."""
        for message in self.messages:
            element = message.delta.new_element
            if element.WhichOneof("type") == kind:
                yield getattr(element, kind).id


def ask(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an HTTP answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json", **(headers or {})},
        )
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()
