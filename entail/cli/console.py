"""Common parts of all commands: options, progress, errors and exit codes.

===========  ==================================================================================
exit code    when
===========  ==================================================================================
0            success
1            an error (`EntailError`, an unreadable file, an unexpected exception) or a failed check;
             one message on stderr, never a stack trace
2            invalid command line
130          Ctrl-C
===========  ==================================================================================

With ``--json`` stdout holds exactly one JSON object: the command's data or, if it ends with 1 or 2,
``{"error": {"type": ..., "message": ...}}``. All other output, of libraries too, goes to stderr.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json as jsonlib
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, get_args

import typer
import typer.main

from entail.errors import EntailError, shorten_message
from entail.masking import mask_secrets
from entail.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from tqdm import tqdm

P = ParamSpec("P")

_COMMON: Mapping[str, tuple[Any, Any]] = {
    "json": (Annotated[bool, "Print one JSON object on stdout."], False),
    "progress": (Annotated[bool | None, "Show progress on stderr; default: on a terminal."], None),
    "debug": (Annotated[bool, "Show library warnings, and the trace of an error."], False),
}

_LISTED = 5
"""Values of a list that are shown."""

_show_progress: ContextVar[bool | None] = ContextVar("show_progress", default=None)


@dataclass(frozen=True, slots=True)
class Report:
    """Output of a command.

    Attributes:
        data: JSON-serialisable output of ``--json``.
        text: The same for a person; default: as `describe` writes it.
        ok: False makes the exit code 1, for a check that failed.
        out: Result file of the data, if one is wanted.
        seed: Random seed of the data, for the result file.
    """

    data: Mapping[str, Any]
    text: str = ""
    ok: bool = True
    out: Path | None = None
    seed: int | None = None


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[P, Report]], Callable[P, None]]:
    """Add a function to an application, as `reports` makes it a command; default: by the function's name."""
    return lambda function: app.command(name)(reports(function))


