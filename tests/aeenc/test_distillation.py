"""Distillation from encoders, and training from an initial adapter."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lab.adapters.aeenc import vary

from entail.aeenc.training import train_aeenc
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.encoders.card import read_training_queries, write_training_queries
from entail.encoders.encoder import BiEncoder
from entail.encoders.weights import read_json
from entail.errors import TrainingError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.dense import DenseIndex
from entail.training.distillation import DistillationTask, Teaching, teach
from entail.training.loop.batches import BatchTask
from entail.training.method import Run
from tests.aeenc.conftest import Trees, small


def apart(encoder: Path, teaching: Teaching, *, side: str = "encode_queries") -> float:
    vectors = getattr(BiEncoder(encoder), side)(teaching.sentences)
    return float(1 - (vectors * teaching.vectors).sum(axis=1).mean())


def test_teachers_speak_as_their_mean(home: Path) -> None:
    teaching = teach(["tiny", "other"], ["ba be", "bi  bo", "ba be"])
    assert teaching.sentences == ("ba be", "bi bo")
    assert teaching.teachers == ("tiny", "other")
    first, second = (BiEncoder(teacher).encode_queries(["ba be", "bi bo"]) for teacher in teaching.teachers)
    expected = (first + second) / np.linalg.norm(first + second, axis=1, keepdims=True)
    np.testing.assert_allclose(teaching.vectors, expected, atol=1e-6)
    assert teaching.without({"ba be"}).sentences == ("bi bo",)
    np.testing.assert_array_equal(teaching.without({"ba be"}).vectors, teaching.vectors[1:])
    assert teaching.digest != teaching.without({"ba be"}).digest
    with pytest.raises(TrainingError, match="found 1 and 0"):
        teach(["tiny"], [])


def test_sentences_near_others_are_made_of_their_words() -> None:
    sentences = ["ice is a cold and solid thing", "fire gives heat to everything around it"]
    variations = vary(sentences, count=8, seed=0)
    assert len(variations) == len(set(variations)) > 8
    assert not {*variations} & {*sentences, ""}
    words = {word for sentence in sentences for word in sentence.split()}
    assert all(set(sentence.split()) <= words for sentence in variations)
    assert variations == vary(sentences, count=8, seed=0) != vary(sentences, count=8, seed=1)
    assert vary([], count=3, seed=0) == ()
    assert vary(["ice"], count=9, seed=0) == ()


def test_a_student_comes_nearer_to_its_teacher(
    trained: Callable[..., Path], home: Path, facts: Corpus, trees: Trees
) -> None:
    teaching = teach([trained("teacher")], facts.texts)
    alone, taught = home / "alone", home / "taught"
    train_aeenc(facts, small(epochs=12), trees=trees, run=Run(out=alone))
    settings = small(epochs=12, distil=30.0, sentences=8)
    train_aeenc(facts, settings, trees=trees, teaching=teaching, run=Run(out=taught))
    assert apart(taught, teaching) < 0.5 * apart(alone, teaching)
    trained_on = (read_json(taught / "entail.json") or {})["trained_on"]
    queries = {parent for tree in trees for parent, _ in tree.pairs}
    assert trained_on["teachers"] == ["teacher"]
    assert trained_on["sentences"] == len(set(teaching.sentences) - queries)


def test_sentences_are_dealt_anew_each_epoch() -> None:
    class Task(BatchTask):
        evaluate = None

    teaching = Teaching(tuple("abcd"), np.ones((4, 2), dtype=np.float32), ("t",))
    tower = SimpleNamespace(dimension=2, device="cpu", lengths=lambda texts: [len(text) for text in texts])
    both: Any = (Task(small(batch_size=2), [1] * 6), teaching, tower)
    distilling = DistillationTask(*both, weight=1.0, sentences=2, seed=0)
    dealt = distilling.batches(0)
    assert len(dealt) == 3
    assert sorted(np.concatenate([taught for _, taught in dealt[:2]]).tolist()) == [0, 1, 2, 3]
    orders = {tuple(np.concatenate([taught for _, taught in distilling.batches(e)])) for e in range(5)}
    assert len(orders) > 1


def test_a_continued_training_keeps_the_record_of_what_was_learnt_before(
    trained: Callable[..., Path], home: Path, facts: Corpus
) -> None:
    start = trained("start")
    write_training_queries(start, ["before"])
    judged = Judgements.of_pairs(JudgedPair("bo ba", facts.texts[at], at == 0) for at in (0, 1))
    settings = small(epochs=1, initial=str(start), learning_rate=3e-5)
    run = Run(out=home / "further", data=["team_decisions"])
    training = train_aeenc(facts, settings, judgements=judged, run=run)
    assert training.data == ("entailment_bank", "team_decisions")
    assert read_training_queries(home / "further") == {"before", premise_key("bo ba")}


def test_queries_of_two_towers_are_trained_further_over_the_same_index(
    trained: Callable[..., Path], home: Path, facts: Corpus, trees: Trees
) -> None:
    start = trained("start", towers="dual")
    settings = small(initial=str(start), rank=8)
    training = train_aeenc(facts, settings, trees=trees, dev=trees, run=Run(out=home / "further"))
    before, after = BiEncoder(start), BiEncoder(home / "further")
    assert after.entry.towers == "dual"
    assert after.premise_revision == before.premise_revision != after.revision
    np.testing.assert_array_equal(after.encode_premises(facts.texts), before.encode_premises(facts.texts))
    queries = Judgements.of_trees(trees).queries
    assert not np.allclose(after.encode_queries(queries), before.encode_queries(queries), atol=1e-3)
    # It was trained and evaluated over the premises as they stay, not over the base's.
    for encoder, epoch in ((before, training.fitted.evaluations[0]), (after, training.fitted.best)):
        index = DenseIndex(encoder, facts, encoder.encode_premises(facts.texts))
        measured = evaluate_premises(facts, trees, index).figures()["query_excluded"]["MAP"]
        assert epoch is not None
        assert epoch.figures["query_excluded.MAP"] == pytest.approx(measured, abs=0.01)


@pytest.mark.parametrize("towers", ["single", "dual"])
def test_each_tower_starts_at_its_own(
    trained: Callable[..., Path], home: Path, facts: Corpus, trees: Trees, towers: str
) -> None:
    start = trained("start", towers=towers)
    unchanged = {"learning_rate": 1e-12, "epochs": 1, "dropout": 0.0}
    still = small(initial=str(start), towers="dual", rounds=1, rank=8, **unchanged)
    train_aeenc(facts, still, trees=trees, run=Run(out=home / "still"))
    before, after = BiEncoder(start), BiEncoder(home / "still")
    for side in ("encode_queries", "encode_premises"):
        vectors = [getattr(encoder, side)(facts.texts) for encoder in (after, before)]
        np.testing.assert_allclose(*vectors, atol=2e-2)


def test_a_premise_tower_is_held_to_its_base_on_sentences(home: Path, facts: Corpus, trees: Trees) -> None:
    teaching = teach(["tiny"], [f"ba {fact}" for fact in facts.texts])
    free, tied = home / "free", home / "tied"
    settings = small(epochs=6, towers="dual", gold=False, rounds=1, loss="softmax")
    train_aeenc(facts, settings, trees=trees, run=Run(out=free))
    settings = replace(settings, distil=60.0, sentences=8)
    train_aeenc(facts, settings, trees=trees, premise_teaching=teaching, run=Run(out=tied))
    moved, left = (apart(encoder, teaching, side="encode_premises") for encoder in (free, tied))
    assert left < 0.5 * moved
    trained_on = (read_json(tied / "entail.json") or {})["trained_on"]
    assert (trained_on["sentences"], trained_on["teachers"]) == (len(teaching.sentences), ["tiny"])
    with pytest.raises(TrainingError, match="towers=dual"):
        train_aeenc(facts, replace(settings, towers="single"), trees=trees, premise_teaching=teaching)
