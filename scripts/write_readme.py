"""Write the figures of README.md, of some pages in docs and of the Results page from docs/results/.

python scripts/write_readme.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headline_figures import (
    RESULTS,
    ROOT,
    arcf_seeds,
    direction_accuracy,
    explanation_ranking,
    figures,
    mean,
    papers_setting,
    passage_retrieval,
    passages_after_masking,
    reads_after_decisions,
    reads_by_next_premise,
    reads_by_two_towers,
    reads_per_accepted,
    strong_pass,
    table1,
    unseen_retrieval,
)
from page_text import spread

PAGE = ROOT / "entail" / "ui" / "results" / "figures.json"
"""Figures of the Results page, shipped with the package."""


def rows() -> list[tuple[str, str, str]]:
    """Return question, figures and page in docs of each row."""
    claims, retrieval = unseen_retrieval()
    everything, listed, reranked = figures("aeenc_dev"), retrieval["+ keywords"], retrieval["+ re-ranking"]
    base, shipped = everything["query_excluded"], everything["others"][0]["query_excluded"]
    direction, ranked, passages = direction_accuracy(), explanation_ranking(), passage_retrieval()
    snli_accuracy = mean(direction["SNLI dev"])
    alpha, strong = strong_pass()
    reads = dict(reads_after_decisions())
    listed_dual, reranked_dual = reads_by_two_towers()
    masked, masked_tuned = passages_after_masking()
    return [
        (
            "Premises found, EntailmentBank dev, MAP",
            f"`aeenc-minilm` {retrieval['AE-Enc']['MAP']:.3f} on the {claims} queries that it was not "
            f"trained on, MiniLM {retrieval['MiniLM']['MAP']:.3f} (on all {everything['queries']}: "
            f"{shipped['MAP']:.3f}, {base['MAP']:.3f})",
            "results/aeenc_minilm",
        ),
        (
            "The same, the first 64 re-ranked, MAP on unseen queries",
            f"with keyword match {listed['MAP']:.3f}, re-ranked {reranked['MAP']:.3f} "
            f"(Hit@10 {listed['Hit@10']:.3f}, {reranked['Hit@10']:.3f})",
            "results/reranker_minilm",
        ),
        (
            "AE-Enc by the paper's protocol, dev MAP (the paper, test)",
            ", ".join(
                f"{name} {value:.3f} ({paper})"
                for (name, value), paper in zip(table1().items(), (".356", ".447", ".451"), strict=True)
            )
            + f", by an adapter; one pass {strong:.3f} at alpha {alpha:g} (chosen on dev), "
            f"{papers_setting():.3f} in the paper's setting (one seed each)",
            "results/aeenc",
        ),
        (
            "Candidates read per accepted premise, simulated author",
            ", ".join(
                f"{name} {value:.1f}"
                for name, value in zip(
                    ("MiniLM", "`aeenc-minilm`", "with keyword match", "re-ranked"),
                    reads_per_accepted().values(),
                    strict=True,
                )
            )
            + ", then [ordered anew](docs/results/arcf_authoring.md) after each accept "
            f"{reads_by_next_premise():.1f}"
            + "; [`aeenc-dual-minilm`](docs/results/aeenc_dual_replay.md) with keyword match "
            f"{listed_dual:.1f}, re-ranked {reranked_dual:.1f}",
            "results/reranker_minilm",
        ),
        (
            "The same by another team's explanations (WorldTree), trained on decided trees",
            f"before {reads.pop('0'):.1f}; after {', '.join(reads)} trees "
            f"{', '.join(f'{value:.1f}' for value in reads.values())} (`aeenc-minilm` with keyword match, "
            "which knows many of these facts; on EntailmentBank, whose train part it knows, no sure gain)",
            "results/aeenc_learning",
        ),
        (
            "Direction of an entailment, accuracy",
            ", ".join(f"{name} {mean(direction[name]):.3f}" for name in ("MultiNLI dev", "SICK train"))
            + f" (shipped model; SNLI dev, which chose weights and threshold: {snli_accuracy:.3f})",
            "results/gausscse",
        ),
        (
            "Explanations ranked, WorldTree 2020 dev, MAP",
            f"shared words {ranked['Shared words']:.3f}, single premises {ranked['Single premises']:.3f}, "
            f"`arcf-minilm` {ranked['Chains (ARCF)']:.3f} (its recipe, {len(arcf_seeds())} seeds: "
            f"{spread(arcf_seeds())}; without chains {figures('arcf_single')['MAP']:.3f})",
            "arcf",
        ),
        (
            "Passages found, SQuAD dev, R@1",
            ", ".join(f"{name.lower()} {value:.3f}" for name, value in passages.items() if name != "BM25")
            + ": no gain here; a longer first stage of every weight loses more, unless it keeps the vectors "
            f"(BM25 {passages['BM25']:.3f}). On a stand-in for a [base trained by masking alone]"
            f"(docs/results/first_stage_mlm.md) it gains: {masked:.3f} without, {masked_tuned:.3f} with it "
            "(2,067 paragraphs)",
            "results/tuning",
        ),
    ]


def experiments() -> list[dict[str, Any]]:
    """Return the experiments of the Results page, each with its simplest rival."""
    claims, retrieval = unseen_retrieval()
    queries = figures("aeenc_dev")["queries"]
    reads, direction, ranked = reads_per_accepted(), direction_accuracy(), explanation_ranking()
    lengths = figures("gausscse")["baselines"]
    steps = figures("gausscse_trees")["steps"]["direction"]
    accuracy = {
        "MultiNLI dev": (lengths["MultiNLI-dev-matched"]["length"], mean(direction["MultiNLI dev"])),
        "SICK train": (lengths["SICK-TRAIN"]["length"], mean(direction["SICK train"])),
        "SNLI dev": (lengths["SNLI-dev"]["length"], mean(direction["SNLI dev"])),
        "Steps of trees": (steps["length_baseline"], steps["accuracy"]),
    }
    first, last = retrieval["MiniLM"], retrieval["+ re-ranking"]
    return [
        _experiment(
            "premises",
            "Premises found",
            f"In the top 10 are {first['Hit@10']:.0%} of the premises of unseen trees by MiniLM, "
            f"{retrieval['AE-Enc']['Hit@10']:.0%} by AE-Enc, {last['Hit@10']:.0%} re-ranked.",
            f"{claims} claims of EntailmentBank dev outside the training trees; dev chose settings and "
            "weights, so figures are optimistic.",
            ("Method", "MAP", "Hit@10"),
            {name: (measures["MAP"], measures["Hit@10"]) for name, measures in retrieval.items()},
            "reranker_minilm",
        ),
        _experiment(
            "effort",
            "Candidates to read",
            f"An author reads {reads['+ re-ranking']:.1f} candidates for each accepted premise instead of "
            f"{reads['MiniLM']:.1f}: {1 - reads['+ re-ranking'] / reads['MiniLM']:.0%} fewer.",
            "The author is simulated and accepts what a reference tree has; training had "
            f"{queries - claims} of these {queries} claims.",
            ("Method", "Read per accepted premise"),
            {name: (value,) for name, value in reads.items()},
            "reranker_minilm",
        ),
        _experiment(
            "direction",
            "Direction of entailment",
            f"The direction of {accuracy['MultiNLI dev'][1]:.0%} of MultiNLI's entailments is told right, "
            f"by length alone in {accuracy['MultiNLI dev'][0]:.0%}.",
            "On steps of trees length alone does better; SNLI dev chose weights and threshold.",
            ("Data", "The longer sentence", "GaussCSE"),
            accuracy,
            "gausscse",
        ),
        _experiment(
            "explanations",
            "Explanations ranked",
            f"Chains rank the facts of an explanation at MAP {ranked['Chains (ARCF)']:.2f}, single premises "
            f"at {ranked['Single premises']:.2f}.",
            "410 questions of WorldTree 2020 dev.",
            ("Method", "MAP"),
            {name: (value,) for name, value in ranked.items()},
            "arcf_minilm",
        ),
        _experiment(
            "passages",
            "Passages for questions",
            "Entailment tuning does not help a contrastive encoder, and BM25 beats both.",
            "10,570 questions and 20,958 passages of SQuAD dev, which the base encoder had seen.",
            ("Method", "R@1"),
            {name: (value,) for name, value in passage_retrieval().items()},
            "tuning",
        ),
    ]


def _experiment(
    name: str,
    title: str,
    finding: str,
    condition: str,
    columns: Sequence[str],
    values: Mapping[str, Sequence[float]],
    result: str,
) -> dict[str, Any]:
    hardware = _result(result)["hardware"]
    gpus = [gpu if isinstance(gpu, str) else gpu["name"] for gpu in hardware["gpus"]]
    return {
        "name": name,
        "title": title,
        "finding": [finding, condition],
        "columns": columns,
        "rows": [[row, *(round(value, 6) for value in cells)] for row, cells in values.items()],
        "hardware": ", ".join([hardware["cpu"], f"{hardware['cores']} cores", *gpus]),
        "measured": {"commit": _result(result)["commit"][:12], "date": _result(result)["finished"][:10]},
    }


def _result(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return result


def page_json() -> str:
    """Return the file of the Results page."""
    return json.dumps({"experiments": experiments()}, ensure_ascii=False, indent=1) + "\n"


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| what | measured | page |", "|---|---|---|"]
    lines += [
        f"| {question} | {answer} | [{page.removeprefix('results/')}](docs/{page}.md) |"
        for question, answer, page in rows()
    ]
    return "\n".join(lines)


def attack() -> str:
    """Return the table of the standing attack as Markdown."""
    result = json.loads((RESULTS / "attack.json").read_text(encoding="utf-8"))
    attacks, hardware = result["figures"], result["hardware"]
    lines = [
        f"Commit `{result['commit'][:12]}`, {hardware['cpu']}, {hardware['cores']} cores, "
        f"{result['wall_seconds'] / 60:.0f} minutes, seed {result['seed']}, `{result['command']}`.",
        "",
        "| kind | attempts | failures | kills |",
        "|---|---:|---:|---:|",
    ]
    kinds = {**attacks["kinds"], "**all**": attacks}
    for kind, row in kinds.items():
        kills = f"{row['kills']:,}" if row["kills"] else ""
        lines.append(f"| {kind} | {row['attempts']:,} | {row['failures']:,} | {kills} |")
    return "\n".join(lines)


TABLES = {
    "README.md": ("figures", table),
    "docs/security.md": ("attack", attack),
}
"""Page -> name of the marks between which its table is, and the function that returns it."""


def main() -> None:
    """Replace the tables between the marks, and write the file of the Results page."""
    PAGE.write_text(page_json(), encoding="utf-8")
    for page, (name, write) in TABLES.items():
        begin, end = f"<!-- {name}: scripts/write_readme.py -->", f"<!-- /{name} -->"
        between, file = f"{begin}\n{write()}\n{end}", ROOT / page
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(f"{begin}.*{end}", lambda _: between, text, flags=re.S), encoding="utf-8")  # noqa: B023 - called here


if __name__ == "__main__":
    main()
