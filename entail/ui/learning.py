"""Learning from the team's decisions: what is missing, the button, the training that runs, how it ended."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from entail.errors import EntailError
from entail.settings import load_settings
from entail.training.background import Background, cancel, look, put_away
from entail.trees.learning import ENOUGH, Decided, decided
from entail.trees.wording import count_of
from entail.ui.authoring import Place
from entail.ui.resources import Workspace, retrievers
from entail.ui.screen import Desk
from entail.ui.words import label

EVERY = 1.0
"""Seconds between two looks at a training that runs."""


def learning_folder() -> Path:
    """Return where trainings of this installation tell how far they are."""
    return load_settings().data_dir / "learning"


def draw_learning(place: Place, desk: Desk) -> None:
    """Draw what can be done about learning from here: watch, begin, or how much is missing."""
    corpus_id = place.summary.corpus_id
    if corpus_id is None or not len(place.corpus):
        return
    folder = learning_folder()
    run = look(folder)
    with st.container(key="learning"):
        if run is not None and run.state == "running":
            _draw_running(folder, run.id)
            return
        if run is not None and run.about.get("corpus_id") == corpus_id:
            _draw_end(folder, run)
        lacking = decisions(place.shared, corpus_id).lacking(ENOUGH)
        if lacking != Decided():
            st.caption(still_missing(lacking))
            return
        st.button(
            "Learn from these …",
            icon=":material/school:",
            on_click=_open,
            args=(desk,),
            type="tertiary",
            key=f"learn-{place.screen.tree_id}",
            help="Trains an encoder of your own from what was accepted and rejected on this corpus, "
            "outside this page. You see first what it would learn from.",
        )


def draw_offer(place: Place) -> None:
    """Draw the encoder that was learnt last for this corpus, ready to be used, unless it is in use."""
    run = look(learning_folder())
    if run is None or run.state != "done" or run.about.get("corpus_id") != place.summary.corpus_id:
        return
    declined: set[str] = st.session_state.setdefault("declined_encoders", set())
    in_use = st.session_state.get("retriever") == run.name
    if in_use or run.id in declined or run.name not in retrievers():
        return
    with st.container(horizontal=True, vertical_alignment="center", key="offer"):
        st.markdown(f":green[:material/school: **{label(run.name)}** has learnt from your decisions.]")
        st.button("Rank with it", on_click=_use, args=(run.name,), key="use_learnt")
        st.button("Not now", on_click=declined.add, args=(run.id,), type="tertiary", key="decline_learnt")


def decisions(shared: Workspace, corpus_id: str) -> Decided:
    """Count what the trees of a corpus say that were authored here, archived ones too.

    A tree is counted once a version, so that an act costs the counting of its own tree alone.
    """
    known = _counts()
    total = Decided()
    for archived in (False, True):
        for summary in shared.log.trees(corpus_id=corpus_id, archived=archived):
            if summary.example or not (summary.steps or summary.judgements):
                continue
            version = known.get(summary.id)
            if version is None or version[0] != summary.seq:
                tree = shared.log.history(summary.id).tree
                version = known[summary.id] = (tree.seq, decided(tree))
            total += version[1]
    return total


@st.cache_resource(show_spinner=False)
def _counts() -> dict[str, tuple[int, Decided]]:
    return {}


def still_missing(lacking: Decided) -> str:
    """Return what is missing before it makes sense to learn.

    >>> still_missing(Decided(accepted=7, nodes=1))
    'An encoder can learn from your decisions on this corpus after 7 more accepted premises, below 1 more
    sentence.'
    """
    parts = []
    if lacking.accepted:
        parts.append(f"{lacking.accepted} more accepted")
    if lacking.rejected:
        parts.append(f"{lacking.rejected} more rejected")
    needed = " and ".join(parts)
    needed += (" premise" if (lacking.rejected or lacking.accepted) == 1 else " premises") if parts else ""
    if lacking.nodes:
        below = f"below {count_of(lacking.nodes, 'more sentence')}"
        needed = f"{needed}, {below}" if needed else f"an accepted premise {below}"
    return f"An encoder can learn from your decisions on this corpus after {needed}."


def how_far(run: Background) -> tuple[float, str]:
    """Return the share done and words for it."""
    if run.progress is None:
        return 0.0, f"preparing, {run.seconds:,.0f} s"
    return min(1.0, run.progress.fraction), str(run.progress)


@st.fragment(run_every=EVERY)
def _draw_running(folder: Path, run_id: str) -> None:
    run = look(folder)
    if run is None or run.id != run_id or run.state != "running":
        st.rerun()
    share, words = how_far(run)
    st.progress(share, text=f"**{label(run.name)}** learns · {label(words)}")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(
            f"Started by {label(str(run.about.get('author', 'somebody')))} "
            f"{run.started.astimezone():%H:%M}, from the decisions on "
            f"{label(str(run.about.get('corpus', 'a corpus')))}. It goes on without this page."
        )
        st.button("Cancel", on_click=_cancel, args=(folder, run_id), type="tertiary", key="cancel_learning")


def _draw_end(folder: Path, run: Background) -> None:
    """Say how the last training ended, until somebody has taken note."""
    if run.put_away:
        return
    name, took = label(run.name), f"{max(1, round(run.seconds)):,} s"
    if run.state == "done":
        counts = dict((run.result or {}).get("counts", {}))
        words = f"learnt in {took}"
        if counts:
            words = (
                f"learnt in {took} from {count_of(counts.get('positives', 0), 'accepted premise')} and "
                f"{counts.get('negatives', 0):,} rejected, "
                f"for {count_of(counts.get('queries', 0), 'sentence')}"
            )
        warnings = [str(warning) for warning in (run.result or {}).get("warnings", ())]
        st.success(
            f"**{name}** {label(words)}. It stands under “Ranked by” from now on."
            + "".join(f"  \n:material/warning: {label(w)}" for w in warnings),
            icon=":material/school:",
        )
    elif run.state == "cancelled":
        st.info(f"**{name}** was cancelled after {took}; nothing is left of it.", icon=":material/cancel:")
    else:
        what = "failed" if run.state == "failed" else "was killed"
        st.error(
            f"The training of **{name}** {what} after {took}: {label(run.reason or 'no reason is known')}",
            icon=":material/error:",
        )
    st.button("Dismiss", on_click=put_away, args=(folder, run.id), type="tertiary", key="dismiss_learning")


def _open(desk: Desk) -> None:
    desk.screen.dialog = "learn" if desk.author is not None else "name"


def _use(name: str) -> None:
    st.session_state["retriever"] = name


def _cancel(folder: Path, run_id: str) -> None:
    try:
        cancel(folder, run_id)
    except (EntailError, OSError) as error:
        st.toast(label(f"It could not be cancelled: {error}"), icon=":material/error:")
