"""Options that several commands have, and a configuration dataclass as options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from entail.jobs.fields import Field, fields_of

P = ParamSpec("P")
R = TypeVar("R")

_CORPUS = typer.Option(help="Premises: txt, csv, jsonl or json, may be gzipped.", metavar="FILE")
_TREES = typer.Option(help="Gold trees: EntailmentBank JSONL, may be gzipped.", metavar="FILE")
CorpusFile = Annotated[Path, _CORPUS]
CorpusFileIfAny = Annotated[Path | None, _CORPUS]
TreesFile = Annotated[Path, _TREES]
TreesFileIfAny = Annotated[Path | None, _TREES]
FromLog = Annotated[
    str | None,
    typer.Option(
        help="Instead of trees: what was accepted and rejected in the app. The corpus's name.",
        metavar="CORPUS",
    ),
]
Extend = Annotated[
    bool | None,
    typer.Option(
        "--extend/--no-extend",
        help="Judged sentences that are not in the corpus take part, too; default: with --from-log. "
        "What is measured is measured on the corpus as given.",
    ),
]


def options_of(
    config_type: type[Any], *, into: str = "config", panel: str = "Settings"
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command an option for each field of a dataclass; it is called with `config`, ready-made.

    See `entail.jobs.fields` for what a field is. Put this below ``@reports``.

    Args:
        config_type: The dataclass.
        into: Name of the command's parameter that takes it.
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


def _option(field: Field, panel: str) -> inspect.Parameter:
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.required else field.default,
        annotation=Annotated[field.type, typer.Option(help=field.help, rich_help_panel=panel)],
    )
