"""Measure similarity bias (Figure 3 of the AE-Enc paper); write figures and a page of them to docs/results/.

Pairs are labelled once, by the first encoder at K = 20, and measured again under every other one, by both
rules for false positives (`entail.aeenc.bias`). In the paper's order the others are one tuned on gold
triplets (its panel c) and one tuned on Iterative AE-Enc data (d): the rows `+TML single` and `Iterative
AE-Enc single` of `reproduce_aeenc.py`, whose weights stay in its `--work`. Any number of encoders will do.

    python scripts/measure_bias.py --corpus premises.txt.gz --trees dev.jsonl.gz
        [--retriever minilm --retriever build/aeenc/minilm-tml-single-0
         --retriever build/aeenc/minilm-iterative-ae-enc-single-0 --retriever aeenc-minilm]
        [--out docs/results/aeenc_bias.json]
    python scripts/measure_bias.py --table                  # the page again, from the result file

Which training an encoder is, the page says by Table 1: a row's run whose weights bear this name, and whose
settings and figures on dev are those that the encoder's `entail.json` tells.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show

from entail.aeenc.bias import DEFAULT_K, bias, encoder_indexes
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.encoders.catalogue import resolve
from entail.results import write_page, write_result

RESULT = Path(__file__).parent.parent / "docs" / "results" / "aeenc_bias.json"
TABLE = RESULT.with_name("aeenc_table1_dev.json")
SHIPPED = "aeenc-minilm"
RULES = {
    "all": "False positives: all that is retrieved and not gold (the paper's count)",
    "outside_tree": "False positives: only what stands in no tree of the query (the paper's words)",
}
CLAIM = (
    "The paper's claim: before training, false positives (FP) stand above false negatives (FN) in token "
    "overlap and in cosine; tuned on gold triplets the two overlap, tuned on Iterative AE-Enc data they are "
    "balanced."
)
CLAIMED = {
    ("a", "FP above FN"),
    ("b", "FP above FN"),
    ("c", "FP and FN overlap"),
    ("d", "FP and FN balanced"),
}
"""Claims of the paper about its four panels; it has none about further encoders."""


def main() -> int:
    """Measure and write, or only write the page again."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="the candidates")
    parser.add_argument("--trees", type=Path, help="EntailmentBank JSONL, tasks 1 or 2")
    parser.add_argument(
        "--retriever",
        action="append",
        help="encoders, the one that labels first; default minilm aeenc-minilm",
    )
    parser.add_argument("--k", type=int, default=DEFAULT_K)
    parser.add_argument("--out", type=Path, default=RESULT)
    return measure_and_show(
        parser,
        lambda options: measure(
            options.corpus,
            options.trees,
            options.retriever or ["minilm", "aeenc-minilm"],
            options.k,
            options.out,
        ),
        lambda options: write_page(options.out, markdown),
        needs=("corpus", "trees"),
    )


def measure(corpus: Path, trees: Path, names: Sequence[str], k: int, out: Path) -> None:
    """Write the result file."""
    started = datetime.now(UTC)
    candidates, gold = read_corpus(corpus).corpus, list(read_trees(trees))
    measurement = bias(candidates, gold, encoder_indexes(names, candidates), k=k)
    figures = {
        **measurement.to_json(),
        "trees": len(gold),
        "split": trees.name.partition(".")[0],
        "trainings": {
            index: training_of(name, TABLE) for index, name in zip(measurement.retrievers, names, strict=True)
        },
    }
    write_result(out, figures=figures, seed=0, started=started)


