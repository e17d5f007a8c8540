"""A page with nothing but the graph and the keyboard, which says what reaches Python."""

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import streamlit as st

from entail.data.records import Premise
from entail.trees.log.acts import Create, Event, GivenNode, Reject, Write
from entail.trees.log.replay import replay
from entail.trees.log.tree import Tree
from entail.ui.components.graph import draw_graph
from entail.ui.components.inbox import KeyPress, NodeEvent, listen

SCRIPT = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'
STORY = (
    (f"a <b>bold</b> fact {SCRIPT}", -1),
    ("if a place gets no sunlight then that place gets cold", -1),
    ("a place on the moon gets no sunlight at night", 0),
    ("at night a side of the moon is turned away from the sun", 2),
    ("the sun is the source of light for the moon called sunlight", 2),
)


def tree_of(count: int, authors: tuple[str, ...] = ()) -> Tree:
    """Return a tree of so many nodes below the hypothesis, always the same, and one by each author."""
    nodes = tuple(
        GivenNode(*STORY[i])
        if i < len(STORY)
        else GivenNode(f"fact {i} says that a kind of thing is a kind of another thing", (i - 1) // 3)
        for i in range(count)
    )
    acts = (
        ("Ada", Create(hypothesis="the moon is cold at night", nodes=nodes)),
        ("Ada", Reject(node="n1", premise=Premise("ice is a kind of solid"))),
        *((author, Write(node="n1", text=f"a fact by {author}")) for author in authors),
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return replay([Event(seq=i, author=by, at=at, act=act) for i, (by, act) in enumerate(acts, 1)]).tree


st.set_page_config(layout="wide")
# Handlers must not read the session state, where a run can be broken off: they keep to this object.
state = st.session_state.setdefault(
    "kept",
    SimpleNamespace(
        selected="n1", opened="", collapsed=frozenset(), pressed=[], runs=0, more=0, wrote=(), done=""
    ),
)
state.runs += 1
tree = tree_of(int(st.query_params.get("nodes", len(STORY))) + state.more, state.wrote)


def follow(event: NodeEvent) -> None:
    if event.kind == "toggle":
        state.collapsed ^= {event.node}
    elif event.kind == "open":
        state.opened = event.node
    elif event.to:
        state.done = f"{event.kind} {event.node} {event.to}"
    else:
        state.selected = event.node


def press(pressed: KeyPress) -> None:
    state.pressed.append(f"{pressed.key}@{pressed.stamp}")


@st.dialog("A dialog")
def ask() -> None:
    st.write("Is a key taken here?")


with st.container(horizontal=True):
    slow, rejected, away = st.checkbox("slow"), st.checkbox("rejected"), st.checkbox("away")
    st.button("grow", on_click=lambda: setattr(state, "more", state.more + 1))
    for name in ("Ada", "Bo"):
        st.button(f"{name} writes", on_click=lambda name=name: setattr(state, "wrote", (*state.wrote, name)))
    if st.button("ask"):
        ask()
    st.text_input("words", label_visibility="collapsed")
says = ("selected", "opened", "collapsed", "pressed", "runs", "done")
shown = {name: getattr(state, name) for name in says}
shown["collapsed"] = " ".join(sorted(state.collapsed))
shown["pressed"] = " ".join(state.pressed)
st.text("; ".join(f"{name}={value}" for name, value in shown.items()) + ";")
if slow:
    time.sleep(0.7)
if not away:
    draw_graph(
        tree,
        selected=state.selected,
        collapsed=state.collapsed,
        show_rejected=rejected,
        author="Ada",
        editable=True,
        verdicts={"n1.1": "Supported by its premises"},
        key="graph",
        on_event=follow,
    )
    digits = "0123456789"
    listen(
        keys=[*digits, *(f"shift+{digit}" for digit in digits), *"ur?", "up", "down", "enter"],
        key="keys",
        stamp=state.selected,
        on_press=press,
    )
