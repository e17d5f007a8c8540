"""Comparison of an encoder with the active one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.aeenc.config import decisions_config
from entail.aeenc.method import AEENC
from entail.aeenc.source import TrainingData
from entail.data.entailment_bank.trees import read_trees
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, gold_children
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries
from entail.encoders.catalogue import resolve
from entail.evaluation.retrieval.paired import QueryFigures
from entail.jobs.candidates import compare_on, compare_on_unseen, cross_validate
from entail.registry.models import promote
from entail.training.method import Run

QUERIES = ("a", "b", "c", "d")


def figures(name: str, values: list[float]) -> QueryFigures:
    return QueryFigures(name, f"{name}@1", "a split", QUERIES, "MAP", {"MAP": (np.array(values), np.ones(4))})


OLD, NEW = figures("old", [0.1, 0.1, 0.1, 0.1]), figures("new", [0.9, 0.9, 0.2, 0.3])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("b", "a", (2, 0, 0.25)), ("", "", (4, 0, 0.575)), ("", "abcd", (4, 4, 0.575))],
)
def test_comparison_on_unseen_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, expected: tuple[float, ...]
) -> None:
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path))
    for name, learnt in (("old", old), ("new", new)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}", "utf-8")
        (folder / "model.safetensors").write_bytes(b"never read")
        write_training_queries(folder, map(premise_key, learnt))
    comparison = compare_on_unseen(OLD, NEW, names=("old", "new"))
    counts = comparison.queries, comparison.seen, comparison.measures["MAP"].second
    assert counts == pytest.approx(expected)
    assert (comparison.split == "a split") == (comparison.queries == 4)


def test_compare_on(
    trained: Callable[..., Path], grove: dict[str, Any], grove_files: tuple[Path, Path]
) -> None:
    trees = tuple(read_trees(grove_files[1]))
    folder = trained("mine")
    promote("tiny", by="Ann", anyway=True)
    compare = partial(
        compare_on, "mine", premises=lambda: Corpus.of("grove", grove["facts"]), trees=lambda: trees
    )
    all_ = compare()
    assert (all_.queries, all_.active.partition("@")[0]) == (16, "tiny")
    first = list(gold_children(trees))[:5]
    write_training_queries(folder, map(premise_key, first))
    assert compare().queries == 11


def test_trainings_on_the_other_half_rank_every_sentence(
    trained: Callable[..., Path], grove: dict[str, Any], tmp_path: Path
) -> None:
    facts = Corpus.of("grove", grove["facts"])
    judgements = Judgements.of_pairs([JudgedPair(f"ba {text}", text, True) for text in facts.texts[:22]])
    decided = TrainingData(facts, facts, (), judgements, ())
    final, other = trained("mine"), trained("team")
    promote("mine", by="Ann", corpus="grove", anyway=True)
    config = decisions_config(base="tiny", rank=2, epochs=1, precision="fp32")
    messages: list[str] = []
    run = Run(out=tmp_path / "staged" / "team", progress=lambda progress: messages.append(progress.what))
    comparison = cross_validate(AEENC, config, decided, run, encoder=other, corpus="grove")
    assert (comparison.queries, comparison.seen) == (22, 0)
    assert (comparison.active, comparison.candidate) == (resolve("mine").revision, resolve("team").revision)
    assert comparison.measures[comparison.primary].first != comparison.measures[comparison.primary].second
    assert {message.partition(":")[0] for message in messages} >= {"check 1 of 2", "check 2 of 2"}

    # What the active model learnt by heart says nothing.
    write_training_queries(final, map(premise_key, list(judgements.accepted)[:6]))
    fewer = cross_validate(AEENC, config, decided, run, encoder=other, corpus="grove")
    assert fewer.queries == 16
    write_training_queries(final, map(premise_key, judgements.accepted))
    assert cross_validate(AEENC, config, decided, run, encoder=other, corpus="grove") is None
