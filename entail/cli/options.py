"""Options that several commands have, and a configuration dataclass as options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_type_hints

import typer

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


def options_of(config_type: type[Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command an option for each field of a dataclass; it is called with `config`, ready-made.

    A field is declared as ``name: Annotated[type, "help"] = default``. Put this below ``@reports``.
    """
    hints = get_type_hints(config_type, include_extras=True)
    names = [field.name for field in dataclasses.fields(config_type)]

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(command)
        def run(*args: Any, **kwargs: Any) -> R:  # noqa: ANN401 - whatever the command takes
            config = config_type(**{name: kwargs.pop(name) for name in names if name in kwargs})
            return command(*args, config=config, **kwargs)

        signature = inspect.signature(command, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != "config"]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # typer reads it
            parameters=[*own, *(_option(config_type, name, hints[name]) for name in names)]
        )
        return run

    return decorate


def _option(config_type: type[Any], name: str, hint: Any) -> inspect.Parameter:  # noqa: ANN401 - an annotation
    kind, help_ = get_args(hint)
    default = next(f.default for f in dataclasses.fields(config_type) if f.name == name)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(help=help_, rich_help_panel="Settings")],
    )
