"""Pages of results that no experiment file declares: recorded tables, and figures of a bench.

A recorded table (`title`, `finding`, `columns`, `rows`, `notes`, `runs`) is what was published of
measurements whose programs are no longer part of the repository: `runs` names their commits and commands. A
bench writes nested `figures` by `entail.results.write_result`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def record_page(name: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of `name`.json."""
    yield f"<!-- Made from {name}.json by `python scripts/lab report {name}`; do not edit. -->"
    if "figures" in record:
        yield from (f"# {name.replace('_', ' ').capitalize()}", "", "| figure | value |", "| --- | ---: |")
        yield from (f"| {label} | {value} |" for label, value in _leaves(record["figures"]))
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


def _leaves(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each number or text, and its text."""
    for name, value in figures.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{label}, ")
        else:
            yield label, f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
