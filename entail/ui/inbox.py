"""What a component in the browser sends to Python: every message once, in order, none lost.

A trigger of Streamlit holds one value a run, and the value is lost when the next one comes before that run
has begun. So the browser numbers its messages and sends all that Python has not acknowledged yet; here each
is taken once. With every message Streamlit begins a new run in a thread of its own, and breaks the old one
off where it next draws something or reads the session state. So a message waits here until the moment it is
handed over.
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
    """The receiving end of one mounted component.

    Attributes:
        mount: Name that the browser gave itself when it drew the component; numbers begin anew with each.
        seen: Number of the last message taken of it.
        before: Mount -> that number, of mounts before: what one of them still sends again is not taken twice.
        waiting: Messages taken and not yet handed over.
        turn: Held by the run whose turn it is to take or to act.
    """

    mount: str = ""
    seen: int = 0
    before: dict[str, int] = field(default_factory=dict)
    waiting: list[Mapping[str, Any]] = field(default_factory=list)
    turn: RLock = field(default_factory=RLock, repr=False, compare=False)

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
        """Yield what is waiting, oldest first; what is not asked for goes on waiting."""
        while True:
            with self.turn:
                if not self.waiting:
                    return
                message = self.waiting.pop(0)
            yield message

    @property
    def acknowledged(self) -> dict[str, Any]:
        """What the browser is told, so that it stops sending what was taken."""
        return {"mount": self.mount, "seen": self.seen}


def inbox(key: str) -> Inbox:
    """Return this session's inbox of the component mounted under `key`."""
    made: Inbox = st.session_state.setdefault(f"{key}:inbox", Inbox())
    return made


def receiver(key: str, handle: Callable[[Iterator[Mapping[str, Any]]], None] | None) -> Callable[[], None]:
    """Return a mount's `on_sent_change`: it takes what was sent before the script runs, and has it handled.

    A run that comes meanwhile waits for its turn, so that what was sent first is done first.
    """
    box = inbox(key)

    def receive() -> None:
        sent = held(key)
        with box.turn:
            box.take(sent.get("sent") if isinstance(sent, Mapping) else None)
            if handle is not None:
                handle(box.drain())

    return receive


def held(key: str) -> Any:  # noqa: ANN401 - whatever that widget holds
    """Return what a widget holds, None where nothing is known of it; for callbacks.

    It is read with all the others at once, for there Streamlit breaks nothing off. Where one key is read, a
    run that waits takes the place of this one: the callback ends there, and is not called again.
    """
    return st.session_state.to_dict().get(key)
