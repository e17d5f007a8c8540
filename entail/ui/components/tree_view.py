"""Shared scripts, styles and legend of graph and outline in the browser, and the way they are mounted.

The scripts of a view are sent once a session; a small component travels with each change of the tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from entail.trees.layout.appearance import DARK, KINDS, LIGHT, NAMES, SHAPES
from entail.ui.components.inbox import component, mount, read_assets

LEGEND = "".join(
    f'<li data-kind="{kind}"><span class="key {SHAPES[kind]}"></span>{NAMES[kind]}</li>' for kind in KINDS
)
"""Entries of the legend of a tree, as HTML."""


def mount_view(
    view: str,
    key: str,
    data: Mapping[str, Any],
    on_message: Callable[[Mapping[str, Any]], object],
    *,
    script: str,
) -> None:
    """Draw a tree by the script of a view; pass its messages on as `mount` does."""
    with st.container(gap=None):
        component(f"entail_{view}_library", script)(key=f"{key}:library")
        small = f"const VIEW = {view!r};\n{read_assets('meeting.js', 'mount.js')}"
        mount(component(f"entail_{view}", small), key, data, on_message)


def script_of(view: str, **constants: object) -> str:
    """Return the script of a view with its page, its styles and these constants in front."""
    css = f"{read_assets('tools.css', f'{view}.css')}\n{colours(f'.{view}')}"
    html = f"<style>{css}</style>{read_assets(f'{view}.html').replace('LEGEND', LEGEND)}"
    constants = {"VIEW": view, "HTML": html, **constants}
    lines = [f"const {name} = {json.dumps(value)};" for name, value in constants.items()]
    scripts = ("outbox.js", "meeting.js", "elements.js", f"{view}.js", "serving.js")
    return "\n".join([*lines, read_assets(*scripts)])


def colours(root: str) -> str:
    """Return the colours of boxes and lines below this selector; `light-dark` follows the page's theme."""
    rules = [f"{root} {{ --edge: light-dark({LIGHT.edge}, {DARK.edge}); }}"]
    for kind in KINDS:
        looks = (LIGHT.looks[kind], DARK.looks[kind])
        values = " ".join(
            f"--{name}: light-dark({', '.join(getattr(look, name) for look in looks)});"
            for name in ("fill", "border", "text")
        )
        rules.append(f'.{kind}, [data-kind="{kind}"] {{ {values} }}')
    return "\n".join(rules)
