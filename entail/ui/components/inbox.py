"""Messages from a component in the browser: each delivered once and in order, none lost.

A Streamlit trigger holds one value a run and loses it when the next value comes before that run. So the
browser numbers its messages and resends those that Python has not acknowledged. Each message starts a new
run in a new thread, which ends the old run where it next draws or reads the session state. So messages are
queued here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import streamlit as st

ASSETS = Path(__file__).parent / "assets"


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

    @property
    def acknowledged(self) -> dict[str, Any]:
        """Acknowledgement for the browser, which then stops resending."""
        return {"mount": self.mount, "seen": self.seen}


def inbox(key: str) -> Inbox:
    """Return this session's inbox of the component mounted under `key`."""
    box: Inbox = st.session_state.setdefault(f"{key}:inbox", Inbox())
    return box


def receiver(key: str, handle: Callable[[Iterator[Mapping[str, Any]]], None] | None) -> Callable[[], None]:
    """Return the `on_sent_change` of a mount, which queues and handles messages before the script runs.

    A concurrent run waits for its turn, so messages are handled in order.
    """
    box = inbox(key)

    def receive() -> None:
        sent = widget_value(key)
        with box.turn:
            box.take(sent.get("sent") if isinstance(sent, Mapping) else None)
            if handle is not None:
                handle(box.drain())

    return receive


def widget_value(key: str) -> Any:  # noqa: ANN401 - whatever that widget holds
    """Return the value of a widget, None if there is none; for callbacks.

    Reads all widgets at once, where Streamlit does not interrupt. Reading a single key lets a waiting run
    take
    over: the callback would end there and not be called again.
    """
    return st.session_state.to_dict().get(key)
