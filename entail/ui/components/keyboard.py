"""Keyboard listener: keys pressed anywhere on the page, sent to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entail.ui.components.inbox import component, mount, read_assets


@dataclass(frozen=True, slots=True)
class KeyPress:
    """One key press.

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
    older list.

    Keys are ignored in text fields, in open dialogs, and with Ctrl, Alt or Meta. Streamlit does not see the
    keys, so that `r` and `c` do not rerun or clear. Only arrows repeat while held down.

    The browser keeps what is typed into a dialog until its button is pressed (`drafts.js`).
    """

    def handle(message: Mapping[str, Any]) -> None:
        if isinstance(message.get("key"), str):
            on_press(KeyPress(message["key"], str(message.get("stamp", ""))))

    renderer = component("entail_keyboard", read_assets("outbox.js", "drafts.js", "keyboard.js"))
    mount(renderer, key, {"keys": list(keys), "stamp": stamp}, handle)
