"""Options shared by several commands, and a configuration dataclass as options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from entail.training.fields import RENAMED, Field, fields_of

if TYPE_CHECKING:
    from entail.training.method import Method, Role


P = ParamSpec("P")
R = TypeVar("R")

_CORPUS = typer.Option(help="Premises: txt, csv, jsonl or json; may be gzipped.", metavar="FILE")
_TREES = typer.Option(help="Gold trees: EntailmentBank JSONL; may be gzipped.", metavar="FILE")
CorpusFile = Annotated[Path, _CORPUS]
CorpusFileIfAny = Annotated[Path | None, _CORPUS]
TreesFile = Annotated[Path, _TREES]
TreesFileIfAny = Annotated[Path | None, _TREES]
FromLog = Annotated[str | None, "Instead of trees: the decisions in the app on this corpus.", "CORPUS"]
Out = Annotated[Path | None, "Also write the figures to a result file."]
Device = Annotated[str | None, "auto, cpu, cuda, cuda:1 ..."]
Extend = Annotated[
    bool | None,
    typer.Option(
        "--extend/--no-extend",
        help="Add judged sentences that are not in the corpus; default: with --from-log. Evaluation uses "
        "the corpus as given.",
    ),
]


def options_of(
    config_type: type[Any], *, into: str = "config", panel: str = "Settings"
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command one option per field of a dataclass; the command receives an instance.

    Put this below ``@reports``.

    Args:
        config_type: The dataclass.
        into: Parameter of the command that receives the instance.
        panel: Heading of the options.
    """
    fields = fields_of(config_type)

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(command)
        def run(*args: Any, **kwargs: Any) -> R:  # noqa: ANN401 - whatever the command takes
            config = config_type(
                **{field.name: kwargs.pop(field.name) for field in fields if field.name in kwargs}
            )
            return command(*args, **{into: config}, **kwargs)

        signature = inspect.signature(command, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != into]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # typer reads it
            parameters=[*own, *(_option(field, panel) for field in fields)]
        )
        return run

    return decorate


def settings_for(method: Method, config: Any, source: Any, context: typer.Context) -> Any:  # noqa: ANN401 - the method's own
    """Return the settings of a command, where decisions are the source with the usual ones for these."""
    if method.for_decisions is None or not getattr(source, "from_log", None):
        return config
    sources = {field.name: context.get_parameter_source(field.name) for field in method.fields}
    explicit_names = [
        name for name, origin in sources.items() if origin is not None and origin.name == "COMMANDLINE"
    ]
    return method.for_decisions(**{name: getattr(config, name) for name in explicit_names})


def _option(field: Field, panel: str) -> inspect.Parameter:
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.required else field.default,
        annotation=Annotated[
            field.type, typer.Option(*_names(field), help=field.help, rich_help_panel=panel)
        ],
    )


def _names(field: Field) -> list[str]:
    """Return the option's names where the field was called otherwise before; empty: typer's own."""
    former = [old for old, new in RENAMED.items() if new == field.name]
    return [f"--{name.replace('_', '-')}" for name in (field.name, *former)] if former else []


def active_or_packaged(role: Role) -> str:
    """Return the active model of a role, else the packaged one; a fallback is reported on stderr."""
    from entail.registry.models import active
    from entail.registry.roles import PACKAGED_MODELS

    now = active(role=role)
    if now.notice is not None:
        typer.echo(now.notice, err=True)
    return now.encoder or PACKAGED_MODELS[role]
