"""Trees on Home: a card each, with a small picture, for the team's own; a folded list of the examples."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from entail.data.text import count_of
from entail.errors import DamagedTreeError
from entail.teams.policy import STATES
from entail.trees.layout.positions import layout
from entail.trees.log.event_log import TreeLog, TreeSummary
from entail.ui.components.elements import pick_view
from entail.ui.components.inbox import read_assets
from entail.ui.components.tree_view import colours
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label
from entail.ui.work.pieces import badge

_SHOWN, _COLUMNS = 12, 2
"""Trees that are shown, the last changed ones, and cards in a row."""

_SMALLEST = (560, 160)
"""Width and height of the smallest picture, so that a tree of one box is not drawn larger than others."""

_NAMED = 2
"""Authors that a card names."""


def draw_own(shared: Workspace, trees: Sequence[TreeSummary]) -> None:
    """Draw a card for each of the team's trees that were changed last."""
    st.subheader("Your team's trees")
    states = shared.work.states(actor=shared.viewer)
    counts = Counter(states[tree.id] for tree in trees if tree.id in states)
    if counts:
        numbers: dict[str, int] = {"all": len(trees)}
        numbers.update((state, counts[state]) for state in STATES if state in counts)
        picked = pick_view(
            "State",
            list(numbers),
            default="all",
            format_func=lambda state: f"{state} ({numbers[state]:,})",
            key="own_state",
        )
        trees = [tree for tree in trees if picked in ("all", states.get(tree.id))]
    corpora = {corpus.id: corpus.name for corpus in shared.corpora.corpora(archived=None)}
    for start in range(0, min(len(trees), _SHOWN), _COLUMNS):
        for cell, tree in zip(st.columns(_COLUMNS), trees[start : start + _COLUMNS], strict=False):
            with cell, st.container(border=True, key=f"card-{tree.id}", gap="xsmall", height="stretch"):
                if picture := _picture(tree.id, tree.seq, _log=shared.log):
                    st.image(picture, width="stretch", alt="")
                draw_link(tree)
                names = [shown_name(author) for author in tree.authors]
                further = [f"+{len(names) - _NAMED}"] if len(names) > _NAMED else []
                people = ", ".join([*names[:_NAMED], *further])
                corpus = corpora.get(tree.corpus_id or "", "no corpus")
                mark = f"{badge(states[tree.id])} " if tree.id in states else ""
                st.caption(mark + label(f"{corpus} · {people} · {ago(tree.changed_at)}"))
    title = f"All {len(trees):,} trees"
    if len(trees) > _SHOWN and st.button(title, icon=":material/list:", key="all_own", type="tertiary"):
        st.session_state.pop("tree", None)
        st.switch_page("pages/Trees.py")


def draw_examples(trees: Sequence[TreeSummary]) -> None:
    """Draw links to the first examples, folded away."""
    with st.expander(f"Examples ({len(trees):,})", icon=":material/school:"):
        for tree in trees[:_SHOWN]:
            draw_link(tree)
        if len(trees) > _SHOWN:
            st.page_link("pages/Trees.py", label=f"All {len(trees):,} examples", icon=":material/list:")


def draw_link(tree: TreeSummary) -> None:
    """Draw a tree's claim as the link that opens the tree."""
    st.page_link(
        "pages/Trees.py",
        label=label(tree.hypothesis, longest=120),
        help=f"Open: {count_of(tree.premises, 'premise')}, {count_of(tree.steps, 'step')}",
        query_params={"tree": tree.id},
    )


@st.cache_data(show_spinner=False, max_entries=256)
def _picture(tree_id: str, seq: int, *, _log: TreeLog) -> str:
    """Return the boxes and lines of a tree without its texts, as SVG; empty if it is damaged."""
    try:
        drawing = layout(_log.history(tree_id).at(seq).tree)
    except DamagedTreeError:
        return ""
    segments = (line for step in drawing.steps for line in step.lines)
    lines = "".join(f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" for (x1, y1), (x2, y2) in segments)
    boxes = "".join(
        f'<rect class="{html.escape(box.kind)}" x="{box.left:.0f}" y="{box.top:.0f}" '
        f'width="{box.width:.0f}" height="{box.height:.0f}" rx="6" />'
        for box in drawing.boxes.values()
    )
    width, height = max(drawing.width, _SMALLEST[0]), max(drawing.height, _SMALLEST[1])
    left, top = (drawing.width - width) / 2 - 4, (drawing.height - height) / 2 - 4
    size = f"{left:.0f} {top:.0f} {width + 8:.0f} {height + 8:.0f}"
    style = f"<style>{read_assets('mini.css')}\n{colours('svg')}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">{style}<path d="{lines}" />{boxes}</svg>'
    )
