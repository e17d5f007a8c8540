"""A page with the keyboard and the graph, or the outline (`?view=outline`): it says what reaches Python."""

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import streamlit as st

from entail.data.records import Premise
from entail.trees.log.acts import Act, Create, Event, Finish, GivenNode, Reject, Remove, Write
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.ui.components.graph import draw_graph
from entail.ui.components.inbox import KeyPress, NodeEvent, listen
from entail.ui.components.tree_view import draw_outline
from entail.ui.trees.screen import Screen

SCRIPT = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'
STORY = (
    (f"a <b>bold</b> fact {SCRIPT}", -1),
    ("if a place gets no sunlight then that place gets cold", -1),
    ("a place on the moon gets no sunlight at night", 0),
    ("at night a side of the moon is turned away from the sun", 2),
    ("the sun is the source of light for the moon called sunlight", 2),
    ("never used so far", None),
)
is_outline = st.query_params.get("view") == "outline"
COUNT = len(STORY) if is_outline else len(STORY) - 1


def tree_of(count: int, later: list[tuple[str, Act]]) -> Tree:
    """Return a tree of so many nodes below the hypothesis, always the same, and later acts."""
    nodes = tuple(
        GivenNode(*STORY[i])
        if i < COUNT
        else GivenNode(f"fact {i} says that a kind of thing is a kind of another thing", (i - 1) // 3)
        for i in range(count)
    )
    acts: list[Act] = [
        Create(hypothesis="the moon is cold at night", nodes=nodes),
        Reject(node="n1.1" if is_outline else "n1", premise=Premise("ice is a kind of solid")),
        *([Finish(node="n1.3", premises=())] if is_outline else []),
    ]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    events = [("Ada", act) for act in acts] + later
    return replay([Event(seq=i, author=by, at=at, act=act) for i, (by, act) in enumerate(events, 1)]).tree


st.set_page_config(layout="wide")
st.html("<style>:root { --above: 360px; }</style>")  # of the window, for what stands above the graph
# Handlers must not read the session state, where a run can be broken off: they keep to this object.
state = st.session_state.setdefault(
    "kept",
    SimpleNamespace(
        screen=Screen("tree"), opened="", done="", events=[], pressed=[], runs=0, more=0, wrote=[]
    ),
)
state.runs += 1
screen = state.screen


def follow(event: NodeEvent) -> None:
    state.events.append(f"{event.kind}:{event.node}")
    if event.kind == "open":
        state.opened = event.node
    if event.to:
        state.done = f"{event.kind} {event.node} {event.to}"
    else:
        screen.apply(event)


def press(pressed: KeyPress) -> None:
    state.pressed.append(f"{pressed.key}@{pressed.stamp}" if pressed.stamp else pressed.key)
    if pressed.key == "g":
        screen.select("n1.5")


@st.dialog("A dialog")
def ask() -> None:
    st.write("Is a key taken here?")


with st.container(horizontal=True):
    slow, rejected, away = st.checkbox("slow"), st.checkbox("rejected"), st.checkbox("away")
    grown, pruned = st.checkbox("grown"), st.checkbox("pruned")
    st.button("grow", on_click=lambda: setattr(state, "more", state.more + 1))
    for name in ("Ada", "Bo"):
        st.button(f"{name} writes", on_click=state.wrote.append, args=(name,))
    if st.button("ask"):
        ask()
    st.text_input("words", label_visibility="collapsed")
acts: list[tuple[str, Act]] = [(name, Write(node="n1", text=f"a fact by {name}")) for name in state.wrote]
acts += [("Ada", Write(node="n1.1", text="written just now"))] if grown else []
acts += [("Ada", Remove(node="n1.2"))] if pruned else []
tree = tree_of(int(st.query_params.get("nodes", COUNT)) + state.more, acts)
if screen.selected not in tree.nodes:
    screen.select("n1")
says = {name: getattr(state, name) for name in ("opened", "done", "runs")}
says["selected"] = screen.selected
says["collapsed"] = " ".join(sorted(screen.collapsed))
says |= {name: " ".join(getattr(state, name)) for name in ("events", "pressed")}
st.text("; ".join(f"{name}={value}" for name, value in says.items()) + ";")
if slow:
    time.sleep(0.7)
if not away:
    options = {
        "selected": screen.selected,
        "collapsed": screen.collapsed,
        "show_rejected": rejected,
        "key": "outline" if is_outline else "graph",
        "on_event": follow,
    }
    if is_outline:
        draw_outline(tree, **options)
    else:
        notes = {"n1.1": "Supported by its premises"}
        draw_graph(tree, author="Ada", editable=True, notes=notes, **options)
    digits = "0123456789"
    keys = [*digits, *(f"shift+{digit}" for digit in digits), *"ur?g", "up", "down", "enter"]
    more = ["left", "right", "home", "end"] if is_outline else []
    listen(keys=[*keys, *more], key="keys", stamp="" if is_outline else screen.selected, on_press=press)
