"""Adapter of the check of steps: a judge that goes on from another one over steps of trees, and its weights.

Four fifths of the training trees teach the judge, the others fit the logistic model over words and judge. A
judge learns that a step holds whole, shuffled, and with a premise replaced by those below it. It learns that
a step does not hold without a premise, with one exchanged for a near one (by MiniLM or BM25; near the
conclusion or a premise), or with one off the topic added: the check looks for the best subset itself.

Models that can be measured are checks, judges, and the rule `cover`: the share of the conclusion's stems that
its premises have.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import fold
from entail.data.writing import write_text
from entail.index.factory import retriever
from entail.judge.judges import NliJudge, join_premises
from entail.judge.method import JUDGE
from entail.judge.steps import (
    FEATURES,
    StepForm,
    StepVerifier,
    candidate_subsets,
    list_verifiers,
    step_features,
    word_features,
)
from entail.judge.training import train_judge
from entail.training.method import Run
from lab.adapters import Measures, Values, Work
from lab.data import DataFolder

NEAR = 30
"""Neighbours of a text among which an exchanged premise is sought."""

Premises = tuple[str, ...]


@dataclass(frozen=True)
class WholeStep:
    """Step of a tree: premises, conclusion, and the premises with each intermediate one expanded."""

    premises: Premises
    conclusion: str
    expanded: tuple[Premises, ...]


class Neighbours:
    """Nearest premises of a corpus to texts, by MiniLM and by BM25."""

    def __init__(self, corpus: Corpus, steps: Sequence[WholeStep]) -> None:
        texts = sorted({text for step in steps for text in (*step.premises, step.conclusion)})
        self._corpus = corpus
        self._near = {
            name: dict(zip(texts, retriever(name, corpus).search(texts, k=NEAR).positions, strict=True))
            for name in ("minilm", "bm25")
        }

    def of(self, text: str, by: str, *, outside: Sequence[str]) -> list[str]:
        """Return the nearest premises that are none of `outside`."""
        texts = (fold(self._corpus.texts[at]) for at in self._near[by][text] if at >= 0)
        return [near for near in texts if near not in outside]

    @cached_property
    def pool(self) -> list[str]:
        """All premises of the corpus."""
        return [fold(text) for text in self._corpus.texts]


def train(work: Work) -> None:
    """Train the judge and fit the weights; `extra` has `draws`, times that every step is spoilt."""
    trees = work.data.trees(work.sets["train"])
    fitting = set(random.Random(7).sample(range(len(trees)), len(trees) // 5))
    steps = distinct_steps([tree for at, tree in enumerate(trees) if at not in fitting])
    rest = distinct_steps([tree for at, tree in enumerate(trees) if at in fitting])
    near = Neighbours(work.data.corpus(work.sets["corpus"]), [*steps, *rest])
    draw = random.Random(work.seed)
    pairs = [
        NliPair(join_premises(premises), step.conclusion, "entailment" if holds else "neutral")
        for _ in range(int(work.extra.get("draws", 2)))
        for step in steps
        for premises, holds in spoil(step, near, draw)
    ]
    train_judge(pairs, work.config(JUDGE), run=Run(data=["entailment_bank"], out=work.out))
    form = fit_weights(NliJudge(work.out), test_rows(rest, near, seed=work.seed))
    path = work.out / "entail.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    write_text(path, json.dumps({**record, "steps": form.to_json()}, indent=2) + "\n")


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure how well whole steps are told from spoilt ones: AUROC, and what the states are worth."""
    steps = distinct_steps(data.trees(sets["trees"]))
    rows = test_rows(steps, Neighbours(data.corpus(sets["corpus"]), steps), seed=0)
    values = {kind: _values(model, [(p, c) for p, c in pairs]) for kind, pairs in rows.items()}
    count = np.array([len(step.premises) for step in steps])
    longer = count >= 3
    measures = {
        f"AUROC, {kind}": _above(values["whole"], values[kind])
        for kind in ("dropped", "exchanged", "exchanged by BM25")
    }
    measures["AUROC, dropped from 3"] = _above(values["whole"][longer], values["dropped"][longer])
    change = np.median(values["off the topic"]) - np.median(values["whole"])
    measures["change of the median, off the topic"] = np.array([change]), np.ones(1)
    holds = {kind: (own >= 0.9).astype(np.float64) for kind, own in values.items()}
    measures["whole that hold"] = holds["whole"], np.ones(len(steps))
    spoilt = np.concatenate([holds[kind] for kind in ("dropped", "exchanged", "exchanged by BM25")])
    measures["spoilt that hold"] = spoilt, np.ones(len(spoilt))
    return measures


def distinct_steps(trees: Sequence[ExplanationTree]) -> list[WholeStep]:
    """Return each distinct step of two premises or more."""
    steps: dict[tuple[Premises, str], WholeStep] = {}
    for tree in trees:
        below = {step.conclusion: step.premises for step in tree.steps}
        for step in tree.steps:
            if len(step.premises) < 2:
                continue
            premises = tuple(fold(tree.text(id)) for id in step.premises)
            expanded = [
                tuple(
                    fold(tree.text(id))
                    for other in step.premises
                    for id in (below[other] if other == inner else (other,))
                )
                for inner in step.premises
                if inner in below
            ]
            conclusion = fold(tree.text(step.conclusion))
            steps.setdefault((premises, conclusion), WholeStep(premises, conclusion, tuple(expanded)))
    return list(steps.values())


