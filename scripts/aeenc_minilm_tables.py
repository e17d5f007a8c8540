"""Page and card of the encoder that ships, beside what `make_aeenc_minilm.py` makes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from page_text import paragraph, spread

from entail.training.cards.metadata import update_facts
from entail.training.cards.template import write_card

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
SHIPPED = ROOT / "models" / "aeenc-minilm"
ADAPTER, WHOLE = "AE-Enc single", "AE-Enc single, every weight"
"""The rows of Table 1 that differ in what is tuned, and in the learning rate that goes with it, alone."""

PARTS = {
    "triplet": "member, triplet loss",
    "softmax": "member, softmax",
    "members": "mean of the two",
    "by-heart": "from there by the triplet loss, held to the members: the first generation",
    "second": "second generation, by softmax, held to the first",
}
ALLOWED = 0.01
"""Loss of MAP that is not reported."""

SHOWN = ("MAP", "NDCG", "Hit@10", "Hit@50")


@dataclass(frozen=True)
class Beside:
    """Figures beside those of `make_aeenc_minilm.py`: of the encoder that ships, and of adapters.

    Attributes:
        told: The `entail.json` of what ships.
        shipped: What was measured of it on dev.
        table: Table 1's rows, each by seed.
        replay: Figures of the second round of `scripts/replay_aeenc.py`, on dev, by encoder.
        before: The same of the first round.
    """

    told: Mapping[str, Any]
    shipped: Mapping[str, Any]
    table: Mapping[str, Mapping[str, Any]]
    replay: Mapping[str, Mapping[str, Any]]
    before: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls) -> Beside:
        """Read them where they are kept."""
        dev = _read(RESULTS / "aeenc_dev.json")["figures"]
        measured = [run for run in (dev, *dev["others"]) if run["retriever"] == SHIPPED.name]
        if len(measured) != 1:
            sys.exit(
                f"Error: expected one measurement of {SHIPPED.name} in aeenc_dev.json, found "
                f"{len(measured)}; measure it there with entail evaluate premises"
            )
        rows = _read(RESULTS / "aeenc_table1_dev.json")["figures"]["rows"]
        rounds = (
            _read(RESULTS / f"{name}.json")["figures"]["entailment_bank_dev"]
            for name in ("aeenc_replay", "aeenc_replay_first")
        )
        return cls(_read(SHIPPED / "entail.json"), measured[0], rows, *rounds)


def _read(file: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def notes(result: Mapping[str, Any], beside: Beside) -> list[str]:
    """Return what page and card say of the encoder that ships: which run it is, what an adapter loses."""
    figures = result["figures"]
    seeds = list(figures["seeds"])
    maps = [figures["seeds"][seed]["parts"]["second"]["query_excluded"]["MAP"] for seed in seeds]
    adapter, whole = (
        [run["query_excluded"]["MAP"] for run in beside.table[row].values()] for row in (ADAPTER, WHOLE)
    )
    unseen = [figures["seeds"][seed]["parts"]["second"]["unseen"]["query_excluded"]["MAP"] for seed in seeds]
    lost = mean(whole) - mean(adapter)
    more = "more" if lost > ALLOWED else "no more"
    members = [encoder["config"]["seed"] for encoder in beside.told["averaged"]["encoders"]]
    replayed = [beside.replay[f"seed {seed}"] for seed in members]
    return [
        f"What ships as models/aeenc-minilm is the mean of {len(members)} seeds of the second round of "
        "scripts/replay_aeenc.py. Both rounds trained an earlier encoder further by the loss of the second "
        "generation, and held it to its base on questions of another domain, so that it loses less there; "
        "the second spared a query's own sentence and what differs from a right premise in capitals alone "
        "(docs/results/aeenc_replay.md). The earlier encoder is one run (seed 0) from before "
        "scripts/make_aeenc_minilm.py was whole, whose second generation was taught by the first "
        "generations of two seeds and by a mean of members; the "
        "script does not make it again. MAP on dev, query excluded: "
        f"{beside.shipped['query_excluded']['MAP']:.3f} of what ships, "
        f"{spread([run['query_excluded']['MAP'] for run in replayed])} of its seeds, "
        f"{beside.replay['initial']['query_excluded']['MAP']:.3f} after the first round, "
        f"{beside.before['initial']['query_excluded']['MAP']:.3f} of the earlier encoder, {spread(maps)} of "
        f"{len(seeds)} seeds of scripts/make_aeenc_minilm.py, "
        f"{figures['shipped']['query_excluded']['MAP']:.3f} of their mean.",
        f"It is an adapter (LoRA). In Table 1 of the paper as it was reproduced here ({ADAPTER}, "
        f"{len(adapter)} seeds) an adapter has MAP {spread(adapter)} on dev, query excluded, and tuning "
        f"every weight {spread(whole)}, each at its learning rate: the adapter loses {lost:.3f}, {more} "
        f"than {ALLOWED}. What it loses as what ships was trained has not been measured.",
        "Dev chose the weights of every training of scripts/make_aeenc_minilm.py, after each of its epochs, "
        "and those of the earlier encoder; of what ships the last weights are kept. Figures on dev are "
        "optimistic. "
        f"{beside.shipped['unseen']['queries']} of the dev queries are in no training tree: on these what "
        f"ships has MAP {beside.shipped['unseen']['query_excluded']['MAP']:.3f}, "
        f"{spread([run['unseen']['query_excluded']['MAP'] for run in replayed])} of its seeds, "
        f"{spread(unseen)} of those of scripts/make_aeenc_minilm.py, query excluded.",
    ]


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, comparison = result["figures"], Beside.read()
    # What stands under this name is what the program makes: it was meant to ship.
    seeds, average, hardware = figures["seeds"], figures["shipped"], result["hardware"]
    rows = list(_rows(figures, comparison))
    yield "<!-- Made from aeenc_minilm.json, aeenc_dev.json, aeenc_replay.json, aeenc_replay_first.json and"
    yield "aeenc_table1_dev.json by"
    yield "`python scripts/make_aeenc_minilm.py --table`; do not edit. -->"
    yield from ("# What scripts/make_aeenc_minilm.py makes, on dev: not what ships", "")
    for note in notes(result, comparison):
        yield from (*paragraph(note), "")
    yield f"Seeds {', '.join(seeds)}; mean ± standard deviation over them where there are several. What"
    yield f"is written is the mean of the second generation of all seeds, scaled by {figures['scale']}."
    yield f"Commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores, GPUs:"
    yield f"{', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    for protocol, title in (
        ("query_excluded", "Query excluded:"),
        ("paper", "Query among the candidates, as in the paper:"),
    ):
        yield from (title, "")
        yield f"| | {' | '.join(SHOWN)} | MAP, {average['unseen']['queries']} unseen queries |"
        yield "| --- |" + " ---: |" * (len(SHOWN) + 1)
        for words, runs in rows:
            values = [[run[protocol][measure] for run in runs] for measure in SHOWN]
            values.append([run["unseen"][protocol]["MAP"] for run in runs])
            yield f"| {words} | " + " | ".join(map(spread, values)) + " |"
        yield ""
    yield from ("Effort of the simulated author:", "")
    yield from ("| | candidates read per accepted premise |", "| --- | ---: |")
    for words, runs in rows:
        yield f"| {words} | {spread([run['effort']['reads_per_accepted'] for run in runs], 2)} |"
    yield ""
    repeats, unseen = average["seen"]["queries"], average["unseen"]["queries"]
    yield f"Of {repeats + unseen} queries {repeats} stand in the training trees, too, mostly with the same"
    yield "premises: the encoder knows those by heart, as a team's encoder knows what the team has decided."


def write_notes(result: Path) -> Path:
    """Write what the card of the encoder that ships says of its making."""
    update_facts(SHIPPED, notes=notes(_read(result), Beside.read()))
    return write_card(SHIPPED)


def _rows(figures: Mapping[str, Any], comparison: Beside) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    yield "untrained", [figures["untrained"]]
    for part, words in PARTS.items():
        yield words, [run["parts"][part] for run in figures["seeds"].values()]
    yield "**mean of the second generation**", [figures["shipped"]]
    yield "what ships, another run trained further (`aeenc_dev.json`)", [comparison.shipped]
