"""Options shared by several commands, and the fields of a dataclass as options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from entail.training.fields import Field

if TYPE_CHECKING:
    from entail.training.method import Role


R = TypeVar("R")

CorpusFile = Annotated[
    Path, typer.Option(help="Premises: txt, csv, jsonl or json; may be gzipped.", metavar="FILE")
]
TreesFile = Annotated[
    Path, typer.Option(help="Reference trees: EntailmentBank JSONL; may be gzipped.", metavar="FILE")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first ones.", metavar="N")]
Out = Annotated[Path | None, "Also write the figures to a result file."]
Device = Annotated[str | None, "auto, cpu, cuda, cuda:1 ..."]


def with_options(
    command: Callable[..., R], options: Iterable[inspect.Parameter], *, instead_of: str
) -> Callable[..., R]:
    """Return a command whose parameter `instead_of` is replaced by options, for typer."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != instead_of]
    command.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]  # typer reads it
    return command


def option_of(field: Field, *, is_override: bool = False) -> inspect.Parameter:
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


def active_or_packaged(role: Role) -> str:
    """Return the active model of a role, else the packaged one; a fallback is reported on stderr."""
    from entail.registry.models import active
    from entail.registry.roles import PACKAGED_MODELS

    now = active(role=role)
    if now.notice is not None:
        typer.echo(now.notice, err=True)
    return now.encoder or PACKAGED_MODELS[role]