def spoil(step: WholeStep, near: Neighbours, draw: random.Random) -> list[tuple[Premises, bool]]:
    """Return a step whole and spoilt in drawn ways, and whether each holds."""
    premises, conclusion = list(step.premises), step.conclusion
    rows = [(_shuffled(premises, draw), True)]
    rows += [(_shuffled(list(expanded), draw), True) for expanded in step.expanded[:1]]
    size = draw.randrange(1, len(premises)) if draw.random() < 0.3 else len(premises) - 1
    rows.append((tuple(draw.sample(premises, size)), False))
    ways = [(by, to) for by in ("minilm", "bm25") for to in ("conclusion", "premise")]
    for by, to in draw.sample(ways, 3):
        at = draw.randrange(len(premises))
        text = conclusion if to == "conclusion" else draw.choice(premises)
        candidates = near.of(text, by, outside=(*premises, conclusion))[:6]
        if candidates:
            other = candidates[0] if draw.random() < 0.5 else draw.choice(candidates)
            rows.append((_shuffled([*premises[:at], other, *premises[at + 1 :]], draw), False))
    rows.append((_shuffled([*premises, draw.choice(near.pool)], draw), False))
    return rows


def test_rows(
    steps: Sequence[WholeStep], near: Neighbours, *, seed: int
) -> dict[str, list[tuple[Premises, str]]]:
    """Return every step whole, without a drawn premise, with it exchanged, and with one off the topic.

    It is exchanged for the nearest premise to the conclusion by MiniLM, or to itself by BM25.
    """
    draw = random.Random(seed)
    rows: dict[str, list[tuple[Premises, str]]] = {
        kind: [] for kind in ("whole", "dropped", "exchanged", "exchanged by BM25", "off the topic")
    }
    for step in steps:
        premises, conclusion = step.premises, step.conclusion
        at = draw.randrange(len(premises))
        outside = (*premises, conclusion)
        before, after = premises[:at], premises[at + 1 :]
        rows["whole"].append((premises, conclusion))
        rows["dropped"].append((before + after, conclusion))
        for kind, text, by in (
            ("exchanged", conclusion, "minilm"),
            ("exchanged by BM25", premises[at], "bm25"),
        ):
            nearest = near.of(text, by, outside=outside)[0]
            rows[kind].append(((*before, nearest, *after), conclusion))
        rows["off the topic"].append(((*premises, draw.choice(near.pool)), conclusion))
    return rows


def fit_weights(judge: NliJudge, rows: Mapping[str, Sequence[tuple[Premises, str]]]) -> StepForm:
    """Fit the logistic model, whole steps weighing as much as all spoilt ones.

    It is calibrated on the best subset of each step, as it is used.
    """
    from sklearn.linear_model import LogisticRegression

    kinds = ("whole", "dropped", "exchanged", "exchanged by BM25")
    steps = [row for kind in kinds for row in rows[kind]]
    holds = np.repeat([True, False], [len(rows["whole"]), len(steps) - len(rows["whole"])])
    candidates = [[([p[i] for i in subset], c) for subset in candidate_subsets(p, c)] for p, c in steps]
    features = step_features(judge, [row for subsets in candidates for row in subsets])
    starts = np.cumsum([0, *(len(subsets) for subsets in candidates[:-1])])
    ends = [*starts[1:], len(features)]
    scale = features[starts].std(axis=0) + 1e-9
    share = np.where(holds, 1.0, holds.sum() / (~holds).sum())
    model = LogisticRegression(max_iter=3000).fit(features[starts] / scale, holds, sample_weight=share)
    weights = model.coef_[0] / scale
    best = np.array([(features[a:b] @ weights).max() for a, b in zip(starts, ends, strict=True)])
    curve = LogisticRegression(C=1e6).fit(best[:, None], holds, sample_weight=share)
    slope, bias = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    names = (*FEATURES, "judge")
    return StepForm(weights={n: float(w * slope) for n, w in zip(names, weights, strict=True)}, bias=bias)


def _values(model: str, steps: Sequence[tuple[Premises, str]]) -> Values:
    if model == "cover":
        return np.array([word_features(premises, conclusion)[0] for premises, conclusion in steps])
    if Path(model).name in list_verifiers() or (Path(model) / "entail.json").is_file():
        return np.array([verdict.probability for verdict in StepVerifier(model).check(steps)])
    return NliJudge(model).entailment([join_premises(p) for p, _ in steps], [c for _, c in steps])


def _above(right: Values, wrong: Values) -> tuple[Values, Values]:
    """Return for each right value the share of wrong ones below it, a tie one half: AUROC is their mean."""
    ordered = np.sort(wrong)
    below, upto = np.searchsorted(ordered, right, "left"), np.searchsorted(ordered, right, "right")
    return (below + upto) / 2 / len(wrong), np.ones(len(right))


def _shuffled(premises: list[str], draw: random.Random) -> Premises:
    return tuple(draw.sample(premises, len(premises)))
