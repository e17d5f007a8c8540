"""``entail promote``."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.errors import CorpusError, SettingsError

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.evaluation.measured import Beside
    from entail.progress import ProgressCallback

app = typer.Typer()


@app.command()
@reports
def promote(
    encoder: Annotated[
        str | None, typer.Argument(metavar="ENCODER", help="Its name. Without: what is active.")
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
    by: Annotated[str | None, typer.Option(help="Who does it; default: who is logged in.")] = None,
) -> Report:
    """Make an encoder the active one: every session ranks with it from its next look on.

    It is compared with the one that is active now, over the same queries, and refused where it does worse.
    """
    from entail.promotion import promote, roll_back

    if (encoder is None) == (not back) and (dev or premises or anyway):
        raise SettingsError("expected an ENCODER beside --dev, --premises and --anyway; name it")
    whole = _corpus(corpus)
    if back:
        if encoder is not None:
            raise SettingsError("expected either an ENCODER or --back, found both; give one of them")
        roll_back(corpus, by=by or getpass.getuser())
        return _active(corpus)
    if encoder is None:
        return _active(corpus)
    with progress_bar() as progress:
        compared = _compared(encoder, corpus, dev=dev, premises=premises, progress=progress)
        pointer = promote(
            encoder,
            by=by or getpass.getuser(),
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
    if not found.outdated(active(corpus)):
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

    present = active(corpus)
    rows: list[list[Any]] = [["all corpora", active().encoder, active().revision]]
    rows.extend([p.corpus, p.encoder, p.revision] for p in pointers() if p.corpus)
    moves = history(corpus)
    parts = [table(["active for", "encoder", "revision"], rows)]
    if moves:
        told = [
            [m.number, m.encoder or "none of its own", m.by, f"{m.at.astimezone():%Y-%m-%d %H:%M}"]
            for m in moves
        ]
        parts.append(table(["move", "encoder", "by", "at"], told))
    data = {
        "active": present.to_json(),
        "pointers": [p.to_json() for p in pointers()],
        "history": [m.to_json() for m in moves],
    }
    return Report(data=data, text="\n\n".join(parts))
