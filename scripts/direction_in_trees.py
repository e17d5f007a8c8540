"""Measure what directions of entailment are worth in trees; write figures and a page to docs/results/.

::

    python scripts/direction_in_trees.py --corpus premises.txt.gz --trees dev.jsonl.gz
    python scripts/direction_in_trees.py ... --encoder models/mine --k 10 50
    python scripts/direction_in_trees.py --table   # only the page, from the figures that are there

Two questions. Does an encoder of Gaussians tell gold premises from the hardest negatives better than a
cosine does? Does it tell a step from its reverse: the premises, joined, entail the conclusion?
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from page_text import table, wide_paragraph

from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import fold
from entail.encoders.gaussian.distributions import Gaussians, similarity
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EntailError, EvaluationError
from entail.evaluation.nli.direction import evaluate_direction
from entail.gausscse.calibration import logits
from entail.gausscse.directions import join_premises
from entail.gausscse.verdict import judge
from entail.index.factory import retriever
from entail.index.gaussian import GaussianRows
from entail.index.protocol import PremiseIndex
from entail.index.vectors import QueryVectors
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.statistics.classification import Booleans, Values, auprc, mcnemar
from entail.statistics.ranking import resamples
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NAME = "gausscse_trees"


GAUSSIAN, MARGIN, MEANS = "Gaussian similarity", "margin", "cosine of the means"
"""Scores of a premise by a Gaussian encoder: sim(sentence || premise), margin, cosine of the means."""

BATCH = 32
"""Samples of a bootstrap per batch."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of sentences and their gold premises or hardest negatives: arrays of shape (pairs,)."""

    sentences: tuple[str, ...]
    queries: Ints
    positions: Ints
    gold: Booleans

    def __len__(self) -> int:
        return len(self.queries)


def hardest_pairs(
    corpus: Corpus,
    trees: Iterable[ExplanationTree],
    index: PremiseIndex,
    *,
    k: int,
    progress: ProgressCallback | None = None,
) -> Pairs:
    """Return every sentence of the trees with its gold premises and the k nearest others of the corpus.

    Sentences without a gold premise in the corpus are left out; a sentence is no negative of its own.
    """
    known = {
        parent: {place for child in children if (place := corpus.position(child)) is not None}
        for parent, children in gold_children(trees).items()
    }
    known = {parent: places for parent, places in known.items() if places}
    if not known or k < 1:
        raise EvaluationError(
            f"expected gold premises that are in {corpus.name!r} and at least 1 negative each, found "
            f"{len(known)} sentences with some and k = {k}"
        )
    sentences = tuple(known)
    most = max(len(places) for places in known.values())
    hits = index.search(sentences, k=min(k + most + 1, len(corpus)))
    queries: list[int] = []
    positions: list[int] = []
    gold: list[bool] = []
    for query, (sentence, places) in enumerate(known.items()):
        own = corpus.position(sentence)
        others = [p for p in hits.positions[query].tolist() if p not in places and p != own][:k]
        positions += [*sorted(places), *others]
        gold += [True] * len(places) + [False] * len(others)
        queries += [query] * (len(places) + len(others))
    return Pairs(sentences, np.array(queries), np.array(positions), np.array(gold))


