"""Directions in trees, measured in miniature."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree, Step
from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import EvaluationError
from entail.index.lexical import TfidfIndex
from entail.statistics.classification import auprc
from entail.statistics.ranking import resamples

ROOT = Path(__file__).parents[2]
CORPUS = Corpus.of(
    "six", ["ice is cold", "snow is ice", "snow is cold", "ice is cold stuff", "fire is hot", "cold snow"]
)
TREE = ExplanationTree(
    id="t",
    hypothesis="snow  is cold",
    sentences={"sent1": "snow is ice", "sent2": "ice is cold", "sent3": "elsewhere"},
    intermediates={"int1": "ice and snow"},
    steps=(Step(("sent1", "sent3"), "int1"), Step(("int1", "sent2"), "hypothesis")),
)


class Lengths:
    """An encoder of Gaussians: means by the first letter, variances by the number of words."""

    name, revision, dimension, kind, threshold = "lengths", "lengths@1", 2, "kl_mean", None

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], **_: Any) -> Gaussians:
        self.asked += texts
        rows = [[ord(text[0]) % 5, 1, len(text.split()), 0] for text in texts]
        return Gaussians.of(np.array(rows, dtype=np.float32))


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("direction_in_trees")


@pytest.fixture(scope="module")
def gold(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("gold_separation")


def test_negatives_are_the_nearest_that_are_neither_gold_nor_the_sentence(gold: ModuleType) -> None:
    index = TfidfIndex(CORPUS)
    pairs = gold.hardest_pairs(CORPUS, [TREE], index, k=2)
    assert pairs.sentences == ("ice and snow", "snow is cold")
    candidates = {
        sentence: [
            (CORPUS.texts[position], bool(right))
            for position, right, number in zip(pairs.positions, pairs.gold, pairs.queries, strict=True)
            if number == query
        ]
        for query, sentence in enumerate(pairs.sentences)
    }
    nearest = [CORPUS.texts[p] for p in index.search(["snow is cold"], k=6).positions[0]]
    negatives = [text for text in nearest if text not in ("snow is cold", "ice is cold")][:2]
    assert candidates["snow is cold"] == [("ice is cold", True), *((text, False) for text in negatives)]
    assert candidates["ice and snow"][0] == ("snow is ice", True), (
        "what is no premise of the corpus is left out"
    )
    assert len(candidates["ice and snow"]) == 3
    with pytest.raises(EvaluationError, match="found 0 sentences"):
        gold.hardest_pairs(Corpus.of("other", ["x"]), [TREE], TfidfIndex(Corpus.of("other", ["xx yy"])), k=2)
    with pytest.raises(EvaluationError, match="k = 0"):
        gold.hardest_pairs(CORPUS, [TREE], index, k=0)


def test_scores_are_those_of_each_pair(gold: ModuleType) -> None:
    index = TfidfIndex(CORPUS)
    pairs = gold.hardest_pairs(CORPUS, [TREE], index, k=3)
    encoder: Any = Lengths()
    separation = gold.separation(CORPUS, pairs, encoder, {"tfidf": index})
    for row, (query, position) in enumerate(zip(pairs.queries, pairs.positions, strict=True)):
        sentence, premise = pairs.sentences[query], CORPUS.texts[position]
        assert separation.scores["tfidf"][row] == pytest.approx(index.scores([sentence])[0, position])
        first, second = encoder.encode([sentence]), encoder.encode([premise])
        x = float(first.log_variance[0, 0] - second.log_variance[0, 0])
        apart = float(first.mean[0, 0] - second.mean[0, 0]) ** 2
        kl = (np.expm1(x) - x + apart / np.exp(second.log_variance[0, 0])) / 2
        back = (np.expm1(-x) + x + apart / np.exp(first.log_variance[0, 0])) / 2
        assert separation.scores[gold.GAUSSIAN][row] == pytest.approx(1 / (1 + kl / 2), rel=1e-5)
        if kl > 1e-6:
            margin = np.log((back / 2) / (kl / 2))
            assert separation.scores[gold.MARGIN][row] == pytest.approx(margin, rel=1e-4)
        cosine = (
            (first.mean[0] @ second.mean[0]) / np.linalg.norm(first.mean[0]) / np.linalg.norm(second.mean[0])
        )
        assert separation.scores[gold.MEANS][row] == pytest.approx(cosine, rel=1e-5)
    assert set(separation.auprc) == {
        "tfidf",
        gold.GAUSSIAN,
        gold.MARGIN,
        gold.MEANS,
        f"tfidf and {gold.GAUSSIAN}",
    }
    assert separation.auprc["tfidf"] == auprc(separation.scores["tfidf"], pairs.gold)


def test_the_bootstrap_is_that_of_the_areas_of_its_samples(gold: ModuleType) -> None:
    draw = np.random.default_rng(0)
    queries = np.repeat(np.arange(12), 5)
    pairs = gold.Pairs(tuple("abcdefghijkl"), queries, np.zeros(60, np.int64), np.arange(60) % 5 == 0)
    scores = {"one": draw.normal(size=60), "two": draw.integers(0, 4, 60).astype(np.float64)}
    expected = []
    for (counts,) in (
        rows for batch in resamples(12, samples=40, seed=3) for rows in np.split(batch, len(batch))
    ):
        weights = counts[queries].astype(int)
        first, second = (
            auprc(np.repeat(v, weights), np.repeat(pairs.gold, weights)) for v in scores.values()
        )
        assert first is not None
        assert second is not None
        expected.append(second - first)
    intervals = gold.Separation(pairs, scores).differences("one", samples=40, seed=3, level=0.9)
    np.testing.assert_allclose(intervals["two"], np.quantile(expected, [0.05, 0.95]))


def test_every_distinct_step_is_a_pair(script: ModuleType) -> None:
    assert script.step_pairs([TREE, TREE]) == [
        NliPair("snow is ice and elsewhere", "ice and snow", "entailment"),
        NliPair("ice and snow and ice is cold", "snow is cold", "entailment"),
    ]
    with pytest.raises(EvaluationError, match="found none"):
        script.step_pairs([])


def test_the_script_measures_and_says_so(
    script: ModuleType,
    gaussian: str,
    grove: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trees, corpus, out = tmp_path / "trees.jsonl", tmp_path / "premises.txt", tmp_path / "results"
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    corpus.write_text("\n".join(grove["facts"]), encoding="utf-8")
    arguments = ["--corpus", str(corpus), "--trees", str(trees), "--encoder", gaussian, "--results", str(out)]
    assert script.main([*arguments, "--retrievers", "tfidf", "bm25", "--k", "2", "3"]) == 0
    figures = json.loads((out / "gausscse_trees.json").read_text(encoding="utf-8"))["figures"]
    assert {chooser: set(by_k) for chooser, by_k in figures["separation"].items()} == {
        "tfidf": {"2", "3"},
        "bm25": {"2", "3"},
    }
    steps = script.step_pairs(read_trees(trees))
    assert figures["steps"]["direction"]["n"] == len(steps) == 16
    right, back = figures["steps"]["right_way"], figures["steps"]["reversed"]
    assert sum(right.values()) == sum(back.values()) == 16
    assert right.get("entails", 0) == back.get("is entailed by", 0)
    page = (out / "gausscse_trees.md").read_text(encoding="utf-8")
    assert "the 2 hardest negatives by tfidf" in page
    assert "by length alone" in " ".join(page.split())
    assert str(tmp_path) not in page
    (out / "gausscse_trees.md").unlink()
    assert script.main(["--table", "--results", str(out)]) == 0
    assert (out / "gausscse_trees.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit, match="expected an encoder of Gaussians"):
        script.main([*arguments, "--encoder", "tiny"])
