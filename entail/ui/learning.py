"""Learning from the team's decisions: what is missing, the button, the job that learns, how it ended."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from entail.errors import EntailError
from entail.jobs.record import Job
from entail.trees.learning import ENOUGH, Decided, decided
from entail.trees.wording import count_of
from entail.ui.authoring import Place
from entail.ui.demo import closed
from entail.ui.models_jobs import LIVE, how_far, spell, tend
from entail.ui.resources import Workspace, jobs, retrievers
from entail.ui.screen import Desk
from entail.ui.words import label


def learning_jobs(corpus_id: str | None) -> list[Job]:
    """Return the jobs that learn, or learnt, from the decisions on a corpus, the newest first."""
    if corpus_id is None:
        return []
    return [job for job in jobs().jobs() if job.spec.source.get("from_log") == corpus_id]


def draw_learning(place: Place, desk: Desk) -> None:
    """Draw what can be done about learning from here: watch, begin, or how much is missing."""
    corpus_id = place.summary.corpus_id
    if corpus_id is None or not len(place.corpus) or closed("no encoder learns from what you decide"):
        return
    who = desk.author or "somebody"
    found = learning_jobs(corpus_id)
    with st.container(key="learning"):
        if (busy := [job for job in found if job.open]) != []:
            # The first of them that was asked for runs first.
            _draw_busy(busy[-1].id, who)
            return
        if found and not found[0].noted:
            _draw_end(found[0])
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
    done = next((job for job in learning_jobs(place.summary.corpus_id) if job.state == "done"), None)
    if done is None:
        return
    declined: set[str] = st.session_state.setdefault("declined_encoders", set())
    if place.ranking.alone == done.name or done.id in declined or done.name not in retrievers():
        return
    with st.container(horizontal=True, vertical_alignment="center", key="offer"):
        st.markdown(f":green[:material/school: **{label(done.name)}** has learnt from your decisions.]")
        st.button("Rank with it", on_click=_use, args=(done.name,), key="use_learnt")
        st.page_link(
            "pages/Models.py",
            label="Compare and promote",
            query_params={"models_view": "Encoders", "candidate": done.name},
        )
        st.button("Not now", on_click=declined.add, args=(done.id,), type="tertiary", key="decline_learnt")


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


@st.fragment(run_every=LIVE)
def _draw_busy(job_id: str, who: str) -> None:
    try:
        job = jobs().job(job_id)
    except EntailError:
        st.rerun()  # deleted meanwhile
    if not job.open:
        st.rerun()
    if job.state == "queued":
        st.progress(0.0, text=f"**{label(job.name)}** waits to learn, as number {job.place} in the queue")
        tend()
    else:
        share, words = how_far(job)
        st.progress(share, text=f"**{label(job.name)}** learns · {label(words)}")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(
            f"Started by {label(job.spec.by)} {job.spec.at.astimezone():%H:%M}, from "
            f"{label(job.spec.about)}. It goes on without this page."
        )
        st.page_link(
            "pages/Models.py",
            label="Watch it",
            icon=":material/monitoring:",
            query_params={"models_view": "Training", "job": job.id},
        )
        stopping = job.state == "cancelling"
        if st.button("Cancel", type="tertiary", key="cancel_learning", disabled=stopping):
            _do(lambda: jobs().cancel(job.id, by=who), "It could not be cancelled")
            st.rerun()


def _draw_end(job: Job) -> None:
    """Say how the last training ended, until somebody has taken note."""
    name, took = label(job.name), spell(job.seconds)
    after = f" after {took}" if job.seconds else ""
    if job.state == "done":
        counts = dict((job.result or {}).get("counts", {}))
        words = f"learnt in {took}"
        if counts:
            words = (
                f"learnt in {took} from {count_of(counts.get('positives', 0), 'accepted premise')} and "
                f"{counts.get('negatives', 0):,} rejected, "
                f"for {count_of(counts.get('queries', 0), 'sentence')}"
            )
        st.success(
            f"**{name}** {label(words)}. It stands under “Ranked by” from now on."
            + "".join(f"  \n:material/warning: {label(warning)}" for warning in job.warnings),
            icon=":material/school:",
        )
    elif job.state == "cancelled":
        by = f" by {label(job.cancelled_by)}" if job.cancelled_by else ""
        st.info(f"**{name}** was cancelled{by}{after}.", icon=":material/cancel:")
    else:
        what = "failed" if job.state == "failed" else "was interrupted"
        todo = f"  \n**What to do:** {label(job.status.todo)}." if job.status.todo else ""
        st.error(
            f"The training of **{name}** {what}{after}: "
            f"{label(job.status.what or 'no reason is known')}.{todo}",
            icon=":material/error:",
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.resumable:
            st.button(
                "Resume",
                on_click=_do,
                args=(lambda: jobs().resume(job.id), "It could not be resumed"),
                key="resume_learning",
                help="It goes on from its last checkpoint, with the decisions as they were when it began.",
            )
        st.page_link(
            "pages/Models.py",
            label="See how it went",
            icon=":material/monitoring:",
            query_params={"models_view": "Training", "job": job.id},
        )
        st.button(
            "Dismiss",
            on_click=_do,
            args=(lambda: jobs().note(job.id), "It could not be put away"),
            type="tertiary",
            key="dismiss_learning",
        )


def _open(desk: Desk) -> None:
    desk.screen.dialog = "learn" if desk.author is not None else "name"


def _use(name: str) -> None:
    st.session_state["retriever"] = name


def _do(act: Callable[[], object], failure: str) -> None:
    """Do something about a job, and say what was in the way."""
    try:
        act()
    except EntailError as error:
        st.toast(label(f"{failure}: {error}"), icon=":material/error:")