def reports(command: Callable[P, Report]) -> Callable[P, None]:
    """Turn a function that returns a `Report` into a command with ``--json``, ``--progress``, ``--debug``.

    A parameter of type ``Annotated[T, help]`` or ``Annotated[T, help, metavar]`` is an option of its name.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        json, progress, debug = (kwargs.pop(name) for name in _COMMON)
        started = datetime.now(UTC)
        token = _show_progress.set(progress if isinstance(progress, bool) else None)
        try:
            with contextlib.redirect_stdout(sys.stderr), _logs_on_stderr(verbose=bool(debug)):
                report = command(*args, **kwargs)
                if report.out is not None:
                    from entail.results import write_result

                    try:
                        write_result(report.out, figures=report.data, seed=report.seed, started=started)
                    except EntailError:
                        _write(_to_json(report.data) if json else _to_text(report))  # it may have taken hours
                        raise
        finally:
            _show_progress.reset(token)
        _write(_to_json(report.data) if json else _to_text(report))
        if not report.ok:
            raise typer.Exit(1)

    signature = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _COMMON.items()
    ]
    parameters = [_with_option(parameter) for parameter in (*signature.parameters.values(), *options)]
    whole = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    run.__annotations__ = {name: parameter.annotation for name, parameter in whole.parameters.items()}
    run.__signature__ = whole  # type: ignore[attr-defined]  # typer reads it
    return run


def _with_option(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter with the option that its annotation describes."""
    kind, *texts = get_args(parameter.annotation) or (None,)
    if not texts or not all(isinstance(text, str) for text in texts):
        return parameter
    # An option that is off has no form with --no-.
    names = [f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []
    metavar = texts[1] if len(texts) > 1 else "FILE" if "Path" in str(kind) else None
    option = typer.Option(*names, help=texts[0], metavar=metavar)
    return parameter.replace(annotation=Annotated[kind, option])


@contextlib.contextmanager
def progress_bar() -> Iterator[ProgressCallback | None]:
    """Yield a callback that draws progress bars on stderr.

    Yields None if stderr is no terminal, unless ``--progress`` is given.
    """
    override = _show_progress.get()
    if not (sys.stderr.isatty() if override is None else override):
        yield None
        return

    from tqdm import tqdm

    bar: tqdm[Any] | None = None
    description: str | None = None

    def draw(progress: Progress) -> None:
        nonlocal bar, description
        if bar is None or description != progress.what:
            if bar is not None:
                bar.close()
            description = progress.what
            bar = tqdm(
                total=progress.total,
                desc=progress.what,
                unit=f" {progress.unit}",
                dynamic_ncols=True,
                file=sys.stderr,
            )
            bar.start_t = bar.last_print_t = time.time() - progress.seconds
        bar.update(progress.done - bar.n)

    try:
        yield draw
    finally:
        if bar is not None:
            bar.close()


def table(header: Sequence[str] | None, rows: Sequence[Sequence[object]]) -> str:
    """Format rows as columns: text to the left, numbers to the right, floats with three digits.

    >>> print(table(["measure", "paper"], [["MAP", 0.36781], ["queries", 594]]))
    measure  paper
    MAP      0.368
    queries    594
    """
    cells = [*([list(header)] if header else []), *([_cell(value) for value in row] for row in rows)]
    columns = range(len(cells[0]))
    widths = [max(len(row[column]) for row in cells) for column in columns]
    numeric = [any(isinstance(row[column], int | float) for row in rows) for column in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    )


def describe(data: Mapping[str, Any]) -> str:
    """Return data for a person: values as rows, records as tables, without what is empty.

    >>> print(describe({"queries": 3, "missing": [], "by_role": {"a": {"MAP": 0.5}, "b": {"MAP": 0.25}}}))
    queries  3
    <BLANKLINE>
    by role    MAP
    a        0.500
    b        0.250
    """
    values: list[tuple[str, str]] = []
    parts: list[str] = []
    for name, value in data.items():
        title = str(name).replace("_", " ")
        if value in (None, "", [], (), {}):
            continue
        if isinstance(value, list) and isinstance(value[0], Mapping):
            value = dict(enumerate(value, start=1))
        if not isinstance(value, Mapping):
            values.append((title, _cell(value)))
        elif all(_is_record(record) for record in value.values()):
            fields = list(dict.fromkeys(field for record in value.values() for field in record))
            rows = [[str(key), *map(record.get, fields)] for key, record in value.items()]
            parts.append(table([title, *(field.replace("_", " ") for field in fields)], rows))
        else:
            parts.append(f"{title}\n{describe(value)}")
    return "\n\n".join([*([table(None, values)] if values else []), *parts])


def _is_record(value: object) -> bool:
    """Return whether a value is a mapping of single values and lists of them."""
    parts = value.values() if isinstance(value, Mapping) else ({},)
    return not any(
        isinstance(part[0] if isinstance(part, list) and part else part, Mapping) for part in parts
    )


def login_name() -> str:
    """Return the name of the user of this process, or the number where the system has no name for it."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # as in a container that is run under any number
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown user"


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; every error becomes one message."""
    try:
        command = typer.main.get_command(app)
        code = command.main(args=list(arguments), prog_name="entail", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except KeyboardInterrupt:
        return 130
    except SystemExit as stop:  # typer exits so when the reader of a pipe has gone
        return stop.code if isinstance(stop.code, int) else 1
    except BrokenPipeError:
        # As Python's manual has it: what is left in the buffer must not be written once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        message = shorten_message(mask_secrets(_message(error, arguments)))
        is_usage = isinstance(error, typer.TyperException)
        if is_usage and (context := getattr(error, "ctx", None)) is not None:
            sys.stderr.write(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n")
        if "--debug" in arguments and not is_usage:
            sys.stderr.write(mask_secrets("".join(traceback.format_exception(error))))
        sys.stderr.write(f"Error: {message}\n")
        if "--json" in arguments:
            _write(_to_json({"error": {"type": type(error).__name__, "message": message}}))
        return getattr(error, "exit_code", 1) if is_usage else 1


def _message(error: Exception, arguments: Sequence[str]) -> str:
    match error:
        case typer.TyperException():
            return str(error.format_message())
        case typer.Abort():
            return "aborted at a prompt"
        case EntailError():
            return str(error)
        case OSError():
            reason = error.strerror or str(error)
            return f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason
    hint = "" if "--debug" in arguments else f"; the whole trace is {_log(error, arguments)}"
    first_line = (str(error).strip().splitlines() or ["no message"])[0]
    return f"unexpected {type(error).__name__}: {first_line} (please report this{hint})"


def _log(error: Exception, arguments: Sequence[str]) -> str:
    """Append the trace to the log of the command line, if it can be written; return where it is."""
    command = f"{datetime.now(UTC).isoformat(timespec='seconds')} entail {' '.join(arguments)}"
    entry = mask_secrets("\n".join([command, *traceback.format_exception(error)]))
    try:
        from entail.data.private import create_private, make_folder
        from entail.settings import load_settings

        path = load_settings().data_dir / "log" / "cli.log"
        make_folder(path.parent)
        create_private(path)
        with path.open("w" if path.stat().st_size > 1_000_000 else "a", encoding="utf-8") as log:
            log.write(entry + "\n")
    except (OSError, EntailError):
        return "shown by --debug"
    return f"in {path}"


@contextlib.contextmanager
def _logs_on_stderr(*, verbose: bool) -> Iterator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with warnings.catch_warnings():
            if not verbose and not sys.warnoptions:
                warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(handler)


def _write(text: str) -> None:
    # A terminal of another encoding shows an escape instead of ending the command.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _to_json(data: Mapping[str, Any]) -> str:
    return jsonlib.dumps(data, indent=2, allow_nan=False)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3f}"
        case int():
            return f"{value:,}"
        case list() | tuple():
            more = f" … ({len(value):,} in all)" if len(value) > _LISTED else ""
            return ", ".join(map(_cell, value[:_LISTED])) + more
    return str(value)


def _to_text(report: Report) -> str:
    return report.text or describe(report.data)
