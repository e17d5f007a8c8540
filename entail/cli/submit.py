"""``entail submit ...``: one command per method, with the method's options."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Annotated, Any

import typer

from entail.cli.console import Report, reports
from entail.cli.options import options_of
from entail.training.method import Method, methods

app = typer.Typer(name="submit", help="Queue a training for a worker.")


def _command(method: Method) -> Callable[..., None]:
    @reports
    @options_of(method.config)
    @options_of(method.source, into="source", panel="Data")
    def submit(
        *,
        out: Annotated[
            str, typer.Option(help="Name of the model, a new folder under models/.", metavar="NAME")
        ],
        by: Annotated[str | None, typer.Option(help="Author of the job; default: the login name.")] = None,
        device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
        config: Any,  # noqa: ANN401 - the method's own
        source: Any,  # noqa: ANN401 - the method's own
    ) -> Report:
        from entail.jobs.jobs import Jobs

        jobs = Jobs()
        name = out.removeprefix(f"{jobs.settings.models_dir.name}/")
        job = jobs.submit(method.name, config, source, name=name, by=by or getpass.getuser(), device=device)
        state = f"queued as number {job.place}" if job.place else job.state
        return Report(
            data=job.to_json(),
            text=f"job {job.id}: {job.name} from {job.spec.about}, {state}\n"
            f"`entail jobs show {job.id}` shows its progress",
        )

    return submit


for _name, _method in methods().items():
    app.command(_name, help=f"{_method.title or _name}. See `entail train`.")(_command(_method))


@app.callback()
def _group() -> None:
    """Keep one command a command of the group."""
