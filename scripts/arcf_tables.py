"""Arms of the tables of `reproduce_arcf.py`, the paper's figures, and the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean
from typing import Any

from page_text import GPU_NOTE, spread, table, wide_paragraph

from entail.arcf.config import ArcfConfig


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

TEST_2020: Mapping[str, float] = {
    **{"tf-idf": 0.3743, "PR": 0.4629, "ENSEMBLE": 0.5081},
    **{name: value for arm in ARMS for name, value in arm.paper.items()},
}
"""The paper's MAP on test 2020 (Tables 2a, 2b)."""

PATHS = "PR"

SHOWN = {
    "PR": "pairs of facts by SF's scorer",
    "ENSEMBLE": "ENSEMBLE with these pairs",
    "ENSEMBLE with ARCF": "ENSEMBLE with these pairs and ARCF",
}
"""Row in a result file -> its name on the page, where the paper's name would promise more."""

PAGES = {
    "arcf_2019": (
        "losses, single facts, pairs and ensembles",
        "All methods on the paper's second task, one seed. "
        "All of these questions are also in the dev file of 2020, 177 of them scored there, so they are no "
        "unseen test of settings that were compared on it.",
    ),
    "arcf_apart": (
        "without a term, by k, by length of chains",
        "Cheap comparisons on a sample of dev; [arcf_dev](arcf_dev.md) has losses and ablations on all of "
        "dev, under the same settings.",
    ),
    "arcf_dev": (
        "losses and ablations",
        "Table 2 of the paper, and its ablations. [arcf_apart](arcf_apart.md) has k and the length of "
        "chains, under the same settings.",
    ),
    "arcf_joint": (
        "one cross-encoder over prefix and candidate",
        "The paper's reading, every weight trained. [arcf_joint_apart](arcf_joint_apart.md) has the other "
        "reading on the same questions. It differs in k, learning rate, trained weights, tokens and batches, "
        "too, so the two pages compare recipes, not readings alone.",
    ),
    "arcf_joint_apart": (
        "candidates encoded apart",
        "The reading that ships, without its other terms, beside the paper's reading on the same questions, "
        "[arcf_joint](arcf_joint.md). That differs in k, learning rate, trained weights, tokens and batches, "
        "too, so the two pages compare recipes, not readings alone.",
    ),
    "arcf_joint_terms": (
        "one cross-encoder over prefix and candidate, beside shared pieces, power and similarity",
        "The paper's reading, every weight trained, with the terms that the scorer that ships has, and three "
        "times the tokens of [arcf_joint](arcf_joint.md). As all its weights are trained, it is too large to "
        "ship.",
    ),
    "arcf_long": (
        "chains and single facts after equal training",
        "How much of the gain over single facts is due to chains: both arms learn from the same questions, "
        "under the same budget.",
    ),
    "arcf_scored": (
        "seeds that learn from scored questions alone",
        "The recipe of `arcf-minilm` without the questions that the shared task does not score, to show what "
        "these add: [arcf_wide](arcf_wide.md).",
    ),
    "arcf_wide": (
        "seeds of the recipe of arcf-minilm",
        "How much the figure of the scorer that ships, seed 0, depends on its seed.",
    ),
}
"""Page -> the end of its title, and why it exists."""

LABELS = {
    "tf-idf": "ranks by shared stemmed words; nothing is trained",
    "ARCF": "chains: chooses facts one after another, each given those before",
    "RankNet": "loss over pairs of a fact of the explanation and another",
    "bXENT": "binary cross-entropy of each fact",
    "NCE": "noise-contrastive loss: one fact of the explanation among many others",
    "CN": "conditional noise: from half of the epochs on, some chosen facts are wrong ones in training",
    "SF": "single facts: learns and ranks each fact on its own, by binary cross-entropy",
    "w SF train": "trained as SF, ranked by chains",
    "w SF inf": "trained as ARCF RankNet, ranked as SF, without chains",
    "w/o prefix, neighb.": "RankNet after the question alone, against any facts, ranked as SF",
    "w/o R3": "ARCF RankNet, facts that were never scored are left out of its ranking",
    "w/o R3, S2": "ARCF RankNet, its ranking holds the chosen facts alone",
    "w/o power": "ARCF RankNet without explanatory power",
    "w/o similarity": "ARCF RankNet without similarity of words",
    "w/o shared pieces": "ARCF RankNet without shared word pieces",
    "PR": "ranks a fact by its best chain of one or two; beside it stands the paper's path-rerank (PR), "
    "which trains a scorer for this",
    "ENSEMBLE": "reciprocal ranks of SF and these pairs added; the paper's has its PR",
    "ENSEMBLE with ARCF": "reciprocal ranks of ARCF RankNet added, too",
    "k": "visible neighbours: facts nearest to the question or to a chosen fact, by tf-idf",
    "L": "most facts of a chain",
    "gold": "number of facts in the explanation",
    "role": "part of a fact in the explanation, as annotated",
    "hops visible": "steps from the question to a fact of the explanation, over its other facts, each among "
    "the k nearest of the one before; infinity: never reached",
    "hops overlap": "the same, each sharing a stemmed word with the one before",
}


