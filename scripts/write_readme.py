"""Write the tables of figures in README.md and docs/security.md from docs/results/.

python scripts/write_readme.py
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
LIST = "aeenc-minilm+bm25"
GAUSSCSE = "ent+con+rev, ranked, directed, longer twice"


def figures(name: str) -> dict[str, Any]:
    """Return the figures of a result file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return found


def rows() -> list[tuple[str, str, str]]:
    """Return question, figures and page of each row."""
    retrieval, words = figures("aeenc_dev"), figures("shared_words")
    shipped = retrieval["others"][0]
    table1 = figures("aeenc_table1_dev")["rows"]
    hybrid = next(one for one in words["others"] if one["retriever"] == "aeenc-minilm+bm25")
    found = figures("reranker_minilm")
    listed = found["first"][LIST]
    reranked = [seed["measured"][LIST] for seed in found["seeds"].values()]
    runs = figures("gausscse")["rows"][GAUSSCSE].values()
    direction = {
        name: [run["on"][key]["direction"]["accuracy"] for run in runs]
        for name, key in (("MultiNLI dev", "MultiNLI-dev-matched"), ("SICK train", "SICK-TRAIN"))
    }
    chosen = statistics.mean(run["on"]["SNLI-dev"]["direction"]["accuracy"] for run in runs)
    count = len(runs)
    arms = {
        arm: [
            one["gold"]["R@1"]
            for one in figures("tuning")["rows"]
            if one["arm"] == arm
            and one["budget"].get("base") == "minilm"
            and not one["budget"].get("every_weight")
            and one["budget"].get("epochs") == 1
        ]
        for arm in ("none", "0.8/H", "plain")
    }
    return [
        (
            "Premises found, EntailmentBank dev, MAP",
            f"`aeenc-minilm` {shipped['unseen']['query_excluded']['MAP']:.3f} on the "
            f"{shipped['unseen']['queries']} queries that it was not trained on "
            f"({shipped['query_excluded']['MAP']:.3f} on all {retrieval['queries']}; MiniLM "
            f"{retrieval['query_excluded']['MAP']:.3f})",
            "premises",
        ),
        (
            "The same, the first 50 re-ranked, MAP on unseen queries",
            f"with keyword match {listed['unseen']['query_excluded']['MAP']:.3f}, re-ranked "
            f"{_mean(one['unseen']['query_excluded']['MAP'] for one in reranked):.3f} "
            f"(Hit@10 {listed['unseen']['query_excluded']['Hit@10']:.3f}, "
            f"{_mean(one['unseen']['query_excluded']['Hit@10'] for one in reranked):.3f})",
            "reranker_minilm",
        ),
        (
            "AE-Enc by the paper's protocol, dev MAP (the paper, test)",
            ", ".join(
                f"{name} {statistics.mean(one['paper']['MAP'] for one in table1[row].values()):.3f} ({paper})"
                for name, row, paper in (
                    ("base", "base", ".356"),
                    ("one pass", "AE-Enc single", ".447"),
                    ("several passes", "Iterative AE-Enc single", ".451"),
                )
            )
            + ": one pass alone gives nothing here",
            "aeenc",
        ),
        (
            "Candidates read per accepted premise, simulated author",
            f"MiniLM {words['effort']['reads_per_accepted']:.1f}, `aeenc-minilm` "
            f"{shipped['effort']['reads_per_accepted']:.1f}, with keyword match "
            f"{hybrid['effort']['reads_per_accepted']:.1f}, re-ranked "
            f"{_mean(one['effort']['reads_per_accepted'] for one in reranked):.1f}",
            "reranker_minilm",
        ),
        (
            "Direction of an entailment, accuracy",
            ", ".join(
                f"{name} {statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
                for name, values in direction.items()
            )
            + f" ({count} seeds; SNLI dev, which chose weights and threshold: {chosen:.3f})",
            "gausscse",
        ),
        (
            "Explanations ranked, WorldTree 2020 dev, MAP",
            f"shared words {figures('arcf_tfidf')['MAP']:.3f}, single premises "
            f"{figures('single_fact_minilm')['MAP']:.3f}, `arcf-minilm` {figures('arcf_minilm')['MAP']:.3f}",
            "arcf_long",
        ),
        (
            "Passages found, SQuAD dev, R@1",
            ", ".join(
                f"{name} {statistics.mean(arms[arm]):.3f}"
                for arm, name in (
                    ("none", "without tuning"),
                    ("0.8/H", "entailment tuning"),
                    ("plain", "plain masking"),
                )
            )
            + ": no gain on a contrastive base",
            "tuning",
        ),
    ]


def _mean(values: Iterable[float]) -> float:
    return statistics.mean(values)


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| what | measured | page |", "|---|---|---|"]
    lines += [f"| {what} | {said} | [{page}](docs/results/{page}.md) |" for what, said, page in rows()]
    return "\n".join(lines)


def attack() -> str:
    """Return the table of the standing attack as Markdown."""
    result = json.loads((RESULTS / "attack.json").read_text(encoding="utf-8"))
    found, hardware = result["figures"], result["hardware"]
    lines = [
        f"Commit `{result['commit'][:12]}`, {hardware['cpu']}, {hardware['cores']} cores, "
        f"{result['wall_seconds'] / 60:.0f} minutes, seed {result['seed']}, `{result['command']}`.",
        "",
        "| kind | attempts | failures | kills |",
        "|---|---:|---:|---:|",
    ]
    kinds = {**found["kinds"], "**all**": found}
    for kind, row in kinds.items():
        kills = f"{row['kills']:,}" if row["kills"] else ""
        lines.append(f"| {kind} | {row['attempts']:,} | {row['failures']:,} | {kills} |")
    return "\n".join(lines)


TABLES = {"README.md": ("figures", table), "docs/security.md": ("attack", attack)}
"""Page -> name of the marks between which its table is, and the function that returns it."""


def main() -> None:
    """Replace the tables between the marks."""
    for page, (name, write) in TABLES.items():
        begin, end = f"<!-- {name}: scripts/write_readme.py -->", f"<!-- /{name} -->"
        between, file = f"{begin}\n{write()}\n{end}", ROOT / page
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(f"{begin}.*{end}", lambda _: between, text, flags=re.S), encoding="utf-8")  # noqa: B023 - called here


if __name__ == "__main__":
    main()
