"""Write the figures of README.md and of some pages in docs from docs/results/.

python scripts/write_readme.py
"""

from __future__ import annotations

import json
import re

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
    """Replace the tables between the marks."""
    for page, (name, write) in TABLES.items():
        begin, end = f"<!-- {name}: scripts/write_readme.py -->", f"<!-- /{name} -->"
        between, file = f"{begin}\n{write()}\n{end}", ROOT / page
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(f"{begin}.*{end}", lambda _: between, text, flags=re.S), encoding="utf-8")  # noqa: B023 - called here


if __name__ == "__main__":
    main()
