"""``entail jobs`` and ``entail promote``: queued trainings, and the models in use."""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entail.cli.console import Report, command, describe, login_name, progress_bar, table
from entail.errors import SettingsError
from entail.training.method import Role

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.evaluation.retrieval.paired import PairedComparison
    from entail.jobs.jobs import Jobs
    from entail.jobs.record import Job
    from entail.progress import ProgressCallback
    from entail.registry.models import Active

app = typer.Typer()

Action = Literal["list", "show", "cancel", "resume", "delete"]


@command(app)
def jobs(
    action: Annotated[
        Action,
        typer.Argument(
            help="list: all jobs and workers; show: state, settings and result; cancel; resume: queue again, "
            "from the last checkpoint; delete: the job with its checkpoints and log, never its model."
        ),
    ] = "list",
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Id of the job, or enough of its beginning.")
    ] = None,
) -> Report:
    """List, show, cancel, resume or delete queued trainings; `entail logs JOB` shows their output."""
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    if (action == "list") != (job is None):
        raise SettingsError(f"entail jobs {action}: expected {'no' if job else 'the id of a'} job")
    if job is None:
        return _list(jobs)
    match action:
        case "show":
            return _show(jobs, jobs.job(job))
        case "delete":
            job_id, size = jobs.job(job).id, jobs.disk(job)
            jobs.delete(job_id)
            text = f"deleted {job_id} ({size / 2**20:,.1f} MiB)"
            return Report(data={"deleted": job_id, "bytes": size}, text=text)
        case _:
            done = jobs.cancel(job, by=login_name()) if action == "cancel" else jobs.resume(job)
            return Report(data=done.to_json(), text=f"job {done.id}: {_state(done)}")


def _list(jobs: Jobs) -> Report:
    all_jobs, workers = jobs.jobs(), [worker for worker in jobs.workers() if worker.alive]
    rows = [
        [job.id, job.spec.method, job.name, _state(job), job.spec.by, f"{job.seconds:,.0f} s"]
        for job in all_jobs
    ]
    parts = [table(["job", "method", "encoder", "state", "by", "time"], rows) if rows else "no jobs"]
    parts.extend(f"{job_id}: {why}" for job_id, why in jobs.unreadable().items())
    if workers:
        parts.append("workers: " + ", ".join(f"{w.host} (process {w.pid})" for w in workers))
    elif any(job.state == "queued" for job in all_jobs):
        parts.append("no worker is running: start one with `entail worker`")
    data = {
        "jobs": [job.to_json() for job in all_jobs],
        "workers": [{"host": w.host, "pid": w.pid, "jobs": w.jobs, "at": list(w.at)} for w in workers],
        "unreadable": jobs.unreadable(),
    }
    return Report(data=data, text="\n\n".join(parts))


def _show(jobs: Jobs, job: Job) -> Report:
    from entail.evaluation.retrieval.paired import PairedComparison
    from entail.training.method import methods

    method = methods().get(job.spec.method)
    disk = jobs.disk(job.id)
    about = {
        "job": job.id,
        "encoder": job.name,
        "method": job.spec.method,
        "data": job.spec.about,
        "submitted by": f"{job.spec.by}, {job.spec.at.astimezone():%Y-%m-%d %H:%M}",
        "state": _state(job),
        "time": f"{job.seconds:,.0f} s",
        "attempts": job.status.attempt,
        "on disk": f"{disk / 2**20:,.1f} MiB",
        **(method.list_changes(job.spec.config) if method is not None else job.spec.config),
        "progress": str(job.progress or ""),
        "error": job.status.what,
        "what to do": job.status.todo,
        "warnings": list(job.warnings),
    }
    comparison = f"\n\n{PairedComparison.from_json(job.evaluation)}" if job.evaluation else ""
    return Report(data=job.to_json() | {"disk": disk}, text=describe(about) + comparison)


def _state(job: Job) -> str:
    if job.queue_position:
        return f"queued, number {job.queue_position}"
    if job.state == "cancelling" and job.cancelled_by:
        return f"cancel requested by {job.cancelled_by}"
    return f"{job.state} ({job.status.ending})" if job.status.ending else job.state


