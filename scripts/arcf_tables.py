"""Arms of the tables of `reproduce_arcf.py`, the paper's figures, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from page_text import spread


@dataclass(frozen=True)
class Arm:
    """One training, and the rankings that are made with it: name -> how, and the paper's test MAP 2020."""

    name: str
    change: Mapping[str, Any]
    rankings: Mapping[str, str]
    paper: Mapping[str, float] = field(default_factory=dict)


ARMS = (
    Arm(
        "SF",
        {"scheme": "single-fact", "loss": "bxent"},
        {"SF": "single", "w SF train": "chain"},
        {"SF": 0.4992, "w SF train": 0.4795},
    ),
    Arm(
        "ARCF RankNet",
        {},
        {"ARCF RankNet": "chain", "w SF inf": "single", "w/o R3": "chain", "w/o R3, S2": "chain"},
        {"ARCF RankNet": 0.5815, "w SF inf": 0.5445, "w/o R3": 0.5811, "w/o R3, S2": 0.5095},
    ),
    Arm("ARCF bXENT", {"loss": "bxent"}, {"ARCF bXENT": "chain"}, {"ARCF bXENT": 0.5733}),
    Arm("ARCF NCE", {"loss": "nce"}, {"ARCF NCE": "chain"}, {"ARCF NCE": 0.5728}),
    Arm("ARCF+CN RankNet", {"noise": True}, {"ARCF+CN RankNet": "chain"}, {"ARCF+CN RankNet": 0.5810}),
    Arm("ARCF+CN NCE", {"noise": True, "loss": "nce"}, {"ARCF+CN NCE": "chain"}, {"ARCF+CN NCE": 0.5759}),
    Arm(
        "w/o prefix, neighb.",
        {"scheme": "single-fact", "negatives": "all"},
        {"w/o prefix, neighb.": "single"},
        {"w/o prefix, neighb.": 0.5285},
    ),
    # Ours, for scorers that know of facts without reading them.
    Arm("w/o power", {"power": 0.0}, {"w/o power": "chain"}),
    Arm("w/o similarity", {"similarity": 0.0}, {"w/o similarity": "chain"}),
    Arm("w/o shared pieces", {"shared_pieces": 0.0}, {"w/o shared pieces": "chain"}),
)

TEST_2019: Mapping[str, float] = {
    "tf-idf": 0.3870,
    "SF": 0.5574,
    "PR": 0.5313,
    "ENSEMBLE": 0.5625,
    "ARCF RankNet": 0.5707,
    "ARCF NCE": 0.5634,
    "ARCF+CN RankNet": 0.5575,
    "ARCF+CN NCE": 0.5691,
}
"""The paper's MAP on test 2019 (Table 2a, BERT-base); it has none on validation."""

VALIDATION: Mapping[str, float] = {
    "ARCF RankNet": 0.5931,
    "ARCF bXENT": 0.5871,
    "w SF train": 0.4921,
    "w SF inf": 0.5521,
    "w/o prefix, neighb.": 0.5391,
    "w/o R3": 0.5930,
    "w/o R3, S2": 0.5141,
}
"""The paper's MAP on validation 2020 (Table 2b), what a figure on dev compares with."""

PATHS, PATHS_PAPER = "PR", {"PR": 0.4629, "ENSEMBLE": 0.5081}