@dataclass(frozen=True, eq=False)
class Separation:
    """Separation of gold premises from hardest negatives by the scores of several measures."""

    pairs: Pairs
    scores: Mapping[str, Values]

    @cached_property
    def auprc(self) -> Mapping[str, float]:
        """Measure -> area under precision over recall, over all pairs together."""
        return {name: float(auprc(values, self.pairs.gold) or 0) for name, values in self.scores.items()}

    def differences(
        self, first: str, *, samples: int = 1000, seed: int = 0, level: float = 0.95
    ) -> dict[str, tuple[float, float]]:
        """Return measure -> interval of its AUPRC less that of the first: a bootstrap over sentences."""
        found: dict[str, list[Values]] = {name: [] for name in self.scores}
        ranked = {name: self._ranked(values) for name, values in self.scores.items()}
        for counts in resamples(len(self.pairs.sentences), samples=samples, seed=seed):
            for start in range(0, len(counts), BATCH):
                for name, (order, ends) in ranked.items():
                    found[name].append(self._areas(counts[start : start + BATCH], order, ends))
        areas = {name: np.concatenate(parts) for name, parts in found.items()}
        edges = [(1 - level) / 2, (1 + level) / 2]
        intervals = {
            name: np.quantile(values - areas[first], edges).tolist()
            for name, values in areas.items()
            if name != first
        }
        return {name: (low, high) for name, (low, high) in intervals.items()}

    def _ranked(self, values: Values) -> tuple[Ints, Ints]:
        """Return the pairs by falling score, and where in that order groups of equal scores end."""
        order = np.argsort(-values, kind="stable")
        return order, np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)

    def _areas(self, counts: Values, order: Ints, ends: Ints) -> Values:
        """Return the AUPRC of samples in which sentences are drawn so often, shape (samples,)."""
        weights = counts[:, self.pairs.queries[order]]  # (samples, pairs)
        called = weights.cumsum(axis=1)[:, ends]
        hits = (weights * self.pairs.gold[order]).cumsum(axis=1)[:, ends]
        precision = np.divide(hits, called, out=np.zeros_like(hits), where=called > 0)
        areas: Values = (np.diff(hits, axis=1, prepend=0) * precision).sum(axis=1) / hits[:, -1]
        return areas

    def to_json(self, *, first: str) -> dict[str, Any]:
        """Return the figures, of JSON's types: every measure beside the first."""
        pairs = self.pairs
        return {
            "sentences": len(pairs.sentences),
            "pairs": len(pairs),
            "gold": int(pairs.gold.sum()),
            "chance": float(pairs.gold.mean()),
            "auprc": dict(self.auprc),
            "difference": {name: list(ends) for name, ends in self.differences(first).items()},
        }


def separation(
    corpus: Corpus,
    pairs: Pairs,
    encoder: GaussianEncoder,
    beside: Mapping[str, PremiseIndex],
    *,
    known: QueryVectors | None = None,
    progress: ProgressCallback | None = None,
) -> Separation:
    """Score pairs by an encoder of Gaussians and by other retrievers of the corpus.

    The first of `beside` is also added to the Gaussian similarity, both in standard deviations.
    """
    scores: dict[str, Values] = {}
    for name, index in beside.items():
        scores[name] = np.empty(len(pairs))
        for query, sentence in enumerate(pairs.sentences):
            rows = pairs.queries == query
            scores[name][rows] = index.scores([sentence])[0, pairs.positions[rows]]
    places, columns = np.unique(pairs.positions, return_inverse=True)
    known = QueryVectors(GaussianRows(encoder)) if known is None else known
    texts = [corpus.texts[place] for place in places]
    premises = Gaussians.of(known.encode(texts, progress=progress))[columns]
    sentences = Gaussians.of(known.encode(pairs.sentences, progress=progress))[pairs.queries]
    forward = similarity(sentences, premises, kind=encoder.kind)
    backward = similarity(premises, sentences, kind=encoder.kind)
    lengths = np.linalg.norm(sentences.mean, axis=1) * np.linalg.norm(premises.mean, axis=1)
    inner = np.einsum("ij,ij->i", sentences.mean, premises.mean, dtype=np.float64)
    first = next(iter(beside))
    scores |= {
        GAUSSIAN: forward,
        MARGIN: logits(forward) - logits(backward),
        MEANS: inner / np.maximum(lengths, 1e-12),
        f"{first} and {GAUSSIAN}": _standard(scores[first]) + _standard(logits(forward)),
    }
    return Separation(pairs, scores)


def step_pairs(trees: Iterable[ExplanationTree]) -> list[NliPair]:
    """Return each distinct step as an entailment pair of its joined premises and its conclusion."""
    found = {
        (
            join_premises([tree.text(premise) for premise in step.premises]),
            fold(tree.text(step.conclusion)),
        ): None
        for tree in trees
        for step in tree.steps
    }
    if not found:
        raise EvaluationError("expected trees with steps, found none")
    return [NliPair(premises, conclusion, "entailment") for premises, conclusion in found]


