"""Write the table of figures in README.md from docs/results/.

python scripts/write_readme.py
"""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- figures: scripts/write_readme.py -->", "<!-- /figures -->"
GAUSSCSE = "ent+con+rev, ranked, directed, longer twice"


def figures(name: str) -> dict[str, Any]:
    """Return the figures of a result file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return found


def rows() -> list[tuple[str, str, str]]:
    """Return question, figures and page of each row."""
    retrieval, words = figures("aeenc_dev"), figures("shared_words")
    shipped = retrieval["others"][0]
    hybrid = next(one for one in words["others"] if one["retriever"] == "aeenc-minilm+bm25")
    direction = [
        run["on"]["SNLI-dev"]["direction"]["accuracy"]
        for run in figures("gausscse")["rows"][GAUSSCSE].values()
    ]
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
            f"MiniLM {retrieval['query_excluded']['MAP']:.3f}, `aeenc-minilm` "
            f"{shipped['query_excluded']['MAP']:.3f} ({shipped['unseen']['query_excluded']['MAP']:.3f} on "
            f"{shipped['unseen']['queries']} unseen of {retrieval['queries']} queries)",
            "premises",
        ),
        (
            "Candidates read per accepted premise, simulated author",
            f"MiniLM {words['effort']['reads_per_accepted']:.1f}, `aeenc-minilm` "
            f"{shipped['effort']['reads_per_accepted']:.1f}, with keyword match "
            f"{hybrid['effort']['reads_per_accepted']:.1f}",
            "aeenc_further",
        ),
        (
            "Direction of an entailment, SNLI dev, accuracy",
            f"{statistics.mean(direction):.3f} ± {statistics.stdev(direction):.3f} ({len(direction)} seeds)",
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


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| what | measured | page |", "|---|---|---|"]
    lines += [f"| {what} | {said} | [{page}](docs/results/{page}.md) |" for what, said, page in rows()]
    return "\n".join(lines)


def main() -> None:
    """Replace the table between the marks."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    between = f"{BEGIN}\n{table()}\n{END}"
    readme.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: between, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
