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

_SHIPPED = {
    "ship-aeenc-minilm": ("Find premises", "MAP, unseen", "MAP, unseen", "base"),
    "ship-reranker-minilm": ("Re-rank them", "MAP, unseen", "MAP, unseen", "retriever"),
    "ship-gausscse-minilm": (
        "Tell the direction",
        "direction, mnli/dev",
        "accuracy, MultiNLI dev",
        "longer sentence",
    ),
    "ship-arcf-minilm": ("Build chains", "MAP", "MAP, WorldTree 2020 dev", "shared words"),
}
"""Recipe -> task of its row in README.md, metric, and how the row calls the metric and the rival."""

_LISTS = ("MiniLM", "AE-Enc", "+ keywords", "+ re-ranking")
"""Retrievers of `premises.json`, in its order."""


def result(name: str) -> dict[str, Any]:
    """Return the content of a result file."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def headlines() -> Iterator[Sequence[str]]:
    """Yield task, measure, baseline, entail's figure, their difference and page of each row of README.md."""
    for name, (task, metric, title, rival_title) in _SHIPPED.items():
        rival, *_, row = result(name)["rows"]
        gain = row["paired"][metric]
        yield (
            task,
            title,
            f"{rival_title} {rival['figures'][metric]['mean']:.3f}",
            f"{row['figures'][metric]['mean']:.3f}",
            f"{gain['difference']:+.3f} [{gain['low']:.3f}, {gain['high']:.3f}]",
            name,
        )
    yield (*result("tuning")["headline"], "tuning")


def experiments() -> Iterator[dict[str, Any]]:
    """Yield the experiments of the Results page: a figure, its finding and conditions, rivals first."""
    evaluated = result("premises")
    lists = dict(zip(_LISTS, [evaluated["figures"], *evaluated["figures"]["others"]], strict=True))
    unseen = lists["AE-Enc"]["unseen"]["queries"]
    hits = {name: row.get("unseen", row)["query_excluded"]["Hit@10"] for name, row in lists.items()}
    effort = result("effort")
    arms = {row["arm"]: row["figures"]["reads, unseen"]["mean"] for row in effort["rows"]}
    reads = dict(zip(_LISTS, list(arms.values())[2:], strict=True))  # after TF-IDF and BM25
    first, last = _LISTS[0], _LISTS[-1]
    yield _experiment(
        "premises",
        "Find premises",
        ("Premises among the first 10 candidates", f"{hits[last]:.0%}"),
        f"By {first} alone {hits[first]:.0%}.",
        f"{unseen} claims of EntailmentBank dev outside the training trees; dev chose settings and "
        "weights, so figures are optimistic.",
        "Premises among the first 10, %",
        [(name, 100 * hit) for name, hit in hits.items()],
        evaluated,
    )
    yield _experiment(
        "effort",
        "Read less",
        ("Candidates to read for each accepted premise", f"{reads[last]:.1f}"),
        f"By {first} alone {reads[first]:.1f}, by keywords {arms['BM25']:.1f}.",
        "Trees of EntailmentBank dev without a conclusion of a training tree; the author is simulated and "
        "accepts what the reference tree has.",
        "Candidates read per accepted premise",
        list(reads.items()),
        _machine(effort["runs"][-1]["measured"]),
    )
    shipped = result("ship-gausscse-minilm")
    data = {"SNLI dev": "direction, snli/dev", "MultiNLI dev": "direction, mnli/dev"}
    pairs = [
        (f"{name}, {title}", 100 * row["figures"][metric]["mean"])
        for title, row in (("by length", shipped["rows"][0]), ("GaussCSE", shipped["rows"][-1]))
        for name, metric in data.items()
    ]
    yield _experiment(
        "direction",
        "Tell the direction",
        ("Entailments of MultiNLI dev told in the right direction", f"{pairs[-1][1]:.0f}%"),
        f"By length alone {pairs[1][1]:.0f}%.",
        "SNLI dev chose weights and threshold, so its figure is optimistic.",
        "Directions told right, %",
        pairs,
        list(shipped["trainings"].values())[-1],
        rivals=len(data),
    )
    shipped = result("ship-steps-minilm")
    measure = "AUROC, exchanged"
    arms = {row["arm"]: 100 * row["figures"][measure]["mean"] for row in shipped["rows"]}
    harder = shipped["rows"][-1]["figures"]["AUROC, exchanged by BM25"]["mean"]
    names = {"shared words": "cover", "judge": "nli-minilm", "check of steps": "steps"}
    checked = [(name, arms[arm]) for name, arm in names.items()]
    yield _experiment(
        "steps",
        "Check a step",
        ("Whole steps told from steps with a premise exchanged", f"{checked[-1][1]:.0f}%"),
        f"By {checked[0][0]} {checked[0][1]:.0f}%.",
        "594 steps of EntailmentBank dev, whole ones against those with a premise exchanged for one that is "
        f"near by MiniLM; by BM25 {100 * harder:.0f}%. By chance half of such pairs are told right.",
        "Pairs told right, %",
        checked,
        next(iter(shipped["trainings"].values())),
        rivals=2,
    )
    shipped = result("ship-arcf-minilm")
    figures = [row["figures"]["MAP"]["mean"] for row in shipped["rows"]]
    ranked = list(zip(("shared words", "ARCF"), figures, strict=True))
    yield _experiment(
        "explanations",
        "Explain an answer",
        ("Better ranking of the facts that explain it", f"+{figures[-1] / figures[0] - 1:.0%}"),
        "Against shared words.",
        "410 questions of WorldTree 2020 dev; settings were compared on them, so figures are optimistic.",
        "Mean average precision",
        ranked,
        next(iter(shipped["trainings"].values())),
    )
    table = result("tuning")
    column = table["columns"].index("R@1")
    names = {"BM25": 0, "DPR": 2, "entailment tuning": 9}
    answered = [(name, _number(table["rows"][at][column])) for name, at in names.items()]
    yield _experiment(
        "passages",
        "Answer questions",
        ("Questions whose annotated passage is found first", f"{answered[-1][1]:.0f}%"),
        f"By {answered[0][0]} {answered[0][1]:.0f}%: better than every encoder here.",
        f"10,570 questions of SQuAD dev; entailment tuning is {answered[1][1] - answered[-1][1]:.1f} points "
        "below the same training without it; its paper reports 3.3 above.",
        "Annotated passage found first, %",
        answered,
        table["runs"][0],
        rivals=2,
    )


def _number(cell: str) -> float:
    """Return the first number of a cell such as `0.558 [0.532, 0.585]`; 0 for an empty one."""
    number = re.match(r"[-+]?[\d.,]+", cell)
    return float(number[0].replace(",", "")) if number else 0.0


def _machine(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record of the laboratory with its hardware as other results have it."""
    return {**record, "hardware": {"cpu": record["cpu"], "cores": record["cores"]}}


def _experiment(
    name: str,
    title: str,
    figure: tuple[str, str],
    finding: str,
    conditions: str,
    measure: str,
    rows: Sequence[tuple[str, float]],
    run: Mapping[str, Any],
    *,
    rivals: int = 1,
) -> dict[str, Any]:
    hardware = run.get("hardware", run)
    if not isinstance(hardware, str):
        hardware = f"{hardware['cpu']}, {hardware['cores']} cores"
    return {
        "name": name,
        "title": title,
        "label": figure[0],
        "figure": figure[1],
        "finding": finding,
        "conditions": conditions,
        "measure": measure,
        "rows": [[row, round(value, 4)] for row, value in rows],
        "rivals": rivals,
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
