"""A page with nothing but the outline and the keyboard, which says what reaches Python."""

import time
from datetime import UTC, datetime

import streamlit as st

from entail.data.records import Premise
from entail.trees.log.acts import Create, Event, Finish, GivenNode, Reject, Remove, Write
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.ui.components.inbox import KeyPress, NodeEvent, listen
from entail.ui.components.tree_view import draw_outline
from entail.ui.trees.page import Screen

SCRIPT = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'
STORY = (
    (f"a <b>bold</b> fact {SCRIPT}", -1),
    ("if a place gets no sunlight then that place gets cold", -1),
    ("a place on the moon gets no sunlight at night", 0),
    ("at night a side of the moon is turned away from the sun", 2),
    ("the sun is the source of light for the moon called sunlight", 2),
    ("never used so far", None),
)


def tree_of(count: int, *, grown: bool, pruned: bool) -> Tree:
    """Return a tree with so many nodes below the hypothesis, always the same."""
    nodes = tuple(
        GivenNode(*STORY[i])
        if i < len(STORY)
        else GivenNode(f"fact {i} says that a kind of thing is a kind of another thing", (i - 1) // 3)
        for i in range(count)
    )
    acts = [
        Create(hypothesis="the moon is cold at night", nodes=nodes),
        Reject(node="n1.1", premise=Premise("ice is a kind of solid")),
        Finish(node="n1.3", premises=()),
        *([Write(node="n1.1", text="written just now")] if grown else []),
        *([Remove(node="n1.2")] if pruned else []),
    ]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return replay([Event(seq=i, author="Ada", at=at, act=act) for i, act in enumerate(acts, 1)]).tree


state = st.session_state
screen: Screen = state.setdefault("screen", Screen("tree"))
events: list[str] = state.setdefault("events", [])
pressed: list[str] = state.setdefault("pressed", [])


def take(event: NodeEvent) -> None:
    screen.apply(event)
    events.append(f"{event.kind}:{event.node}")


def press(pressed_now: KeyPress) -> None:
    pressed.append(pressed_now.key)
    if pressed_now.key == "g":
        screen.select("n1.5")


with st.container(horizontal=True):
    slow, rejected, away = st.checkbox("slow"), st.checkbox("rejected"), st.checkbox("away")
    grown, pruned = st.checkbox("grown"), st.checkbox("pruned")
tree = tree_of(int(st.query_params.get("nodes", len(STORY))), grown=grown, pruned=pruned)
if screen.selected not in tree.nodes:
    screen.select("n1")
says = {
    "selected": screen.selected,
    "collapsed": " ".join(sorted(screen.collapsed)),
    "events": " ".join(events),
    "pressed": " ".join(pressed),
}
st.text("; ".join(f"{name}={value}" for name, value in says.items()) + ";")
if slow:
    time.sleep(0.7)
if not away:
    draw_outline(
        tree,
        selected=screen.selected,
        collapsed=screen.collapsed,
        show_rejected=rejected,
        key="outline",
        on_event=take,
    )
    listen(keys=[*"gu1", "up", "down", "left", "right", "home", "end", "enter"], key="keys", on_press=press)
