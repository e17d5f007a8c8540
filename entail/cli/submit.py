"""``entail submit ...``: one command a method, with the method's own options."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Annotated, Any

import typer

from entail.cli.console import Report, reports
from entail.cli.options import options_of
from entail.jobs.method import Method, methods

app = typer.Typer(name="submit", help="Queue a training, which a worker does in its own time.")


def _command(how: Method) -> Callable[..., None]:
    @reports
    @options_of(how.config)
    @options_of(how.source, into="source", panel="Data")
    def submit(
        *,
        out: Annotated[
            str, typer.Option(help="Name of the encoder, a new folder under models/.", metavar="NAME")
        ],
        by: Annotated[str | None, typer.Option(help="Who asks; default: who is logged in.")] = None,
        device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
        config: Any,  # noqa: ANN401 - the method's own
        source: Any,  # noqa: ANN401 - the method's own
    ) -> Report:
        from entail.jobs.jobs import Jobs

        jobs = Jobs()
        name = out.removeprefix(f"{jobs.settings.models_dir.name}/")
        job = jobs.submit(how.name, config, source, name=name, by=by or getpass.getuser(), device=device)
        place = f"queued as number {job.place}" if job.place else job.state
        return Report(
            data=job.to_json(),
            text=f"job {job.id}: {job.name} from {job.spec.about}, {place}\n"
            f"`entail jobs show {job.id}` says how far it is",
        )

    return submit


for _how in methods().values():
    app.command(_how.name, help=f"{_how.title or _how.name}. See `entail train`.")(_command(_how))


@app.callback()
def _group() -> None:
    """Keep one command a command of the group."""