def markdown(result: Mapping[str, Any], *, file: str = "arcf") -> Iterator[str]:
    """Yield the lines of the page of tables."""
    figures, hardware = result["figures"], result["hardware"]
    made = f"python scripts/reproduce_arcf.py --table --name {file}"
    yield f"<!-- Made from {file}.json by `{made}`; do not edit. -->"
    yield from ("# ARCF", "")
    yield f"MAP on {figures['questions']:,} questions of {figures['source']}, k = {figures['k']}, base "
    config = figures["config"]
    yield f"{config['base']} ({config['tuning']}), prefix and fact read {config['reading']}; of an arm"
    yield f"{config['epochs']} epochs and {config['token_budget']:,} tokens at most; {_terms(config)}"
    if figures.get("left_out"):
        yield f"{figures['left_out']} questions were not learnt from, since trees explain them;"
    if figures.get("unscored"):
        told = "questions were learnt from whose explanations the shared task does not score;"
        yield f"{figures['unscored']} {told}"
    yield "mean ± standard deviation over seeds. When and where each was trained stands under Trainings; the"
    yield f"last run, at commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores, GPUs:"
    yield f"{', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    yield from _caveats(figures, str(result["command"]))
    yield "| algorithm | MAP | over tf-idf | s a question | the paper's (validation) | the paper's (test) |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    papers = {name: value for arm in ARMS for name, value in arm.paper.items()} | PATHS_PAPER
    test, validation = papers | {"tf-idf": 0.3743}, VALIDATION
    if figures["source"].startswith("Elem-"):
        test, validation = TEST_2019, {}

    def beside(name: str) -> str:
        return " | ".join(f"{some[name]:.4f}"[1:] if name in some else "" for some in (validation, test))

    yield f"| tf-idf | {figures['lexical']['MAP']:.4f} | | | {beside('tf-idf')} |"
    for name, runs in figures["rankings"].items():
        maps = [run["MAP"] for run in runs.values()]
        over = mean(maps) - figures["lexical"]["MAP"]
        took = [run["seconds_a_question"] for run in runs.values() if run.get("seconds_a_question")]
        seconds = f"{mean(took):.2f}" if took else "-"
        yield f"| {name} | {spread(maps, 4)} | {over:+.4f} | {seconds} | {beside(name)} |"
    yield from ("", "Trainings (Table 2c):", "", "| arm | seed | questions | steps | seconds | on | commit |")
    yield "| --- | ---: | ---: | ---: | ---: | --- | --- |"
    for arm, trainings in figures["trainings"].items():
        for seed, one in trainings.items():
            counts, run = one["counts"], one.get("run", {})
            place = ", ".join(run.get("gpus") or ()) or run.get("cpu", "-")
            yield (
                f"| {arm} | {seed} | {counts['questions']:,} | {counts['steps']:,} | "
                f"{one['fitted']['seconds']:,.0f} | {place} | `{(run.get('commit') or '-')[:7]}` |"
            )
    for kind in ("role", "level", "gold", "hops_overlap", "hops_visible"):
        yield from ("", f"By {kind.replace('_', ' ')} (Figure 2):", "")
        columns = {"tf-idf": [figures["lexical"]]}
        columns |= {
            name: list(runs.values())
            for name, runs in figures["rankings"].items()
            if name == "SF" or name.startswith("ARCF")
        }
        yield f"| {kind.replace('_', ' ')} | questions | " + " | ".join(columns) + " |"
        yield "| --- | ---: |" + " ---: |" * len(columns)
        for value, one in figures["lexical"][f"by_{kind}"].items():
            cells = [
                spread([run[f"by_{kind}"][value]["MAP"] for run in runs], 4) for runs in columns.values()
            ]
            yield f"| {value} | {one['questions']} | " + " | ".join(cells) + " |"
    if figures.get("reach"):
        yield from ("", "Share of gold facts reached by gold hops (Table 1):", "")
        yield from ("| k | reached |", "| ---: | ---: |")
        yield from (f"| {k} | {told['reached']:.4f} |" for k, told in figures["reach"].items())
    for over, rows in (figures.get("sweeps") or {}).items():
        yield from (
            "",
            f"Over {over} (Tables 2d, 2e):",
            "",
            f"| {over} | MAP | s a question |",
            "| ---: | ---: | ---: |",
        )
        for value, told in rows.items():
            seconds = told["seconds_a_question"]
            yield f"| {value} | {told['MAP']:.4f} | {f'{seconds:.2f}' if seconds else '-'} |"


def _caveats(figures: Mapping[str, Any], command: str) -> Iterator[str]:
    """Yield what a reader has to know of the table: the split, the cut, other methods, contrary results."""
    yield "These are dev questions: compare with the paper's validation, where it has one (of 2020,"
    yield "DistilRoBERTa, every weight). No weights were chosen on them, but settings of this and of the"
    yield "other pages were compared on dev of 2020, so that its figures are optimistic."
    words = command.split()
    if "--first" in words:
        first = int(words[words.index("--first") + 1])
        yield f"Rankings by single facts (SF, w SF inf) score only the first {first:,} facts by tf-idf; the"
        yield "paper scores all. Part of the distance from ARCF is this cut."
    config = figures["config"]
    if config.get("power") and config.get("reading") == "apart":
        yield "With explanatory power, shared words and candidates that are encoded apart, the scorer is"
        yield "closer to SCAR (Valentino et al. 2022: a sparse and a dense score with explanatory power at"
        yield "each step) than to ARCF as printed."
    maps = {name: mean(run["MAP"] for run in runs.values()) for name, runs in figures["rankings"].items()}
    lexical = figures["lexical"]["MAP"]
    contrary = []
    if maps.get("SF", lexical) < lexical:
        contrary.append(f"the trained single-fact scorer ranks below tf-idf ({maps['SF']:.4f})")
    chain, single = maps.get("ARCF RankNet"), maps.get("w SF inf")
    if chain is not None and single is not None and single > chain:
        contrary.append(f"the same scorer without chains ranks better ({single:.4f} against {chain:.4f})")
    if contrary:
        yield f"**Against the method**: {'; '.join(contrary)}."
    yield ""


def _terms(config: Mapping[str, Any]) -> str:
    names = {
        "shared_pieces": "shared word pieces",
        "power": "explanatory power",
        "similarity": "similarity of words",
    }
    known = [
        f"{told} (weight {config[name]:g} at the start)" for name, told in names.items() if config.get(name)
    ]
    return f"known of a fact without reading it: {', '.join(known) or 'nothing, as in the paper'};"