def markdown(result: Mapping[str, Any], *, file: str = "arcf") -> Iterator[str]:
    """Yield the lines of the page of tables."""
    figures, command = result["figures"], str(result["command"])
    topic, why = PAGES.get(file, (file, ""))
    is_2019 = figures["source"].startswith("Elem-")
    yield (
        f"<!-- Made from {file}.json by `python scripts/reproduce_arcf.py --table --name {file}`; "
        "do not edit. -->"
    )
    yield f"# ARCF, {figures['questions']:,} dev questions of {2019 if is_2019 else 2020}: {topic}"
    for part in (
        why,
        _setting(figures),
        _caveats(figures, command, is_2019=is_2019),
        _contrary(figures),
        _last_run(result, file),
    ):
        yield from ("", *wide_paragraph(part)) if part else ()
    yield from ("", f"    {command}", "")
    test, validation = (TEST_2019, {}) if is_2019 else (TEST_2020, VALIDATION)
    yield from table(
        ("algorithm", "MAP", "over tf-idf", "s a question", "the paper's (validation)", "the paper's (test)"),
        _rankings(figures, validation, test),
    )
    yield ""
    yield from (
        f"- **{SHOWN.get(name, name)}**: {label}" for name, label in LABELS.items() if name in _used(figures)
    )
    yield from ("", "Trainings (Table 2c):", "")
    yield from table(("arm", "seed", "questions", "steps", "seconds", "on", "commit"), _trainings(figures))
    yield from _origins(figures)
    columns = {"tf-idf": [figures["lexical"]]} | {
        name: list(runs.values())
        for name, runs in figures["rankings"].items()
        if name == "SF" or name.startswith("ARCF")
    }
    for kind in ("role", "level", "gold", "hops_overlap", "hops_visible"):
        words, by = kind.replace("_", " "), f"by_{kind}"
        yield from ("", f"By {words} (Figure 2):", "")
        yield from table(
            (words, "questions", *columns),
            (
                (
                    *(value, str(group["questions"])),
                    *(spread([run[by][value]["MAP"] for run in runs], 4) for runs in columns.values()),
                )
                for value, group in figures["lexical"][by].items()
            ),
        )
    if figures.get("reach"):
        yield from ("", "Share of gold facts reached by gold hops (Table 1):", "")
        rows = ((k, f"{reach['reached']:.4f}") for k, reach in figures["reach"].items())
        yield from table(("k", "reached"), rows, words=0)
    for over, sweep in (figures.get("sweeps") or {}).items():
        yield from ("", f"Over {over} (Tables 2d, 2e):", "")
        yield from table(
            (over, "MAP", "s a question"),
            ((value, f"{run['MAP']:.4f}", _seconds([run])) for value, run in sweep.items()),
            words=0,
        )


def _setting(figures: Mapping[str, Any]) -> str:
    config = figures["config"]
    terms = {
        "shared_pieces": "shared word pieces",
        "power": "explanatory power",
        "similarity": "similarity of words",
    }
    priors = [
        f"{term} (weight {config[name]:g} at the start)" for name, term in terms.items() if config.get(name)
    ]
    reading = {"joint": "together, by one cross-encoder", "apart": "apart"}[config["reading"]]
    rate = config["learning_rate"] or ArcfConfig.RATES[config["tuning"]]
    parts = [
        f"MAP on {figures['questions']:,} questions of {figures['source']}, k = {figures['k']}; mean ±",
        "standard deviation over seeds. Training:",
        f"base {config['base']} ({config['tuning']}), learning rate {rate:g}, k = {config['k']},",
        f"{config['epochs']} epochs and {config['token_budget']:,} tokens an arm at most.",
        f"Prefix and fact are read {reading}. Known of a fact without reading it:",
        f"{', '.join(priors) or 'nothing, as in the paper'}.",
    ]
    if figures["left_out"]:
        parts.append(f"{figures['left_out']} questions that trees explain are left out of training.")
    if figures.get("unscored"):
        parts.append(f"{figures['unscored']} training questions are not scored by the shared task.")
    return " ".join(parts)


def _caveats(figures: Mapping[str, Any], command: str, *, is_2019: bool) -> str:
    """Return what a reader has to know of the table: the split, selection on it, the cut, other methods."""
    config, first = figures["config"], _option(command, "--first")
    parts = [
        "These are dev questions. The paper has no figures on validation for 2019; its test is another set."
        if is_2019
        else "These are dev questions: compare with the paper's validation, where it has one (DistilRoBERTa, "
        "every weight; the best of five seeds by validation).",
        "Settings of this and of the other pages were compared on dev of 2020,",
        "so figures are optimistic. Seconds a question are of the machines under Trainings, some",
        "of them busy: they do not compare rows.",
        _selection(figures, is_all=_option(command, "--sample") == "0"),
    ]
    if first:
        parts += [
            f"Rankings by single facts (SF, w SF inf) score only the first {int(first):,} facts by tf-idf.",
            "The paper scores all, so part of the distance from ARCF is this cut.",
        ]
    if config.get("power") and config["reading"] == "apart":
        parts += [
            "With explanatory power, shared words and candidates that are encoded apart, the scorer is",
            "closer to SCAR (Valentino et al. 2022: a sparse and a dense score with explanatory power at",
            "each step) than to ARCF as printed.",
        ]
    return " ".join(parts)


