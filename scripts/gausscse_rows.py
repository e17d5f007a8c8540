"""Rows of the tables of `reproduce_gausscse.py`: what each trains, and the legend of a page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from page_text import paragraph

from entail.gausscse.config import GausscseConfig, Sets
from entail.tuning.config import DprConfig


@dataclass(frozen=True)
class Row:
    """One row of the tables; settings of dense passage retrieval are those of supervised SimCSE.

    Attributes:
        infer: Whether contradictions are inferred (`nli_triplets`).
        taught_by: Rows whose seeds in the work folder are the teachers.
        teachers: How many there have to be.
    """

    name: str
    config: GausscseConfig | DprConfig
    infer: bool = False
    taught_by: tuple[str, ...] = ()
    teachers: int = 0


OURS = GausscseConfig(batch_size=64, learning_rate=3e-4)
"""The best cell of the grid of Table 5 here, which all rows use, as in the paper."""

RANKED = replace(OURS, ranking=1.0)
MAIN: tuple[Sets, ...] = ("ent", "ent+con", "ent+rev", "ent+con+rev")
"""Losses of Tables 1 to 4."""

KL_SPREADS, KL_TEMPERATURES = (0.03, 0.1, 0.3), (5e-4, 5e-3)
"""Grid of `kl` (equation 2): means of length sqrt(d) give similarities near 0 and a nearly flat softmax."""

OWN = "ent+con+rev, ranked, directed, longer twice"
_OWN = replace(RANKED, direction=2.0, longer=2.0)
INFERRED = f"{OWN}, inferred contradictions"
SHIPPED = f"{INFERRED}, labels and five teachers"
TAUGHT_BY_BOTH = f"{INFERRED}, labels and eight teachers"
SHIPPED_BEFORE = (OWN, "0")
"""Row and seed."""

SIMCSE = "SimCSE"
MEAN = "mean of the seeds as one encoder"
ROWS = (
    Row(SIMCSE, DprConfig(learning_rate=5e-4, batch_size=32, words=0, max_length=64, epochs=3)),
    Row("ent", replace(OURS, sets="ent")),
    Row("ent+con", replace(OURS, sets="ent+con")),
    Row("ent+rev", replace(OURS, sets="ent+rev")),
    Row("ent+con+rev", OURS),
    Row("ent+con, ranked", replace(RANKED, sets="ent+con")),
    Row("ent+con+rev, ranked", RANKED),
    Row("ent+con+rev, ranked, longer twice", replace(RANKED, longer=2.0)),
    Row(OWN, _OWN),
    Row(INFERRED, _OWN, infer=True),
    Row(SHIPPED, _OWN, infer=True, taught_by=(INFERRED,), teachers=5),
    Row(TAUGHT_BY_BOTH, _OWN, infer=True, taught_by=(OWN, INFERRED), teachers=8),
    Row(f"{OWN}, reversed by premise", replace(_OWN, reversal="by_premise")),
    Row("ent+con+rev, ranked, directed more, longer twice", replace(RANKED, direction=5.0, longer=2.0)),
    Row("kl", replace(OURS, similarity="kl")),
    *(Row(f"kl, spread {s:g}", replace(OURS, similarity="kl", spread=s)) for s in KL_SPREADS),
    *(Row(f"kl, temperature {t:g}", replace(OURS, similarity="kl", temperature=t)) for t in KL_TEMPERATURES),
    Row("kl_per_dim", replace(OURS, similarity="kl_per_dim", tanh=True)),
    Row("reversed by premise", replace(OURS, reversal="by_premise")),
    Row("[CLS]", replace(OURS, pooling="cls")),
    Row("rate rises to the end", replace(OURS, rate="rising")),
    Row("every weight", replace(OURS, tuning="full")),
)

COMPARED = (
    *((taught, other) for taught in (TAUGHT_BY_BOTH, SHIPPED) for other in (OWN, INFERRED)),
    *itertools.combinations((OWN, *reversed(MAIN), SIMCSE), 2),
)
"""Rows whose answers are compared, set by set and seed by seed."""

TERMS: Mapping[str, str] = {
    SIMCSE: "points instead of Gaussians, by supervised SimCSE on the same triplets",
    "ent": "a premise is more similar to what it entails than to the other hypotheses of its batch",
    "con": "and than to contradictions of the batch",
    "rev": "and than reversed pairs: sim(e || p) above sim(p || e)",
    "ranked": "a further term: entailment above neutral, contradictory and reversed pairs (`ranking` 1)",
    "directed": "a further term: sim(e || p) above sim(p || e), pair by pair (`direction` 2)",
    "directed more": "the same with weight 5",
    "longer twice": "pairs whose entailed sentence is the longer one count twice (`longer` 2)",
    "inferred contradictions": "premises that contradict what a premise entails, where it has none",
    "teachers": "half of the loss is that of labels, half learns the similarities of trained seeds in turn",
    "reversed by premise": "`rev` with s(p_i, e_j); else s(p_j, e_i), as in the paper's code",
    "kl": "similarity 1 / (1 + KL), equation 2 of the paper; other rows have 1 / (1 + KL / d)",
    "kl_per_dim": "mean of 1 / (1 + KL) over dimensions, means through tanh, as in the paper's code",
    "spread": "initial length of means as a share of sqrt(d), else 1",
    "temperature": "of the softmax, else .05",
    "[CLS]": "pooling by the first token, else the mean of all",
    "rate rises to the end": "linear learning rate, as in the paper; else warm-up and linear decay",
    "every weight": "no adapter: all weights are trained",
    MEAN: "the adapters of all seeds averaged",
}
"""Meaning of the words in names of rows, for the legend of a page."""


def row_ids(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return a letter for each row of the page."""
    return {
        name: ascii_uppercase[at % 26] * (1 + at // 26) for at, name in enumerate(figures["rows"], start=0)
    }


def row_labels(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return what rows are called: a letter, then their name, told from the row that it continues."""
    ids = row_ids(figures)
    labels = {}
    for name, letter in ids.items():
        start = max((prefix for prefix in ids if name.startswith(f"{prefix}, ")), key=len, default="")
        labels[name] = f"{letter}: {ids[start]}{name[len(start) :]}" if start else f"{letter}: {name}"
    return labels


def with_seed(label: str, seed: str) -> str:
    """Return what a run is called."""
    return label if seed == "mean" else f"{label}, seed {seed}"


def legend(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the letters and words of rows mean, and what cannot be compared."""
    if not figures["rows"]:
        return
    yield from ("Rows of this page; a letter before a comma is the row that it continues:", "")
    yield from (f"- {label}" for label in row_labels(figures).values())
    yield from ("", "Words in their names:", "")
    yield from (
        f"- {term}: {words}" for term, words in TERMS.items() if any(term in row for row in figures["rows"])
    )
    yield from ("", *paragraph(" ".join(caveats(figures))), "")


def caveats(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what has one seed, ships, is not tuned, or differs between pages."""
    ids, rows = row_ids(figures), figures["rows"]
    seeds = {name: sum(seed.isdecimal() for seed in runs) for name, runs in rows.items()}
    single = [ids[name] for name, count in seeds.items() if count == 1]
    if single:
        yield f"Rows of one seed: {', '.join(single)}; their spread was not measured."
    if seeds.get(SHIPPED) == 1:
        yield f"{ids[SHIPPED]} ships as `gausscse-minilm`: one seed; its spread was not measured."
        if SHIPPED_BEFORE[0] in rows:
            yield f"Before it {with_seed(ids[SHIPPED_BEFORE[0]], SHIPPED_BEFORE[1])} did."
        yield (
            "The paper's rows, by five seeds, three epochs and the best cell of Table 5: "
            "[gausscse_three_epochs.md](gausscse_three_epochs.md)."
        )
    fitted = sorted({f"{baseline['cosine']['threshold']:.4f}" for baseline in figures["baselines"].values()})
    yield (
        f"The threshold of the base's cosine was fitted on dev ({' or '.join(fitted)}). Where several "
        "tie there rounding chooses, so its accuracy on the other sets differs between pages."
    )
