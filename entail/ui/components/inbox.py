"""Messages from a component in the browser: each delivered once and in order, none lost; keys and clicks.

Streamlit loses a value whose run another run interrupts. So the browser numbers its messages and resends
those that Python has not acknowledged, as state of the component (`outbox.js`). Each message starts a new
run in a new thread, which ends the old run where it next draws or reads the session state. So messages are
queued here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

ASSETS = Path(__file__).parent / "assets"
FIRST_HINT = "Premises that you accept appear here, below the hypothesis."


@dataclass
class Inbox:
    """Queue of messages of one mounted component.

    Attributes:
        mount: Name of the mount, chosen by the browser; each mount numbers its messages from 1.
        seen: Number of its last received message.
        before: Mount -> that number, for earlier mounts, whose repeated messages are ignored.
        waiting: Received messages that are not handled yet.
        turn: Lock of the run that receives or handles.
    """

    mount: str = ""
    seen: int = 0
    before: dict[str, int] = field(default_factory=dict)
    waiting: list[Mapping[str, Any]] = field(default_factory=list)
    turn: RLock = field(default_factory=RLock, repr=False, compare=False)

    def take(self, sent: object) -> None:
        """Queue the messages from the browser; skip repeated and malformed ones.

        >>> inbox = Inbox()
        >>> inbox.take({"mount": "a", "messages": [{"number": 1, "key": "3"}]})
        >>> inbox.take({"mount": "a", "messages": [{"number": 1, "key": "3"}, {"number": 2, "key": "u"}]})
        >>> [message["key"] for message in inbox.drain()]
        ['3', 'u']
        """
        if not isinstance(sent, Mapping):
            return
        mount, messages = sent.get("mount"), sent.get("messages")
        if not isinstance(mount, str) or not isinstance(messages, list):
            return
        with self.turn:
            if mount != self.mount:
                self.before[self.mount] = self.seen
                self.mount, self.seen = mount, self.before.get(mount, 0)
            for message in messages:
                number = message.get("number") if isinstance(message, Mapping) else None
                if isinstance(number, int) and number > self.seen:
                    self.seen = number
                    self.waiting.append(message)

    def drain(self) -> Iterator[Mapping[str, Any]]:
        """Remove and yield the queued messages, the oldest first."""
        while True:
            with self.turn:
                if not self.waiting:
                    return
                message = self.waiting.pop(0)
            yield message


def mount(
    component: ComponentRenderer,
    key: str,
    data: Mapping[str, Any],
    on_message: Callable[[Mapping[str, Any]], object],
) -> None:
    """Draw a component and pass each of its messages to `on_message`, before the next run of the script."""
    box: Inbox = st.session_state.setdefault(f"{key}:inbox", Inbox())
    component(
        key=key,
        data={**data, "acknowledged": {"mount": box.mount, "seen": box.seen}},  # so it stops resending
        on_sent_change=receiver(key, box, on_message),
    )


def receiver(key: str, box: Inbox, on_message: Callable[[Mapping[str, Any]], object]) -> Callable[[], None]:
    """Return the handler of a mount, which queues and handles messages.

    A concurrent run waits for its turn, so messages are handled in order.
    """

    def receive() -> None:
        sent = widget_value(key)
        with box.turn:
            box.take(sent.get("sent") if isinstance(sent, Mapping) else None)
            for message in box.drain():
                on_message(message)

    return receive


def widget_value(key: str) -> Any:
    """Return the value of a widget, None if there is none; for callbacks.

    Reads all widgets at once, where Streamlit does not interrupt. Reading a single key lets a waiting run
    take over: the callback would end there and not be called again.
    """
    return st.session_state.to_dict().get(key)


@cache
def component(name: str, js: str) -> ComponentRenderer:
    """Return the component of this name with its scripts."""
    return st.components.v2.component(name, js=js)


@cache
def read_assets(*names: str) -> str:
    """Return scripts or styles of the components, one after another."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Action on a node in the graph or the outline; on that which a rejected premise was rejected for.

    A double click in the graph is an `open` after a `select`. A `move` is a box dragged onto another one,
    `to`; a `connect` is a line drawn from a premise to a conclusion; a `dialog` is the one named `to`.
    """

    kind: Literal["select", "open", "toggle", "collapse", "expand", "move", "connect", "dialog"]
    node: str
    to: str = ""


def node_handler(
    kinds: Collection[str], on_event: Callable[[NodeEvent], object]
) -> Callable[[Mapping[str, Any]], None]:
    """Return a handler of messages that passes on events of these kinds and skips malformed messages."""

    def handle(message: Mapping[str, Any]) -> None:
        if message.get("kind") in kinds and isinstance(message.get("node"), str):
            on_event(NodeEvent(message["kind"], message["node"], str(message.get("to", ""))))

    return handle


@dataclass(frozen=True, slots=True)
class KeyPress:
    """One key press anywhere on the page.

    Attributes:
        key: `3`, `shift+3`, `u`, `?`, `up`, `enter` ...: digits by their place on the keyboard, so that
            Shift+3 is `shift+3` on every layout and on the numeric pad; letters in lower case.
        stamp: Stamp of the last `listen` before the key was pressed.
    """

    key: str
    stamp: str = ""


def listen(*, keys: Sequence[str], key: str, stamp: str = "", on_press: Callable[[KeyPress], object]) -> None:
    """Listen to `keys` on the whole page; pass every press to `on_press` before the next run of the script.

    `stamp` identifies the screen and comes back with each press: a press with an older stamp was meant for an
    older list. Keys are ignored in text fields, in open dialogs, and with Ctrl, Alt or Meta; Streamlit does
    not see them. The browser keeps what is typed into a dialog until its button is pressed (`drafts.js`).
    """

    def handle(message: Mapping[str, Any]) -> None:
        if isinstance(message.get("key"), str):
            on_press(KeyPress(message["key"], str(message.get("stamp", ""))))

    renderer = component("entail_keyboard", read_assets("outbox.js", "drafts.js", "keyboard.js"))
    mount(renderer, key, {"keys": list(keys), "stamp": stamp}, handle)


def keep_claim(*, started: str | None = None) -> None:
    """Let the browser keep what is typed into the form of a new tree, until a tree of it is `started`."""
    script = read_assets("outbox.js", "drafts.js", "claim.js")
    component("entail_claim", script)(key="claim-draft", data={"started": started})


def draw_splitter() -> None:
    """Draw the handle between two panes, whose width the browser remembers; see `panes.css`."""
    css = f"const CSS = {json.dumps(read_assets('splitter.css'))};\n"
    component("entail_splitter", css + read_assets("outbox.js", "splitter.js"))(key="splitter")


def save_png(svg: str, *, name: str) -> None:
    """Let the browser save a picture as PNG, once."""
    script = read_assets("outbox.js", "png.js")
    component("entail_png", script)(key="png", data={"id": time.time(), "svg": svg, "name": name})
