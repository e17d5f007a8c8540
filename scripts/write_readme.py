"""Write the tables of README.md and docs/security.md, and the file of the Results page, from docs/results/.

python scripts/write_readme.py
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "entail" / "ui" / "results" / "figures.json"
"""Figures of the Results page, shipped with the package."""

_LISTS = ("MiniLM", "AE-Enc", "+ keywords", "+ re-ranking")
"""Retrievers of `premises.json`, in its order."""


def result(name: str) -> dict[str, Any]:
    """Return the content of a result file."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def headlines() -> Iterator[Sequence[str]]:
    """Yield task, measure, baseline, entail's figure, their difference and page of each row of README.md."""
    for name in ("ship-aeenc-minilm", "ship-reranker-minilm"):
        if not (RESULTS / f"{name}.json").is_file():
            continue
        shipped = result(name)
        if (row := shipped["rows"][-1])["paired"]:
            rival, metric = shipped["rows"][0], "MAP, unseen"
            gain = row["paired"][metric]
            yield (
                "Find premises" if name.startswith("ship-aeenc") else "Re-rank them",
                metric,
                f"{rival['arm']} {rival['figures'][metric]['mean']:.3f}",
                f"{row['figures'][metric]['mean']:.3f}",
                f"{gain['difference']:+.3f} [{gain['low']:.3f}, {gain['high']:.3f}]",
                name,
            )
    for name in ("gausscse", "chains", "tuning"):
        yield (*result(name)["headline"], name)


def experiments() -> Iterator[dict[str, Any]]:
    """Yield the experiments of the Results page, each with its simplest rival."""
    evaluated = result("premises")
    lists = dict(zip(_LISTS, [evaluated["figures"], *evaluated["figures"]["others"]], strict=True))
    queries, unseen = evaluated["figures"]["queries"], lists["AE-Enc"]["unseen"]["queries"]
    measures = {name: row.get("unseen", row)["query_excluded"] for name, row in lists.items()}
    reads = {name: row["effort"]["reads_per_accepted"] for name, row in lists.items()}
    first, last = (measures[name]["Hit@10"] for name in (_LISTS[0], _LISTS[-1]))
    yield _experiment(
        "premises",
        "Premises found",
        [
            f"In the top 10 are {first:.0%} of the premises of unseen trees by MiniLM, "
            f"{measures['AE-Enc']['Hit@10']:.0%} by AE-Enc, {last:.0%} re-ranked.",
            f"{unseen} claims of EntailmentBank dev outside the training trees; dev chose settings and "
            "weights, so figures are optimistic.",
        ],
        ("Method", "MAP", "Hit@10"),
        [(name, row["MAP"], row["Hit@10"]) for name, row in measures.items()],
        evaluated,
    )
    yield _experiment(
        "effort",
        "Candidates to read",
        [
            f"An author reads {reads['+ re-ranking']:.1f} candidates for each accepted premise instead of "
            f"{reads['MiniLM']:.1f}: {1 - reads['+ re-ranking'] / reads['MiniLM']:.0%} fewer.",
            "The author is simulated and accepts what a reference tree has; training had "
            f"{queries - unseen} of these {queries} claims.",
        ],
        ("Method", "Read per accepted premise"),
        list(reads.items()),
        evaluated,
    )
    for name, title, columns, rows, scale in (
        ("direction", "Direction of entailment", ("Data", "The longer sentence", "GaussCSE"), None, 100),
        ("explanations", "Explanations ranked", ("Method", "MAP"), (0, 1, 3), 1),
        ("passages", "Passages for questions", ("Method", "R@1"), (0, 2, 9), 100),
    ):
        table = result({"direction": "gausscse", "explanations": "chains", "passages": "tuning"}[name])
        cells = [[row[0], *map(_number, row[1:])] for row in table["rows"]]
        if rows is None:  # one row a data set: the rule, and what ships
            lengths, shipped = cells[0], cells[5]
            values = [
                (data, lengths[at], shipped[at]) for at, data in enumerate(table["columns"][1:4], start=1)
            ]
        else:
            column = table["columns"].index("R@1") if scale > 1 else 1
            values = [(cells[at][0], cells[at][column]) for at in rows]
        scaled = [(row[0], *(value / scale for value in row[1:])) for row in values]
        yield _experiment(name, title, table["finding"], columns, scaled, {**table["runs"][0]})


def _number(cell: str) -> float:
    """Return the first number of a cell such as `0.558 [0.532, 0.585]`; 0 for an empty one."""
    number = re.match(r"[-+]?[\d.,]+", cell)
    return float(number[0].replace(",", "")) if number else 0.0


def _experiment(
    name: str,
    title: str,
    finding: Sequence[str],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    run: Mapping[str, Any],
) -> dict[str, Any]:
    hardware = run["hardware"]
    if not isinstance(hardware, str):
        hardware = f"{hardware['cpu']}, {hardware['cores']} cores"
    return {
        "name": name,
        "title": title,
        "finding": finding,
        "columns": columns,
        "rows": [[row[0], *(round(value, 6) for value in row[1:])] for row in rows],
        "hardware": hardware,
        "measured": {"commit": run["commit"][:12], "date": run["finished"][:10]},
    }


def page_json() -> str:
    """Return the file of the Results page."""
    return json.dumps({"experiments": list(experiments())}, ensure_ascii=False, indent=1) + "\n"


def figures_table() -> str:
    """Return the table of README.md."""
    lines = [
        "| task | measure | baseline | entail | difference [95 %] | page |",
        "|---|---|---:|---:|---:|---|",
    ]
    lines += [f"| {' | '.join(row)} | [figures](docs/results/{page}.md) |" for *row, page in headlines()]
    return "\n".join(lines)


def attack_table() -> str:
    """Return the table of the standing attack."""
    record = result("attack")
    attacks, hardware = record["figures"], record["hardware"]
    lines = [
        f"Commit `{record['commit'][:12]}`, {hardware['cpu']}, {hardware['cores']} cores, "
        f"{record['wall_seconds'] / 60:.0f} minutes, seed {record['seed']}, `{record['command']}`.",
        "",
        "| kind | attempts | failures | kills |",
        "|---|---:|---:|---:|",
    ]
    groups: dict[str, Counter[str]] = {}
    for kind, row in attacks["kinds"].items():
        counts = {name: row[name] for name in ("attempts", "failures", "kills")}
        groups.setdefault(kind.partition(":")[0], Counter()).update(counts)
    for kind, row in {**groups, "**all**": attacks}.items():
        kills = f"{row['kills']:,}" if row["kills"] else ""
        lines.append(f"| {kind} | {row['attempts']:,} | {row['failures']:,} | {kills} |")
    return "\n".join(lines)


TABLES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "README.md": ("figures", figures_table),
    "docs/security.md": ("attack", attack_table),
}
"""Page -> name of the marks between which its table is, and the function that returns it."""


def main() -> None:
    """Replace the tables between the marks, and write the file of the Results page."""
    PAGE.write_text(page_json(), encoding="utf-8")
    for page, (name, write) in TABLES.items():
        begin, end = f"<!-- {name}: scripts/write_readme.py -->", f"<!-- /{name} -->"
        file, between = ROOT / page, f"{begin}\n{write()}\n{end}"
        before, _, rest = file.read_text(encoding="utf-8").partition(begin)
        file.write_text(before + between + rest.partition(end)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
