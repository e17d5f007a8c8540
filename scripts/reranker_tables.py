"""Page of tables that `make_reranker_minilm.py` writes, and the figures of the card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from page_text import paragraph, spread

SHOWN = ("MAP", "NDCG", "Hit@10", "Hit@50")
READ = {
    "dev": "Dev was read with these settings, and once more with six epochs, which the held-out trees "
    "preferred and dev did not (reranker_six_epochs.json): so three epochs stay.",
    "test": "Test was read once, with these settings; it chose nothing.",
}
"""Split -> what was chosen by it."""


def shipped(figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the figures of what ships, the first seed."""
    first_seed: Mapping[str, Any] = next(iter(figures["seeds"].values()))
    return first_seed


def for_card(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the card: unseen queries, then all; each list as retrieved and re-ranked."""
    first, split = next(iter(figures["first"].values())), figures["trees"]["split"]
    seeds = len(figures["seeds"])
    parts = []
    for key, words in (
        ("unseen", f"{first['unseen queries']} queries of EntailmentBank {split} that no training tree has"),
        ("all", f"{first['queries']} queries of EntailmentBank {split} in all, training queries among them"),
    ):
        rows = []
        for name, list_figures in figures["first"].items():
            over = shipped(figures)["measured"][name]
            for label, row_figures in ((name, list_figures), (f"{name}, re-ranked", over)):
                rows.append([label, *(row_figures[key]["query_excluded"][measure] for measure in SHOWN)])
        parts.append(
            {
                "caption": f"{words}; a query is no candidate of its own:",
                "head": ["list", *SHOWN],
                "rows": rows,
            }
        )
    parts[0]["caption"] = (
        f"{READ[split]} Earlier dev chose the retriever and its share of keyword match. The first of {seeds} "
        "seeds ships. Command, commit and every seed: docs/results/reranker_minilm.md. "
        f"{parts[0]['caption']}"
    )
    return parts


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    held_out, seeds = figures["held out"], figures["seeds"]
    best, split = held_out["best"], figures["trees"]["split"]
    unseen = next(iter(figures["first"].values()))["unseen queries"]
    yield "<!-- Made from reranker_minilm.json by `python scripts/make_reranker_minilm.py --table`. -->"
    yield f"# A re-ranker of the first {best['depth']} premises, on {split}"
    yield ""
    yield f"A cross-encoder reads each of the first {best['depth']} premises together with the query. Its"
    yield f"score, times {best['weight']:g}, is added to the retriever's. It learnt from"
    yield f"{figures['learnt']['trees']:,} training trees. The weight and the number of premises were chosen"
    yield (
        f"by one that had not learnt from {held_out['trees']} training trees, on the "
        f"{held_out['queries']} queries"
    )
    yield "that only they have, over lists of a retriever that had not seen them either."
    yield from paragraph(
        f"{READ[split]} The retriever itself and its share of BM25 were chosen on dev earlier ([the "
        "retriever](aeenc_minilm.md), [its share of BM25](aeenc_further.md))."
    )
    size = f"{figures.get('bytes', 0) / 1e6:.1f} MB"
    if len(seeds) > 1:
        yield f"The first of {len(seeds)} seeds ships ({size}); below it mean ± standard deviation of all."
    else:
        yield f"One seed was trained and ships ({size}); the spread over seeds was not measured."
    yield f"Commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores:"
    yield from ("", f"    {result['command']}", "")
    for key, words in (
        ("unseen", f"{unseen} queries that no training tree has, query excluded"),
        ("all", f"All {next(iter(figures['first'].values()))['queries']} queries, query excluded"),
    ):
        yield from (f"## {words}", "")
        yield f"| | {' | '.join(SHOWN)} |"
        yield "| --- |" + " ---: |" * len(SHOWN)
        for name, list_figures in figures["first"].items():
            yield f"| {name} | {' | '.join(_cells([list_figures[key]['query_excluded']]))} |"
            runs = [seed["measured"][name][key]["query_excluded"] for seed in seeds.values()]
            over = shipped(figures)["measured"][name][key]["query_excluded"]
            yield f"| {name}, re-ranked | {' | '.join(_cells([over]))} |"
            if len(runs) > 1:
                yield f"| {name}, re-ranked, all seeds | {' | '.join(_cells(runs))} |"
        yield ""
    yield from ("## Effort of the simulated author", "")
    yield "| | candidates read per accepted premise | never found |"
    yield "| --- | ---: | ---: |"
    for name, list_figures in figures["first"].items():
        over = shipped(figures)["measured"][name]["effort"]
        for words, record in ((name, list_figures["effort"]), (f"{name}, re-ranked", over)):
            yield f"| {words} | {record['reads_per_accepted']:.2f} | {record['missing_share']:.1%} |"
    yield from ("", "## Seconds", "")
    yield "One list after the first is shown, in a process of one thread beside other work:"
    yield from ("", "| seed | training | median of a list | 95 % | longest |", "| --- |" + " ---: |" * 4)
    for seed, record in seeds.items():
        took = record["seconds a list"]
        yield (
            f"| {seed} | {record['seconds']:,.0f} | {took['median']:.2f} | {took['95 %']:.2f} | "
            f"{took['longest']:.2f} |"
        )
    yield from ("", "## The choice, on held-out trees", "")
    deepest = max(row["depth"] for row in held_out["choices"])
    yield f"MAP of lists of {deepest} premises by how many of them are read (rows) and the weight (columns);"
    yield "0 is the list as retrieved:"
    weights = sorted({row["weight"] for row in held_out["choices"]})
    yield from ("", f"| | {' | '.join(f'{w:g}' for w in weights)} |", "| --- |" + " ---: |" * len(weights))
    for depth in sorted({choice["depth"] for choice in held_out["choices"]}):
        row = {choice["weight"]: choice["MAP"] for choice in held_out["choices"] if choice["depth"] == depth}
        yield f"| {depth} | {' | '.join(f'{row[w]:.3f}' for w in weights)} |"


def _cells(runs: Sequence[Mapping[str, float]]) -> list[str]:
    return [spread([run[measure] for run in runs]) for measure in SHOWN]
