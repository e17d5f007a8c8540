"""What goes to the Hub or comes from there, on its way and when it has ended, the same for all that does."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar

import streamlit as st

from entail.cards.markdown import section
from entail.errors import EntailError, HubError
from entail.hub.names import check_repo
from entail.hub.repository import Pushed
from entail.progress import ProgressCallback
from entail.ui.author import asks_who
from entail.ui.authoring import draw_progress
from entail.ui.models_encoder_details import readable
from entail.ui.words import label
from entail.ui.works import Works

T = TypeVar("T")

_REASONS = {
    "no_token": "no token",
    "bad_token": "the token is not taken",
    "forbidden": "not allowed",
    "gated": "gated",
    "not_found": "not found",
    "no_revision": "no such revision",
    "offline": "no connection",
    "quota": "no room on the Hub",
    "rate_limit": "asked too often",
    "conflict": "changed meanwhile",
    "server": "the Hub is out of order",
    "disk": "no room here",
    "unsafe": "not safe",
    "place": "the name will not do",
    "unexpected": "unexpected",
}


@st.cache_resource(show_spinner=False)
def hub_works() -> Works:
    """Return the process's previews, pushes and pulls."""
    return Works(24, failure="the Hub could not be asked")


def take_up(key: str, place: Hashable, make: Callable[[ProgressCallback], object]) -> None:
    """Begin a work and remember its place in this session, whose page shows it; a handler of clicks.

    Args:
        key: Where the session remembers it.
        place: All that it depends on.
        make: What is done.
    """
    works = hub_works()
    # Whoever clicks wants it done now: what was made of older weights, or pushed once, is no answer.
    held = works.look(place)
    if held is not None and held.done.is_set():
        works.drop(lambda known: known == place)
    works.take(place, make, wait=0)
    st.session_state[key] = place


def outcome(key: str, place: Hashable, kind: type[T], *, waiting: str) -> T | None:
    """Return what came of the work that this session remembers, if it is at this place; else draw how it is.

    Args:
        key: Where the session remembers it.
        place: What the fields say now: another work is none of theirs.
        kind: What it makes.
        waiting: What it does, as long as it tells no progress.
    """
    work = hub_works().look(place) if st.session_state.get(key) == place else None
    if work is None:
        return None
    if not work.done.is_set():
        draw_progress(work, waiting=waiting)
    elif work.error is not None:
        draw_error(work.error)
    return work.value if isinstance(work.value, kind) else None


def draw_error(error: EntailError) -> None:
    """Draw what went wrong, in words and with its reason in short."""
    reason = _REASONS.get(error.reason, error.reason) if isinstance(error, HubError) else ""
    st.error((f"**{reason[:1].upper()}{reason[1:]}.** " if reason else "") + label(str(error)))


def pick_repo(what: str, *, key: str) -> str | None:
    """Draw the field for a name on the Hub, and what is wrong with it; return it if nothing is."""
    typed = st.text_input(
        what, key=key, max_chars=200, placeholder="my-team/my-name", persist_state="session"
    )
    repo = (typed or "").strip()
    if not repo:
        return None
    try:
        check_repo(repo)
    except HubError as error:
        st.caption(f":red[{label(str(error))}]")
        return None
    return repo


def pick_private(*, key: str) -> bool:
    """Draw the switch between its owners alone and everybody, and what the latter means."""
    private = st.toggle("Private: only its owners see it", value=True, key=key, persist_state="session")
    if not private:
        st.warning("Public: everybody sees it at once, and may keep it for ever.", icon=":material/public:")
    return private


def draw_plan_and_push(
    push: Callable[..., Pushed],
    asked: Hashable,
    *,
    key: str,
    author: str | None,
    help: str,
    waiting: str,
    sure: str,
    draw: Callable[[Pushed], None],
) -> None:
    """Draw a preview on demand, then the button that pushes what it showed, then what came of it.

    Args:
        push: Pushes, or with `dry_run=True` only lays out.
        asked: All that it depends on.
        key: Beginning of the keys.
        author: Who is at work, None while unnamed.
        help: What the preview does.
        waiting: The same as it is done.
        sure: What has to be ticked first; empty for nothing.
        draw: Draws the preview.
    """
    remembered, ended = f"{key}_plan", f"{key}_done"
    st.button(
        "Preview",
        key=f"{key}_preview",
        icon=":material/visibility:",
        on_click=take_up,
        args=(remembered, (key, "plan", asked), lambda _: push(dry_run=True)),
        help=f"{help} The Hub is not asked, no token is needed.",
    )
    plan = outcome(remembered, (key, "plan", asked), Pushed, waiting=waiting)
    if plan is not None:
        draw(plan)
        begin_button(
            f"Push to {plan.repo}",
            key=f"{key}_push",
            icon=":material/cloud_upload:",
            author=author,
            ready=not sure or st.checkbox(sure, key=f"{key}_sure"),
            on_click=partial(take_up, ended, (key, "push", asked), lambda _: push()),
        )
    done = outcome(ended, (key, "push", asked), Pushed, waiting="Pushing …")
    if done is not None:
        draw_pushed(done)


def begin_button(
    words: str, *, key: str, icon: str, author: str | None, ready: bool, on_click: Callable[[], None]
) -> None:
    """Draw the button that begins a work, and who it waits for."""
    st.button(
        words, key=key, icon=icon, type="primary", disabled=author is None or not ready, on_click=on_click
    )
    if author is None:
        st.caption(asks_who())


def draw_plan(plan: Pushed) -> None:
    """Draw what would be pushed: whose it will be, its files, its licence, its card."""
    st.markdown(
        f"**{label(plan.repo)}**, {'private' if plan.private else ':orange[public]'}: {len(plan.files)} "
        f"files, {size(plan.size)}. Nothing was sent yet."
    )
    if terms := section(plan.card, "Licence"):
        with st.container(border=True):
            st.markdown(f":material/gavel: **What the licences allow**\n\n{readable(terms)}")
    st.dataframe(
        {"file": list(plan.files), "size": [size(count) for count in plan.files.values()]},
        hide_index=True,
        height=min(38 + 35 * len(plan.files), 320),
        column_config={"file": st.column_config.TextColumn(width="large")},
    )
    with (
        st.expander("The card, as people will read it", icon=":material/description:", expanded=True),
        st.container(height=420, border=False),
    ):
        st.markdown(readable(plan.card))
    header = plan.card.split("\n---\n", 1)[0].removeprefix("---\n")
    with st.expander("Its header, as the Hub reads it", icon=":material/data_object:"):
        st.code(header, language="yaml")


def draw_pushed(done: Pushed) -> None:
    """Draw what was pushed, and where it is."""
    gone = f" Taken away there: {', '.join(label(name) for name in done.removed)}." if done.removed else ""
    seen = "private" if done.private else "public"
    st.success(
        f"Pushed {len(done.files)} files, {size(done.size)}, to **{label(done.repo)}** ({seen}), "
        f"commit `{(done.commit or '')[:12]}`.{gone}",
        icon=":material/cloud_done:",
    )
    if done.url and done.url.startswith(("https://", "http://")):
        st.link_button("Look at it", done.url, icon=":material/open_in_new:")


def size(count: int) -> str:
    """Return bytes in words.

    >>> size(512), size(2_097_152)
    ('1 kB', '2.1 MB')
    """
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{max(1, round(count / 1000))} kB"
