"""What a component in the browser sends to Python: every message once, in order, none lost.

A trigger of Streamlit holds one value a run, and a later one takes its place when Python is still busy. So
the browser numbers its messages and sends all that Python has not acknowledged yet; here each is taken once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

ASSETS = Path(__file__).parent / "assets"


@dataclass
class Inbox:
    """The receiving end of one mounted component.

    Attributes:
        mount: Name that the browser gave itself when it drew the component; numbers begin anew with each.
        seen: Number of the last message taken.
        waiting: Messages taken and not yet handed on.
    """

    mount: str = ""
    seen: int = 0
    waiting: list[Mapping[str, Any]] = field(default_factory=list)

    def take(self, sent: object) -> None:
        """Take what the browser sent, leaving out what was taken before and what is malformed.

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
        if mount != self.mount:
            self.mount, self.seen = mount, 0
        for message in messages:
            number = message.get("number") if isinstance(message, Mapping) else None
            if isinstance(number, int) and number > self.seen:
                self.seen = number
                self.waiting.append(message)

    def drain(self) -> tuple[Mapping[str, Any], ...]:
        """Return the messages waiting, oldest first, and forget them."""
        messages = tuple(self.waiting)
        self.waiting.clear()
        return messages

    @property
    def acknowledged(self) -> dict[str, Any]:
        """What the browser is told, so that it stops sending what was taken."""
        return {"mount": self.mount, "seen": self.seen}


def inbox(key: str) -> Inbox:
    """Return this session's inbox of the component mounted under `key`."""
    made: Inbox = st.session_state.setdefault(f"{key}:inbox", Inbox())
    return made


def receiver(key: str, then: Callable[[], None] | None = None) -> Callable[[], None]:
    """Return a mount's `on_sent_change`: it fills the inbox before the script runs, then calls `then`.

    Streamlit never interrupts a callback, so what is taken here cannot be lost to a rerun.
    """

    def receive() -> None:
        sent = st.session_state.get(key)
        inbox(key).take(sent.get("sent") if isinstance(sent, Mapping) else None)
        if then is not None:
            then()

    return receive