@command(app)
def promote(
    encoder: Annotated[
        str | None,
        typer.Argument(
            metavar="ENCODER",
            help="Name of a model of any role. Without: show what is active.",
        ),
    ] = None,
    corpus: Annotated[str | None, "Only for this corpus of the app; default: all corpora.", "NAME"] = None,
    back: Annotated[bool, "Restore what was active before."] = False,
    anyway: Annotated[bool, "Also without a comparison, or if it does worse."] = False,
    role: Annotated[Role | None, "With --back: the role to roll back, instead of that of retrievers."] = None,
) -> Report:
    """Make a model the active one of its role; open pages follow within seconds.

    The model is compared with the active one on the dev data of its job, and refused if it does worse.
    Without a job, figures on the cards of both decide, or the bundled sample; a retriever needs a job. Models
    of other roles than the retriever's become active for all corpora.
    """
    from entail.registry.models import active, card_figures, decisive_figures, fetch_model, roll_back
    from entail.registry.models import promote as activate
    from entail.registry.roles import ROLES, role_of

    if (encoder is None and anyway) or (encoder is not None and (back or role)):
        raise SettingsError("expected --anyway with an ENCODER, and --back and --role without one")
    premises_of_corpus = _corpus(corpus)
    corpus = premises_of_corpus.name if premises_of_corpus else None  # it may be given by its id
    if back:
        if corpus is not None and role not in (None, "retriever"):
            raise SettingsError(f"the model for {role} is the same for all corpora; leave out --corpus")
        roll_back(corpus, role=role or "retriever", by=login_name())
        return _active(corpus)
    if encoder is None:
        return _active(corpus)
    fetch_model(encoder)
    model_role = role_of(encoder)
    if model_role != "retriever" and corpus:
        raise SettingsError(f"{encoder} is for {model_role} in all corpora; leave out --corpus")
    now = active(corpus, role=model_role)
    rows = card_figures(encoder, now) if model_role != "retriever" else []
    with progress_bar() as progress:
        # Figures on the cards are of more data than the sample.
        on_sample = not (anyway or model_role == "retriever") and not decisive_figures(encoder, now)
        comparison = _comparison(encoder, now, corpus, on_sample=on_sample, progress=progress)
        pointer = activate(
            encoder,
            by=login_name(),
            corpus=corpus,
            evaluation=comparison,
            premises=premises_of_corpus,
            anyway=anyway,
            number=now.number,
            progress=progress,
        )
    card_rows = [asdict(row) | {"same_data": row.same_data} for row in rows]
    option = f"--corpus {shlex.quote(corpus)}" if corpus else f"--role {model_role}"
    lines = [
        str(comparison or ""),
        describe({"measures": card_rows}) if now.encoder not in ("", encoder) else "",
        f"{pointer.encoder} ({pointer.revision}) {ROLES[model_role].task} for {corpus or 'all corpora'} "
        f"now; `entail promote --back {option}` undoes it",
    ]
    return Report(
        data=pointer.to_json() | ({"known": card_rows} if model_role != "retriever" else {}),
        text="\n\n".join(filter(None, lines)),
    )


def _comparison(
    name: str, now: Active, corpus: str | None, *, on_sample: bool, progress: ProgressCallback | None
) -> PairedComparison | None:
    """Compare on the dev data of the model's job, else on the bundled sample; reuse the job's comparison."""
    from entail.jobs.candidates import compare_anew, find_candidate, sample_splits
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    candidate = find_candidate(jobs, name)
    if candidate is None or candidate.evaluation is None:
        splits = sample_splits(now.role) if on_sample and now.encoder not in ("", name) else ()
        return next((split.compare(name, corpus, progress) for split in splits), None)
    if not now.revision or not candidate.is_outdated(now.revision):
        return candidate.evaluation
    return compare_anew(jobs, candidate.job.id, corpus=corpus, progress=progress)


def _corpus(name: str | None) -> Corpus | None:
    if name is None:
        return None
    from entail.trees.store.corpora import CorpusStore
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        store = CorpusStore(database)
        return store.corpus(store.find(name).id)


def _active(corpus: str | None) -> Report:
    from entail.registry.models import active
    from entail.registry.pointers import history, list_moves, list_pointers
    from entail.registry.roles import ROLES

    roles = [role for role in ROLES if role != "retriever"]
    pointers, active_models = list_pointers(), {role: active(role=role) for role in roles}
    moves = sorted([*history(corpus), *list_moves(*roles)], key=lambda move: -move.number)
    in_use = [("all corpora", active()), *active_models.items()]
    about = {
        "active models": [
            *({"for": name, "encoder": now.encoder, "revision": now.revision} for name, now in in_use),
            *({"for": p.corpus, "encoder": p.encoder, "revision": p.revision} for p in pointers if p.corpus),
        ],
        "moves": [
            {"number": m.number, "role": m.role, "encoder": m.encoder, "by": m.by, "at": f"{m.at:%F %H:%M}"}
            for m in moves
        ],
        "notices": [now.notice for now in active_models.values() if now.notice],
    }
    data = {
        "active": active(corpus).to_json(),
        "pointers": [pointer.to_json() for pointer in pointers],
        "history": [move.to_json() for move in moves],
        "in_use": {role: now.to_json() for role, now in active_models.items()},
    }
    return Report(data=data, text=describe(about))
