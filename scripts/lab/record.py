"""Pages of results that no experiment file declares: recorded tables, and figures of a bench.

A recorded table (`title`, `finding`, `columns`, `rows`, `notes`, `runs`) is what was published of
measurements whose programs are no longer part of the repository: `runs` names their commits and commands. A
bench writes nested `figures` by `entail.results.write_result`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_DENSE = 0.8
"""Share of filled cells from which records are the rows of a table."""


def record_page(name: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of `name`.json."""
    yield f"<!-- Made from {name}.json by `python scripts/lab report {name}`; do not edit. -->"
    if "figures" in record:
        yield from (f"# {name.replace('_', ' ').capitalize()}", "")
        if "finding" in record:
            yield from (f"**{' '.join(record['finding'])}**", "")
        yield from _figures(record["figures"])
        yield from ("", run_line(record))
        return
    yield from (f"# {record['title']}", "", f"**{' '.join(record['finding'])}**", "")
    yield from table(record["columns"], record["rows"])
    yield from ("", record["notes"], "")
    yield from (f"- {run_line(run)}" for run in record["runs"])


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; all columns but the first are aligned to the right."""
    columns = list(columns)
    yield f"| {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * (len(columns) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def run_line(run: Mapping[str, Any]) -> str:
    """Return commit, date, machine, time, seed and command of a run, as far as they are recorded."""
    machine = run["hardware"]
    if not isinstance(machine, str):
        machine = f"{machine['cpu']}, {machine['cores']} cores"
    parts = [f"commit `{run['commit'][:12]}`", machine]
    if "seconds" in run or "wall_seconds" in run:
        parts.append(f"{run.get('seconds', run.get('wall_seconds')):,.0f} s")
    if run.get("seed") is not None:
        parts.append(f"seed {run['seed']}")
    line = ", ".join(parts)
    if "rows" in run:
        return f"{line}: {run['rows']}"
    return f"{line}, {run['finished'][:10]}: `{run['command']}`" if "command" in run else line


def _figures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table with a row for each record where these have the same figures, else one of all figures."""
    records = list(_records(figures))
    columns = list(dict.fromkeys(name for _, row in records for name in row))
    if sum(len(row) for _, row in records) < _DENSE * len(records) * len(columns):
        yield from table(["figure", "value"], _leaves(figures))
        return
    single = {name: value for name, value in figures.items() if not isinstance(value, Mapping)}
    yield from (f"{name.replace('_', ' ')}: {value}  " for name, value in single.items())
    rows = ([label, *(_text(row.get(name, "")) for name in columns)] for label, row in records)
    yield from ("", *table(["", *(name.replace("_", " ") for name in columns)], rows))


def _records(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the path and content of each mapping whose values are none."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            label = f"{prefix}{name.replace('_', ' ')}"
            if any(isinstance(inner, Mapping) for inner in value.values()):
                yield from _records(value, f"{label}, ")
            else:
                yield label, value


def _text(value: object) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _leaves(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each number or text, and its text."""
    for name, value in figures.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{label}, ")
        else:
            yield label, _text(value)