def _selection(figures: Mapping[str, Any], *, is_all: bool) -> str:
    """Return which weights the trainings keep; `is_all`: whether the page measures all dev questions."""
    runs = [(f"{arm} seed {seed}", training) for arm, seed, training in _each(figures["trainings"])]
    best = [name for name, training in runs if training["fitted"].get("best")]
    if not best:
        return "No weights were chosen on dev: each training keeps its last."
    partial = len(best) < len(runs)
    which = f"{', '.join(best)} keeps" if partial else "Each training keeps"
    scope = "of these questions" if is_all else "other questions of the same dev file"
    on = f"{figures['config']['dev_questions']} {scope}"
    rest = "; the others keep their last weights" if partial else ""
    return f"{which} the epoch that ranks single steps best on {on}{rest}."


def _contrary(figures: Mapping[str, Any]) -> str:
    """Return the results that go against the method."""
    maps = {name: mean(run["MAP"] for run in runs.values()) for name, runs in figures["rankings"].items()}
    maps["tf-idf"] = figures["lexical"]["MAP"]
    pairs = (("SF", "tf-idf"), *(("ARCF RankNet", other) for other in ("tf-idf", "SF", "w SF inf")))
    reversals = [
        f"{method} ranks below {other} ({maps[method]:.4f} against {maps[other]:.4f})"
        for method, other in pairs
        if method in maps and other in maps and maps[method] < maps[other]
    ]
    return f"**Against the method**: {'; '.join(reversals)}." if reversals else ""


def _last_run(result: Mapping[str, Any], file: str) -> str:
    hardware, name = result["hardware"], _option(str(result["command"]), "--name") or file
    renamed = "" if name == file else f" It wrote {name}.json, which is {file}.json today."
    note = f" {GPU_NOTE}" if hardware["gpus"] else ""
    return (
        f"The last run, at commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores, GPUs: "
        f"{', '.join(hardware['gpus']) or 'none'}; earlier ones stand under Trainings.{renamed}{note}"
    )


def _rankings(
    figures: Mapping[str, Any], validation: Mapping[str, float], test: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    lexical = figures["lexical"]["MAP"]
    for name, runs in {"tf-idf": {}, **figures["rankings"]}.items():
        maps = [run["MAP"] for run in runs.values()]
        own = (spread(maps, 4), f"{mean(maps) - lexical:+.4f}", _seconds(runs.values())) if maps else None
        paper = (f"{column[name]:.4f}"[1:] if name in column else "" for column in (validation, test))
        yield (SHOWN.get(name, name), *(own or (f"{lexical:.4f}", "", "")), *paper)


def _trainings(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for arm, seed, training in _each(figures["trainings"]):
        counts, run, seconds = training["counts"], training.get("run", {}), training["fitted"].get("seconds")
        yield (
            *(arm, seed, f"{counts['questions']:,}", f"{counts['steps']:,}"),
            f"{seconds:,.0f}" if seconds else "-",
            ", ".join(run.get("gpus") or ()) or run.get("cpu", "-"),
            f"`{run['commit'][:7]}`" if run.get("commit") else "-",
        )


def _origins(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the trainings come from that have no record of their run."""
    runs = list(_each(figures["trainings"]))
    notes = [
        f"{arm} seed {seed}: {training['origin']}." for arm, seed, training in runs if training.get("origin")
    ]
    if missing := sum(not training.get("run", {}).get("commit") for _, _, training in runs):
        notes.insert(
            0,
            f"Without a commit: {missing} of {len(runs)} trainings. None was recorded when they ran; the "
            "commit and the command above are not theirs.",
        )
    if notes:
        yield from ("", *wide_paragraph(" ".join(notes)))


def _used(figures: Mapping[str, Any]) -> set[str]:
    """Return the labels on the page, with the parts of names: ARCF, CN and NCE of ARCF+CN NCE."""
    rows = figures["rankings"]
    used = {"tf-idf", "k", "gold", "role", "hops visible", "hops overlap", *rows}
    return used | set(figures.get("sweeps") or ()) | {part for row in rows for part in re.split("[ +]", row)}


def _each(by_seed: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield arm, seed and record, in order of the seeds."""
    yield from ((arm, seed, runs[seed]) for arm, runs in by_seed.items() for seed in sorted(runs, key=int))


def _seconds(runs: Iterable[Mapping[str, Any]]) -> str:
    took = [run["seconds_a_question"] for run in runs if run.get("seconds_a_question")]
    return f"{mean(took):.2f}" if took else "-"


def _option(command: str, name: str) -> str | None:
    """Return the value of an option of a command, the last where there are several."""
    values = [value for word, value in pairwise(shlex.split(command)) if word == name]
    return values[-1] if values else None
