"""``entail train METHOD``: a training here, or queued for a worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from entail.cli.console import Report, describe, login_name, progress_bar, reports
from entail.cli.options import Device
from entail.errors import SettingsError
from entail.training.fields import Field, format_toml, read_toml, values_of
from entail.training.method import Method, Run, Source, methods

app = typer.Typer(name="train", help="Train an encoder, a scorer of facts, a re-ranker or a judge.")

_FLAGS = ("base", "seed", "epochs", "from_log")
"""Settings with an option of their own, as files of data have; the others are given by --config and --set."""


def _command(method: Method) -> Callable[..., None]:
    sources = {field.name: field for field in method.source_fields}
    settings_of_data = [
        field
        for field in sources.values()
        if not (field.kind in ("file", "files") or field.required or field.name in _FLAGS)
    ]
    data = [field for field in sources.values() if field not in settings_of_data]
    flags = [field for field in method.fields if field.name in _FLAGS and field.name not in sources]

    def train(
        *,
        out: Annotated[
            str | None,
            "Folder of the model, such as models/mine; with --queue a name under models/.",
            "FOLDER",
        ] = None,
        preset: Annotated[str | None, "Settings to start from, see above.", "NAME"] = None,
        file: Annotated[
            Path | None,
            typer.Option("--config", help="TOML file of settings, see --show-config.", metavar="FILE"),
        ] = None,
        settings: Annotated[
            list[str] | None,
            typer.Option("--set", help="One setting; may be given again.", metavar="KEY=VALUE"),
        ] = None,
        device: Device = None,
        queue: Annotated[bool, "Queue it for a worker instead of training here."] = False,
        resume: Annotated[bool, "Continue from the checkpoint, if there is one."] = True,
        sample: Annotated[bool, "Train on the bundled sample, which takes a few minutes."] = False,
        show_config: Annotated[bool, "Print all settings as a TOML file, and stop."] = False,
        **values: Any,
    ) -> Report:
        changes = _read_settings([*method.fields, *sources.values()], file, settings or ())
        changes |= {name: value for name, value in values.items() if value not in (None, [])}
        about = {name: changes.pop(name) for name in sources if name in changes}
        if show_config:
            printed = values_of(method.make_config(changes, preset=preset))
            printed |= {field.name: about.get(field.name, field.default) for field in settings_of_data}
            return Report(data=printed, text=format_toml([*method.fields, *settings_of_data], printed))
        source = method.make_source({**method.sample_values(), **about} if sample else about)
        if sample and "sample" in method.presets:
            preset = preset or "sample"
        config = method.make_config(changes, preset=preset or method.usual_preset(source))
        if out is None:
            raise SettingsError("expected --out FOLDER, found none; give the folder of the model")
        if queue:
            return _submit(method, config, source, out, device)
        return _train(method, config, source, Path(out), resume=resume, device=device)

    options = [*map(_option_of, data), *(_option_of(field, is_override=True) for field in flags)]
    signature = inspect.signature(train, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "values"]
    train.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]  # typer reads it
    return reports(train)


def _option_of(field: Field, *, is_override: bool = False) -> inspect.Parameter:
    """Return a field as an option; an override is None unless it is given, and its help has the default."""
    kind, default, help_ = field.type, field.default, field.help
    if field.kind == "files":
        kind, default, help_ = list[Path] | None, None, f"{help_}; may be given again"
    if is_override:
        kind, default, help_ = kind | None, None, f"{help_}  [default: {default}]"
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.required else default,
        annotation=Annotated[kind, typer.Option(help=help_)],
    )


for _name, _method in methods().items():
    app.command(
        _name,
        help=f"{_method.title or _name}.\n\nSettings: the defaults, replaced by --preset, then by --config, "
        f"then by options. Presets: {', '.join(_method.presets) or 'none'}.",
    )(_command(_method))


@app.callback()
def _group() -> None:
    """Keep one command a command of the group."""


def _read_settings(fields: Iterable[Field], file: Path | None, settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of a file, replaced by those of --set."""
    values = read_toml(file) if file is not None else {}
    by_name = {field.name: field for field in fields}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise SettingsError(f"--set: expected KEY=VALUE, found {setting!r}")
        # An unknown name is refused later.
        values[name] = by_name[name].parse(text) if name in by_name else text
    return values


def _submit(method: Method, config: Any, source: Source, out: str, device: str | None) -> Report:
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    name = out.removeprefix(f"{jobs.settings.models_dir.name}/")
    with progress_bar() as progress:
        job = jobs.submit(
            method.name, config, source, name=name, by=login_name(), device=device, progress=progress
        )
    state = f"queued as number {job.queue_position}" if job.queue_position else job.state
    text = f"job {job.id}: {job.name} from {job.spec.about}, {state}\n`entail jobs show {job.id}` shows it"
    return Report(data=job.to_json(), text=text)


def _train(
    method: Method,
    config: Any,
    source: Source,
    out: Path,
    *,
    resume: bool,
    device: str | None,
) -> Report:
    from entail.trees.review.decisions import read_source

    with progress_bar() as progress:
        data = read_source(source, progress=progress)
        run = Run(out=out, resume=resume, device=device, progress=progress)
        result = method.train(data, config, run)
    fitted = result.get("fitted", {})
    best = fitted.get("best")
    about = {
        "left out": method.preview(data, config).left_out if method.preview is not None else {},
        "evaluations": [
            {"step": evaluation["step"], "epoch": evaluation["epoch"], **evaluation["figures"]}
            for evaluation in fitted.get("evaluations", ())
        ],
    }
    counts = ", ".join(f"{count:,} {name}" for name, count in result.get("counts", {}).items() if count)
    parts = [f"trained on {counts or 'its data'}", describe(about)]
    if best:
        parts.append(f"kept the weights of epoch {best['epoch']}, step {best['step']}")
    parts.extend(f"warning: {warning}" for warning in result.get("warnings", ()))
    parts.append(f"wrote {out} in {fitted.get('seconds', 0):,.0f} s")
    return Report(data=result, text="\n\n".join(filter(None, parts)))
