"""One job: how it stands, what can be done, how it goes in charts, what it was set to, its log."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from entail.errors import EntailError
from entail.evaluation.measured import Beside
from entail.jobs.method import methods
from entail.jobs.record import Job
from entail.settings import is_demo
from entail.ui.models_form import spoken
from entail.ui.models_job_charts import draw_panel, in_words, panels
from entail.ui.models_jobs import LIVE, LOOKS, NEW, about, badge, go, how_far, spell, tend
from entail.ui.resources import jobs
from entail.ui.words import label

WARNINGS_SHOWN = 5
LOG_LINES = 200

_VERDICTS = {
    "better": "It does better than the encoder that was active.",
    "not different": "It does neither better nor worse, as far as these queries tell.",
    "worse": "It does worse than the encoder that was active.",
}


def draw_job(job_id: str, author: str | None) -> None:
    """Draw one job, and go on by itself as long as it does."""
    try:
        job = jobs().job(job_id)
    except EntailError as error:  # there is none, or what stands in its folder cannot be read
        st.error(label(str(error)), icon=":material/error:")
        _leave()
        return
    st.fragment(_draw, run_every=LIVE if job.open else None)(job.id, job.state, author)


def _draw(job_id: str, state: str, author: str | None) -> None:
    try:
        job = jobs().job(job_id)
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        _leave()
        return
    if job.state != state:
        st.rerun()  # what can be done is another thing now, and an end needs no more looks
    try:
        _draw_head(job, author)
        _draw_standing(job)
        _draw_charts(job)
        _draw_settings(job)
        with st.expander("Log", icon=":material/notes:"):
            tail = jobs().log_tail(job.id, lines=LOG_LINES)
            st.code(tail or "Nothing was said yet.", language=None, height=320, wrap_lines=True)
    except EntailError as error:  # somebody deleted it while it was drawn
        st.error(label(str(error)), icon=":material/error:")


def _draw_head(job: Job, author: str | None) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="job-head"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.markdown(f"#### {label(job.name)}", width="content")
            badge(job)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            if not is_demo():
                _draw_acts(job, author or "somebody")
            _leave()
    st.caption(about(job) + (f" · attempt {job.status.attempt}" if job.status.attempt > 1 else ""))


def _draw_acts(job: Job, who: str) -> None:
    """Draw what can be done about it as it stands."""
    if job.open:
        stopping = job.state == "cancelling"
        if st.button("Cancel", icon=":material/stop:", disabled=stopping, key="cancel_job"):
            _do(lambda: jobs().cancel(job.id, by=who))
    futile = job.status.ending == "diverged"  # resumed, it does the same again
    if job.resumable and st.button(
        "Resume",
        icon=":material/play_arrow:",
        type="secondary" if futile else "primary",
        key="resume_job",
        help="Queues it again; it goes on from its last checkpoint.",
    ):
        _do(lambda: jobs().resume(job.id))
    if job.spec.method in methods() and st.button(
        "Use as a pattern",
        icon=":material/content_copy:",
        type="primary" if futile else "secondary",
        key="like_job",
        help="Set up a new training that begins with the data and the settings of this one.",
    ):
        go(NEW, like=job.id)
        st.rerun()
    if not job.open:
        with st.popover("Delete", icon=":material/delete:", key="delete_job"):
            size = jobs().disk(job.id) / 2**20
            st.markdown(
                f"Its log, events and checkpoints go ({size:,.1f} MiB). "
                + ("The encoder stays." if job.state == "done" else "It cannot be resumed then.")
            )
            if st.button("Delete it", type="primary", key="delete_job_now"):
                _do(lambda: jobs().delete(job.id), leave=True)


def _draw_standing(job: Job) -> None:
    """Say how it stands: its place in the queue, how far it is, or how it ended and what to do."""
    status = job.status
    if job.state == "queued":
        ahead = [other for other in jobs().queued() if (other.place or 0) < (job.place or 0)]
        running = [other for other in jobs().jobs() if other.state in ("running", "cancelling")]
        names = ", ".join(f"**{label(other.name)}**" for other in [*running, *ahead])
        st.info(
            f"It waits as number {job.place}, after {names}." if names else "It begins in a moment.",
            icon=":material/schedule:",
        )
        tend()
    elif job.open:
        share, words = how_far(job)
        st.progress(share, text=label(words))
        if job.state == "cancelling":
            wish = f"{label(job.cancelled_by or 'Somebody')} wishes that it ends"
            st.caption(f"{wish}: it writes a checkpoint first.")
        else:
            st.caption("It goes on without this page: its address leads back here, from any browser.")
    elif job.state == "done":
        _draw_done(job)
    else:
        draw = st.info if job.state == "cancelled" else st.error
        by = f" by {label(job.cancelled_by)}" if job.cancelled_by else ""
        after = f" after {spell(job.seconds)}" if job.seconds else ""
        draw(
            f"**{LOOKS[job.state].words.capitalize()}{by}**{after}: "
            f"{label(status.what or 'no reason is known')}.  \n**What to do:** {label(status.todo or '')}.",
            icon=LOOKS[job.state].icon,
        )
    told = [str(event.get("text", "")) for event in jobs().told(job.id) if event["kind"] == "warning"]
    # What the training told on its way stands among the warnings of its end again.
    for words in list(dict.fromkeys([*told, *job.warnings]))[-WARNINGS_SHOWN:]:
        st.warning(label(words), icon=":material/warning:")


def _draw_done(job: Job) -> None:
    if not (jobs().settings.models_dir / job.name).is_dir():
        st.warning(
            f"**{label(job.name)}** learnt in {spell(job.seconds)}, and was taken away since: no folder "
            "of its name is among the encoders. “Use as a pattern” sets the same training up anew.",
            icon=":material/folder_off:",
        )
        return
    how = methods().get(job.spec.method)
    if how is not None and not how.encodes:
        st.success(
            f"**{label(job.name)}** learnt in {spell(job.seconds)}. It is {how.makes} and makes no vectors, "
            f"so it ranks for no corpus: {how.use}.",
            icon=":material/school:",
        )
        if _builds_chains(job.name):
            _draw_promote(job.name, "Compare with the scorer in use and promote")
        return
    gaussian = makes_gaussians(job.name)
    st.success(
        f"**{label(job.name)}** learnt in {spell(job.seconds)}. It stands among the encoders"
        + (
            "; the Direction page judges and searches by it, and the Trees page draws its arrows."
            if gaussian
            else ", and under “Ranked by” on the Trees page."
        ),
        icon=":material/school:",
    )
    found = _beside(job)
    if found is not None:
        st.markdown(
            f"**{_VERDICTS[found.verdict]}** Measured on {found.queries:,} queries of {label(found.split)}, "
            f"decided by {label(found.primary)}."
        )
        st.dataframe(figures_table(found), hide_index=True, key="job_figures")
    if found is None:
        why = "" if job.evaluation else f": there were no dev {'pairs' if gaussian else 'trees'}"
        st.markdown(
            f"It was not compared with the {'one in use' if gaussian else 'active encoder'} yet{why}."
        )
    _draw_promote(job.name, f"Compare with the {'one in use' if gaussian else 'active encoder'} and promote")


def _draw_promote(name: str, words: str) -> None:
    if st.button(
        words,
        icon=":material/published_with_changes:",
        type="primary",
        key="promote_job",
        on_click=_to_encoders,
        args=(name,),
    ):
        st.rerun()


def _beside(job: Job) -> Beside | None:
    """Return what it was compared with, None where it was not, or another version wrote it."""
    try:
        return Beside.from_json(job.evaluation) if job.evaluation else None
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def makes_gaussians(name: str) -> bool:
    """Say whether an encoder that is here makes Gaussians: it is for directions, not what ranks."""
    from entail.encoders.catalogue import resolve

    try:
        return resolve(name).gaussian is not None
    except EntailError:  # it was taken away since
        return False


def _builds_chains(name: str) -> bool:
    """Say whether something that is no encoder can be put in use for chains."""
    from entail.roles import role_of

    try:
        return role_of(name) == "chains"
    except EntailError:  # it is for nothing that can be promoted, or was taken away since
        return False


def figures_table(found: Beside) -> pd.DataFrame:
    """Return the figures of both encoders, with the difference and its interval."""
    rows = found.measures.items()
    return pd.DataFrame(
        {
            "measure": [name for name, _ in rows],
            "active": [f"{paired.first:.3f}" for _, paired in rows],
            "this one": [f"{paired.second:.3f}" for _, paired in rows],
            "difference, 95 %": [
                f"{paired.difference:+.3f} [{paired.low:+.3f}, {paired.high:+.3f}]" for _, paired in rows
            ],
        }
    )


def _draw_charts(job: Job) -> None:
    """Draw how it goes; nothing where it has told nothing."""
    found = panels(jobs().points(job.id))
    if not found:
        if job.state == "running":
            st.caption("Charts stand here once it has gone its first steps.")
        return
    st.caption("Over steps; each point is the mean since the last one.")
    for start in range(0, len(found), 2):
        cells = st.columns(2)
        for cell, panel in zip(cells, found[start : start + 2], strict=False):
            cell.altair_chart(
                draw_panel(panel), key=f"panel-{panel.title}", alt=in_words(panel), width="stretch"
            )


def _draw_settings(job: Job) -> None:
    with st.expander("Settings", icon=":material/tune:"):
        how = methods().get(job.spec.method)
        try:
            changed = how.changed(job.spec.config) if how else dict(job.spec.config)
        except (EntailError, TypeError, ValueError):  # settings of another version
            how, changed = None, dict(job.spec.config)
        st.caption("What is not as the method has it by itself:" if how else "As they were given:")
        rows = {spoken(name): str(value) for name, value in changed.items()} or {"Nothing": ""}
        rows |= {"Learns from": job.spec.about, "Job": job.id}
        rows |= {"Device": job.spec.device} if job.spec.device else {}
        rows |= {"Machine": job.status.host} if job.status.host else {}
        st.dataframe(pd.DataFrame(rows.items(), columns=["setting", "value"]), hide_index=True)


def _leave() -> None:
    if st.button("All jobs", icon=":material/list:", type="tertiary", key="all_jobs_button"):
        go(None)
        st.rerun()


def _do(act: Callable[[], object], *, leave: bool = False) -> None:
    try:
        act()
    except EntailError as error:
        st.toast(label(str(error)), icon=":material/error:")
        return
    if leave:
        go(None)
    st.rerun()


def _to_encoders(name: str) -> None:
    """Lead to the view in which a candidate is compared and promoted."""
    go(None, candidate=name)
    st.session_state["models_view"] = "Encoders"