def _standard(values: Values) -> Values:
    found: Values = (values - values.mean()) / (float(values.std()) or 1.0)
    return found


def measure(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    encoder: GaussianEncoder,
    names: Sequence[str],
    depths: Sequence[int],
    *,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Answer both questions; every retriever chooses hard negatives, the first is what is compared with."""
    indexes = {name: retriever(name, corpus, progress=progress) for name in names}
    known = QueryVectors(GaussianRows(encoder), capacity=len(corpus) + len(gold_children(trees)))
    separated: dict[str, Any] = {}
    for chooser, index in indexes.items():
        for k in depths:
            pairs = hardest_pairs(corpus, trees, index, k=k, progress=progress)
            found = separation(corpus, pairs, encoder, indexes, known=known, progress=progress)
            separated.setdefault(chooser, {})[str(k)] = found.to_json(first=names[0])
    return {
        "encoder": encoder.name,
        "revision": encoder.revision,
        "threshold": encoder.threshold,
        "trees": len(trees),
        "candidates": len(corpus),
        "compared_with": names[0],
        "separation": separated,
        "steps": steps(trees, encoder, progress=progress),
    }


def steps(
    trees: Sequence[ExplanationTree], encoder: GaussianEncoder, *, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """Measure whether the check of a step tells it from its reverse, beside the lengths alone."""
    pairs = step_pairs(trees)
    measured = evaluate_direction(pairs, encoder, progress=progress)
    premises, conclusions = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    right = judge(encoder, premises, conclusions, progress=progress)
    back = judge(encoder, conclusions, premises, progress=progress)
    return {
        "direction": measured.to_json(),
        "against_length": mcnemar(measured.correct, measured.longer > 0).to_json(),
        "right_way": dict(Counter(verdict.says for verdict in right)),
        "reversed": dict(Counter(verdict.says for verdict in back)),
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures = result["figures"]
    first = figures["compared_with"]
    yield f"<!-- Made from {NAME}.json by `python scripts/direction_in_trees.py --table`; do not edit. -->"
    yield "# Directions of entailment in trees"
    yield ""
    yield from wide_paragraph(
        f"`{figures['encoder']}` (`{figures['revision']}`) on {figures['trees']:,} trees of EntailmentBank "
        f"over {figures['candidates']:,} premises. Commit `{result['commit']}`:"
    )
    yield from ("", f"    {result['command']}", "")
    yield from wide_paragraph(
        "Nothing was chosen on these trees. " + contamination(PACKAGED_HUB_ID, ("snli", "multinli"))
    )
    yield from ("", "## Gold premises against the hardest negatives", "")
    for chooser, by_depth in figures["separation"].items():
        for k, found in by_depth.items():
            yield from separation_lines(found, chooser=chooser, k=k, first=first)
    yield from wide_paragraph(
        "Gaussian similarity is sim(sentence || premise), how much the premise entails the sentence; the "
        "difference is AUPRC less that of "
        f"{first}, a 95 % interval by bootstrap over sentences. Negatives are what "
        "the retriever named ranks highest of all that is not gold: on its own choice it does badly by "
        "construction, so look at all of them."
    )
    yield from ("", "## Steps and their reverse", "")
    yield from step_lines(figures["steps"])


def separation_lines(found: Mapping[str, Any], *, chooser: str, k: str, first: str) -> Iterator[str]:
    """Yield what one choice of negatives came to: an answer, then a table."""
    area, (low, high) = found["auprc"], found["difference"][GAUSSIAN]
    answer = "not better and not worse, as far as these sentences tell"
    if low > 0:
        answer = "**better**"
    elif high < 0:
        answer = "**worse**"
    yield from wide_paragraph(
        f"Against the {k} hardest negatives by {chooser} ({found['pairs']:,} pairs of {found['sentences']:,} "
        f"sentences, {found['gold']:,} gold), Gaussian similarity tells gold premises {answer} than {first}: "
        f"AUPRC {area[GAUSSIAN]:.3f} against {area[first]:.3f} ({low:+.3f} to {high:+.3f})."
    )
    rows = [[name, f"{area[name]:.3f}", _interval(found["difference"].get(name))] for name in area]
    rows.append(["chance", f"{found['chance']:.3f}", ""])
    yield from ("", *table(["score", "AUPRC", "difference"], rows), "")


def step_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known of steps: direction, and what the check says."""
    direction, against = found["direction"], found["against_length"]
    accuracy, baseline, n = direction["accuracy"], direction["length_baseline"], direction["n"]
    answer = "no differently than"
    if against["p"] < 0.05:
        answer = "**better** than" if accuracy > baseline else "**worse** than"
    yield from wide_paragraph(
        f"Of {n:,} steps the joined premises come out as what entails the conclusion, and not the other way "
        f"round, in {accuracy:.1%}; the longer text is the premises in {baseline:.1%}. So reversed steps are "
        f"told {answer} by length alone (McNemar p = {against['p']:.2g})."
    )
    yield ""
    longer, variance = direction["longer_entailed"], direction["by_variance"]
    rows = [["similarity", *_share(direction)]]
    if longer["n"]:
        rows.append(["similarity, where the conclusion is longer", *_share(longer)])
    if variance is not None:
        rows.append(["variance", *_share(variance)])
    rows.append(["length baseline", f"{baseline:.3f}", f"{n:,}", ""])
    yield from table(["rule", "accuracy", "steps", "95 % interval"], rows)
    yield ""
    right, back = found["right_way"], found["reversed"]
    caught, alarms = back.get("is entailed by", 0) / n, right.get("is entailed by", 0) / n
    yield from wide_paragraph(
        "The check on the Trees page, which also asks whether there is an entailment at all, calls "
        f"{caught:.1%} of reversed steps reversed, and {alarms:.1%} of those that stand the right way round."
    )
    yield ""
    words = list(dict.fromkeys([*right, *back]))
    shares = [
        [name, *(f"{counts.get(word, 0) / n:.1%}" for word in words)]
        for name, counts in (("right way round", right), ("reversed", back))
    ]
    yield from table(["step", *words], shares)


def _share(share: Mapping[str, Any]) -> list[str]:
    low, high = share["interval"]
    return [f"{share['accuracy']:.3f}", f"{share['n']:,}", f"{low:.3f} to {high:.3f}"]


def _interval(found: Sequence[float] | None) -> str:
    return "" if found is None else f"{found[0]:+.3f} to {found[1]:+.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--trees", type=Path, help="gold trees")
    parser.add_argument("--encoder", default="gausscse-minilm", help="an encoder of Gaussians")
    parser.add_argument(
        "--retrievers",
        nargs="+",
        default=["minilm", "bm25"],
        metavar="NAME",
        help="what chooses hard negatives; the first is compared with",
    )
    parser.add_argument("--k", nargs="+", type=int, default=[10, 50], help="negatives of a sentence")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    parser.add_argument("--table", action="store_true", help="measure nothing, only write the page again")
    given = parser.parse_args(arguments)
    file = given.results / f"{NAME}.json"
    if not given.table:
        if given.corpus is None or given.trees is None:
            parser.error("--corpus and --trees are needed, or --table")
        started = datetime.now(UTC)
        try:
            corpus, trees = read_corpus(given.corpus).corpus, read_trees(given.trees)
            with progress_bar() as progress:
                figures = measure(
                    corpus,
                    trees,
                    GaussianEncoder(given.encoder),
                    given.retrievers,
                    given.k,
                    progress=progress,
                )
        except EntailError as error:
            sys.exit(f"Error: {error}")
        write_result(file, figures=figures, seed=0, started=started)
    elif not file.is_file():
        sys.exit(f"Error: expected figures in {file}, found none; measure first")
    print(f"wrote {write_page(file, markdown)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
