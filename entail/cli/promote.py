"""``entail promote``."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.errors import CorpusError, SettingsError
from entail.pointers import Role

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.evaluation.measured import Beside
    from entail.progress import ProgressCallback
    from entail.roles import InUse, OwnRole

app = typer.Typer()


@app.command()
@reports
def promote(
    encoder: Annotated[
        str | None,
        typer.Argument(
            metavar="ENCODER",
            help="Its name, or that of a scorer of chains. Without: what is in use.",
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="For this corpus of the app alone; default: for all.", metavar="NAME")
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="Put back what was active before.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also without a comparison, or where it does worse.")
    ] = False,
    premises: Annotated[
        Path | None, typer.Option(help="Premises to compare on, with --dev.", metavar="FILE")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Trees to compare on; default: those of its job.", metavar="FILE")
    ] = None,
    role: Annotated[
        Role | None,
        typer.Option(
            help="With --back: what was put in use for this; needed where something was for several. An "
            "ENCODER says by itself what it is for."
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who does it; default: who is logged in.")] = None,
) -> Report:
    """Make an encoder the active one: every session ranks with it from its next look on.

    It is compared with the one that is active now, over the same queries, and refused where it does worse.
    An encoder of Gaussians becomes what tells directions, a scorer of facts what builds chains, each for all.
    """
    from entail.promotion import promote, roll_back
    from entail.roles import role_of, take_back

    if (encoder is None) == (not back) and (dev or premises or anyway):
        raise SettingsError("expected an ENCODER beside --dev, --premises and --anyway; name it")
    whole = _corpus(corpus)
    who = by or getpass.getuser()
    if back:
        if encoder is not None:
            raise SettingsError("expected either an ENCODER or --back, found both; give one of them")
        meant = _meant(role, corpus)
        if meant == "retriever":
            roll_back(corpus, by=who)
        else:
            take_back(meant, by=who)
        return _active(corpus)
    if encoder is None:
        return _active(corpus)
    found = role_of(encoder)
    if role not in (None, found):
        raise SettingsError(
            f"expected something for {role}, found {encoder}, which is for {found}; leave out --role"
        )
    if found != "retriever":
        if corpus or dev or premises:
            raise SettingsError(
                f"{encoder} is in use for all corpora, for {found}, and is not compared on trees; leave out "
                "--corpus, --dev and --premises"
            )
        return _put_in_use(encoder, found, by=who, anyway=anyway)
    with progress_bar() as progress:
        compared = _compared(encoder, corpus, dev=dev, premises=premises, progress=progress)
        pointer = promote(
            encoder,
            by=who,
            corpus=corpus,
            evaluation=compared,
            premises=whole,
            anyway=anyway,
            progress=progress,
        )
    lines = [str(compared)] if compared else []
    whose = f"for {corpus}" if corpus else "for all corpora"
    lines.append(
        f"{pointer.encoder} ({pointer.revision}) is active {whose}; `entail promote --back` undoes it"
    )
    return Report(data=pointer.to_json(), text="\n".join(lines))


def _meant(role: Role | None, corpus: str | None) -> Role:
    """Return of which role the last promotion is taken back: never of one that was not meant."""
    from entail.pointers import ROLES, read_moves

    if corpus is not None:
        if role not in (None, "retriever"):
            raise SettingsError(f"what is in use for {role} is for all corpora; leave out --corpus")
        return "retriever"
    moves = read_moves()
    promoted = [one for one in ROLES if moves.in_force(role=one) is not None]
    if role is None and len(promoted) > 1:
        raise SettingsError(
            f"expected --role {' or '.join(promoted)}, for each of which something was promoted"
        )
    if role is not None:
        return role
    return promoted[0] if promoted else "retriever"


def _put_in_use(name: str, role: OwnRole, *, by: str, anyway: bool) -> Report:
    from entail.roles import MEANS, in_use, known, put_in_use

    now = in_use(role)
    with progress_bar() as progress:
        compared = _compared_in_role(name, now, progress)
    rows = known(name, now)
    pointer = put_in_use(name, by=by, evaluation=compared, anyway=anyway, number=now.number)
    lines = [str(compared)] if compared else []
    if rows and now.name not in (None, name):
        told: list[list[Any]] = [
            [row.measure, row.data, _share(row.first), _share(row.second), "" if row.same_data else "no"]
            for row in rows
        ]
        lines.append(table(["measure", "on", str(now.name), name, "same data"], told))
    lines.append(
        f"{pointer.encoder} ({pointer.revision}) {MEANS[role]} from now on; `entail promote --back --role "
        f"{role}` undoes it"
    )
    return Report(
        data=pointer.to_json() | {"known": [asdict(row) | {"same_data": row.same_data} for row in rows]},
        text="\n\n".join(lines),
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _compared_in_role(name: str, now: InUse, progress: ProgressCallback | None) -> Beside | None:
    """Return the figures on the dev data of the job that made it, measured anew where another is in use."""
    from entail.jobs.candidates import candidate_called, compare_anew
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    found = candidate_called(jobs, name)
    if found is None or found.evaluation is None:
        return None
    if now.revision is None or not found.outdated(now.revision):
        return found.evaluation
    return compare_anew(jobs, found.job.id, progress=progress)


def _compared(
    encoder: str,
    corpus: str | None,
    *,
    dev: Path | None,
    premises: Path | None,
    progress: ProgressCallback | None,
) -> Beside | None:
    from entail.jobs.candidates import candidate_called, compare_anew, compare_on
    from entail.jobs.jobs import Jobs
    from entail.promotion import active

    if (dev is None) != (premises is None):
        raise SettingsError("expected --dev and --premises together; give both")
    if dev is not None and premises is not None:
        from entail.data.corpora import read_corpus
        from entail.data.entailment_bank import read_trees

        trees = tuple(read_trees(dev))
        return compare_on(encoder, read_corpus(premises).corpus, trees, corpus=corpus, progress=progress)
    jobs = Jobs()
    found = candidate_called(jobs, encoder)
    if found is None or found.evaluation is None:
        return None
    if not found.outdated(active(corpus).revision):
        return found.evaluation
    return compare_anew(jobs, found.job.id, corpus=corpus, progress=progress)


def _corpus(name: str | None) -> Corpus | None:
    if name is None:
        return None
    from entail.trees.corpora import CorpusStore
    from entail.trees.database import open_database

    store = CorpusStore(open_database())
    known = {info.name: info.id for info in store.corpora()}
    if name not in known:
        raise CorpusError(f"no corpus is called {name!r}; here are: {', '.join(known) or 'none'}")
    return store.corpus(known[name])


def _active(corpus: str | None) -> Report:
    from entail.promotion import active, history, pointers
    from entail.roles import SHIPPED, in_use
    from entail.roles import history as moves_of

    present = active(corpus)
    rows: list[list[Any]] = [["all corpora", active().encoder, active().revision]]
    rows.extend([p.corpus, p.encoder, p.revision] for p in pointers() if p.corpus)
    others = {role: in_use(role) for role in SHIPPED}
    rows.extend([role, now.name or "nothing", now.revision or ""] for role, now in others.items())
    moves = sorted(
        [*history(corpus), *(move for role in SHIPPED for move in moves_of(role))], key=lambda m: -m.number
    )
    parts = [table(["active for", "encoder", "revision"], rows)]
    if moves:
        told = [
            [m.number, m.role, m.encoder or "none of its own", m.by, f"{m.at.astimezone():%Y-%m-%d %H:%M}"]
            for m in moves
        ]
        parts.append(table(["move", "role", "encoder", "by", "at"], told))
    parts.extend(now.notice for now in others.values() if now.notice)
    data = {
        "active": present.to_json(),
        "pointers": [p.to_json() for p in pointers()],
        "history": [m.to_json() for m in moves],
        "in_use": {role: now.to_json() for role, now in others.items()},
    }
    return Report(data=data, text="\n\n".join(parts))