def training_of(name: str, table: Path) -> dict[str, Any] | None:
    """Return how an encoder was trained, and the run of Table 1 that it is; None for one without a card."""
    card = resolve(name).card
    if card is None:
        return None
    training: dict[str, Any] = {"method": card.method, "config": dict(card.config)}
    if not table.is_file():
        return training
    rows = json.loads(table.read_text(encoding="utf-8"))["figures"]["rows"]
    for row, runs in rows.items():
        for seed, run in runs.items():
            trained = run["trained"]
            same = trained and (trained["name"], trained["config"]) == (Path(name).name, training["config"])
            # Of the same name and settings there may be another one, of other data or another commit.
            if same and trained["fitted"]["best"]["figures"] == card.figures.get("dev"):
                return {**training, "row": row, "seed": int(seed), "commit": run["run"]["commit"]}
    return training


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    first, *encoders = figures["retrievers"]
    yield "<!-- Made from aeenc_bias.json by `python scripts/measure_bias.py --table`; do not edit. -->"
    yield from ("# AE-Enc: similarity bias (Figure 3)", "")
    yield f"EntailmentBank {figures['split']}: {figures['trees']:,} trees, {figures['queries']:,} queries,"
    yield f"{figures['premises']:,} candidates; {figures['pairs']:,} pairs, labelled by `{first}` at K ="
    yield f"{figures['k']}: TP a gold premise among the first K, FN one that is not, FP any other among the"
    yield f"first K. Intervals are of 95 % over queries. Commit `{result['commit']}`,"
    yield f"{hardware['cpu']}, {hardware['cores']} cores, GPUs: {', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "", CLAIM)
    if len(encoders) < 2:
        yield (
            f"Here {_listed(encoders)} is measured for both of the latter, an encoder tuned on gold triplets"
        )
        yield "is not."
    if trainings := figures.get("trainings"):
        yield from ("", "The encoders:", "")
        yield f"- (b) `{first}`, {training_in_words(first, trainings[first])}; its ranking labels the pairs"
        for index, name in enumerate(encoders):
            yield f"- ({chr(ord('c') + index)}) `{name}`, {training_in_words(name, trainings[name])}"
        yield ""
    if further := [f"({chr(ord('c') + index)})" for index in range(2, len(encoders))]:
        yield f"Of {', '.join(further)} the paper says nothing: beside its figure, and no part of the claim."
    yield f"The labels are the ranking of `{first}` itself, which parts FP from FN in (b) and lets them come"
    yield "closer under whatever other encoder: not all of that is what the other one has learnt."
    for rule, title in RULES.items():
        rule_figures = figures["rules"][rule]
        yield from ("", f"## {title}", "", conclusion(rule_figures["verdicts"], whole=len(encoders) > 1), "")
        yield from (f"- {verdict['words']}" for verdict in measured(rule_figures["verdicts"]))
        yield from ("", "| panel | group | pairs | mean | sd | 1st quartile | median | 3rd quartile |")
        yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for panel in rule_figures["panels"]:
            for name, group in panel["groups"].items():
                values = (group["mean"], group["sd"], *(group["quartiles"] or (None,) * 3))
                yield (
                    f"| {_title(panel)} | {name} | {group['count']:,} | "
                    + " | ".join("" if value is None else f"{value:.3f}" for value in values)
                    + " |"
                )
        yield from (
            "",
            "| FP against FN | P(FP > FN) | Cliff's delta | share in common |",
            "| --- |" + " ---: |" * 3,
        )
        for panel in rule_figures["panels"]:
            if (apart := panel["fp_against_fn"]) is not None:
                cells = [
                    f"{apart[name]:{sign}.3f} [{apart[f'{name}_interval'][0]:{sign}.3f}, "
                    f"{apart[f'{name}_interval'][1]:{sign}.3f}]"
                    for name, sign in (("auc", ""), ("delta", "+"), ("shared", ""))
                ]
                yield f"| {_title(panel)} | " + " | ".join(cells) + " |"


def training_in_words(name: str, told: Mapping[str, Any] | None) -> str:
    """Return what training an encoder is.

    Args:
        name: The encoder's.
        told: What `training_of` says of it.
    """
    if name == SHIPPED:
        return "what ships ([how it is made](aeenc_minilm.md))"
    if told is None:
        return "as it came, not trained here"
    if "row" not in told:
        return f"trained by {told['method'] or 'a method that it does not name'}, no row of Table 1"
    config = told["config"]
    data = ["gold triplets"] if config["gold"] else []
    if config["rounds"]:
        data.append(f"{config['rounds']} round{'s' * (config['rounds'] > 1)} of ACS (K = {config['k']})")
    return (
        f"tuned on {' and '.join(data)}: row “{told['row']}” of [Table 1](aeenc.md), seed {told['seed']}, "
        f"measured there at commit `{told['commit'][:12]}`"
    )


def measured(verdicts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the verdicts on panels that there are."""
    return [verdict for verdict in verdicts if "was not measured" not in verdict["words"]]


def conclusion(verdicts: Sequence[Mapping[str, Any]], *, whole: bool) -> str:
    """Return in one sentence whether the claim holds.

    Args:
        verdicts: As `Verdict.to_json` returns them.
        whole: Whether all four panels were measured.
    """
    parts = measured(verdicts)
    if whole:  # of every trained encoder both are tested that the paper says of one each
        parts = [part for part in parts if (part["panel"], part["claim"]) in CLAIMED]
    holds = [f"({part['panel']}) “{part['claim']}”" for part in parts if part["holds"]]
    fails = [f"({part['panel']}) “{part['claim']}”" for part in parts if part["holds"] is False]
    still = [f"({part['panel']}) “{part['claim']}”" for part in parts if part["holds"] is None]
    outcome = "holds" if not fails and not still else "does not hold as a whole" if fails else "stays open"
    far = "" if whole else ", as far as it was measured"
    clauses = [
        f"{which}: {', '.join(those)}"
        for which, those in (("what holds", holds), ("what does not", fails), ("what is open", still))
        if those
    ]
    return f"**The paper's claim {outcome} here{far}**; {'; '.join(clauses)}."


def _title(panel: Mapping[str, Any]) -> str:
    of = f", `{panel['retriever']}`" if panel["retriever"] else ""
    return f"({panel['panel']}) {panel['measure']}{of}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "no trained encoder"


if __name__ == "__main__":
    sys.exit(main())
