"""Training of both stages: losses by hand, learning, one adapter through both, sources, the command line."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from entail.data.passages.files import Passage
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import load
from entail.encoders.weights import read_json
from entail.errors import CheckpointError, SettingsError, TrainingError
from entail.evaluation.passages.store import PassageStore
from entail.jobs.jobs import absolute
from entail.training.adapters.tower import Lora
from entail.training.fields import values_of
from entail.training.method import Run, method
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import EntailedPair, Example, Examples, examples_of
from entail.tuning.method import evaluate, preview
from entail.tuning.source import TuningSource
from entail.tuning.tower import PassageTower
from entail.tuning.training import DprTask, train_dpr, train_tuning
from tests.tuning.conftest import SMALL, pairs

TUNING = TuningConfig(epochs=3, batch_size=16, **SMALL)
DPR = DprConfig(epochs=4, batch_size=12, **SMALL)


class UnitTower:
    """A tower of two dimensions that has a vector for every text."""

    device = "cpu"

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self._vectors = vectors

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def vectors(self, texts: Sequence[str]) -> Any:
        assert len(texts) == len(set(texts)), "each once"
        return torch.tensor([self._vectors[text] for text in texts], requires_grad=True)

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([self._vectors[text] for text in texts], dtype=np.float32)


def small(passages: Sequence[str], questions: Sequence[Example]) -> Examples:
    store: Any = [Passage(str(at), text) for at, text in enumerate(passages)]
    return Examples(store, tuple(questions))


def test_dpr_loss_by_hand() -> None:
    # "a" and "b" share the gold passage P; "c" has Q, and R is gold of "c", too; N is a hard negative of "a".
    golds = {"a": (0,), "b": (0,), "c": (1, 2), "d": (2,)}
    questions = [Example(name, (), gold, (3,) if name == "a" else ()) for name, gold in golds.items()]
    tower: Any = UnitTower(
        {"a": (1, 0), "b": (0, 1), "c": (0.6, 0.8), "d": (0, 1)}
        | {"P": (1, 0), "Q": (0, 1), "R": (0.8, 0.6), "N": (0.6, 0.8)}
    )
    task = DprTask(replace(DPR, temperature=0.5), small(["P", "Q", "R", "N"], questions), tower)
    loss, terms = task.loss(np.arange(4))
    rows = [
        ([1, 0, 0.8, 0.6], 0),
        ([0, 1, 0.6, 0.8], 0),
        ([0.6, 0.8, 1.0], 1),  # without R, which answers it
        ([0, 1, 0.6, 0.8], 2),
    ]
    expected = [np.log(np.exp(2 * np.array(cosines)).sum()) - 2 * cosines[gold] for cosines, gold in rows]
    assert float(loss.detach()) == pytest.approx(np.mean(expected), abs=1e-5)
    assert terms == {"first": 0.25, "passages": 4.0}


def test_every_epoch_takes_the_next_hard_negative_cut_where_the_gold_passage_is() -> None:
    tower: Any = UnitTower({})
    passages = small(["P", "1", "2", "3"], [Example("a", (), (0,), (1, 2, 3)), Example("b", (), (0,))])
    task = DprTask(replace(DPR, negatives=1), passages, tower)
    for epoch in range(3):
        task.batches(epoch)
        assert task.passages_of(np.array([0, 1]))[1] == {0: "P", epoch + 1: str(epoch + 1)}  # hardest first
    for negatives, expected in ((0, {0}), (9, {0, 1, 2, 3})):
        task = DprTask(replace(DPR, negatives=negatives), passages, tower)
        assert set(task.passages_of(np.array([0]))[1]) == expected
    gold, other = " ".join("abcdefghij"), " ".join("klmnopqrst")
    for answer, texts in (("h", {0: "g h i", 1: "q r s"}), ("a", {0: "a b c", 1: "k l m"})):
        passages = small([gold, other], [Example("q", (answer,), (0,), (1,))])
        assert DprTask(replace(DPR, words=3), passages, tower).passages_of(np.array([0]))[1] == texts


def test_dev_is_ranked_over_its_own_passages() -> None:
    tower: Any = UnitTower({"a": (1, 0), "b": (0, 1), "P": (1, 0), "Q": (0.8, 0.6), "N": (0, 1)})
    dev = small(["P", "Q", "N"], [Example("a", (), (0,)), Example("b", (), (1,), (2,))])
    assert DprTask(DPR, dev, tower, dev=dev).evaluate() == (0.75, {"MRR": 0.75, "R@1": 0.5})


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_tuning_learns_hypotheses_from_premises(tiny_home: Path, tuning: Any) -> None:
    out = tiny_home / "mine"
    config = replace(TUNING, tuning=tuning, epochs=6)
    done = train_tuning(pairs(64), config, dev=pairs(16, seed=1), run=Run(data=["squad"], out=out))
    assert done.further == {"new_head": True}
    assert done.fitted.best is not None
    assert done.fitted.best.score > done.fitted.evaluations[0].score + 0.1
    record = read_json(out / "entail.json") or {}
    assert (record["method"], record["trained_on"]["data"]) == ("tuning", ["squad"])
    assert ("base" in record) == (tuning == "lora")
    assert not any("head" in path.name for path in out.rglob("*"))
    vectors = load("mine").encode_queries(["ba be", "bo bu"])
    assert not np.allclose(vectors, load("tiny").encode_queries(["ba be", "bo bu"]), atol=1e-3)
    assert resolve("mine").symmetric


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_dpr_learns_which_passage_answers(tiny_home: Path, examples: Examples, tuning: Any) -> None:
    config = replace(DPR, tuning=tuning, epochs=8)
    done = train_dpr(examples, config, dev=examples, run=Run(data=["squad"], out=tiny_home / "mine"))
    assert done.fitted.best is not None
    assert done.fitted.best.figures["MRR"] > done.fitted.evaluations[0].figures["MRR"] + 0.1
    assert not done.warnings
    assert done.counts["hard_negatives"] > done.counts["questions"] == 48
    record = read_json(tiny_home / "mine" / "entail.json") or {}
    assert record["method"] == "dpr"
    assert "tuned" not in record
    texts = [examples.store[at].whole for at in range(len(examples.store))]
    questions = [example.question for example in examples.examples]
    scores = load("mine").encode_queries(questions) @ load("mine").encode_premises(texts).T
    ranks = 1 + (scores > scores.diagonal()[:, None]).sum(axis=1)
    assert (1 / ranks).mean() == pytest.approx(done.fitted.best.figures["MRR"], abs=0.02)


def test_one_adapter_goes_through_both_stages(tiny_home: Path, examples: Examples) -> None:
    train_tuning(pairs(32), replace(TUNING, epochs=2), run=Run(out=tiny_home / "tuned"))
    config = replace(DPR, epochs=1)
    without = train_dpr(examples, config, dev=examples, run=Run(out=tiny_home / "plain"))
    further = replace(config, initial="tuned")
    done = train_dpr(examples, further, dev=examples, run=Run(out=tiny_home / "mine"))
    assert without.fitted.evaluations[0].figures != done.fitted.evaluations[0].figures
    assert getattr(resolve("mine").base, "name", "") == "tiny"
    record = read_json(tiny_home / "mine" / "entail.json") or {}
    assert record["tuned"]["revision"] == resolve("tuned").revision
    assert record["tuned"]["config"]["beta"] == 0.8
    # The second stage starts from the weights that the first one wrote.
    lora, initial = Lora(rank=4, alpha=8), resolve("tuned").path
    start = PassageTower(resolve("tiny"), lora=lora, device="cpu", max_length=32, initial=initial)
    assert np.allclose(start.encode(["ba be bi"]), load("tuned").encode_queries(["ba be bi"]), atol=1e-5)
    train_tuning(pairs(32), replace(TUNING, epochs=1, seed=1), run=Run(out=tiny_home / "tuned", resume=False))
    (tiny_home / "tuned" / "modules.json").write_text('[{"type": "sentence_transformers.models.Pooling"}]')
    with pytest.raises(TrainingError, match="initial: expected"):
        train_dpr(examples, further, dev=examples, run=Run())
    (tiny_home / "tuned" / "modules.json").unlink()
    with pytest.raises(CheckpointError, match=r"(?<!config\.)initial: expected"):
        train_dpr(examples, further, dev=examples, run=Run(out=tiny_home / "mine"))


def test_pairs_that_do_not_fit_and_a_base_without_a_masked_form_are_refused(tiny_home: Path) -> None:
    from transformers import AutoTokenizer, CLIPTextConfig, CLIPTextModel

    long = EntailedPair("ba", " ".join(["be"] * 40))
    with pytest.raises(TrainingError):
        train_tuning([long], TUNING)
    # Nothing is masked either: beta is next to 0.
    config = replace(TUNING, warmup_steps=100, max_length=12, epochs=1, beta=1e-9)
    done = train_tuning([long, *pairs(4)], config)
    assert done.counts == {"pairs": 4, "too_long": 1, "premises_cut": 4, "steps": 1}

    sizes: dict[str, Any] = {"vocab_size": 60, "hidden_size": 16, "intermediate_size": 32}
    clip = CLIPTextConfig(**sizes, num_attention_heads=2, num_hidden_layers=1, max_position_embeddings=32)
    CLIPTextModel(clip).save_pretrained(tiny_home / "clip")
    AutoTokenizer.from_pretrained(tiny_home / "tiny").save_pretrained(tiny_home / "clip")
    with pytest.raises(TrainingError):
        train_tuning(pairs(4), replace(TUNING, base="clip", tuning="full"))


def test_questions_that_cannot_train(tiny_home: Path, examples: Examples, pool: PassageStore) -> None:
    for questions, changes in ((examples_of(pool, []), {}), (examples, {"initial": "other"})):
        with pytest.raises(TrainingError):
            train_dpr(questions, replace(DPR, **changes))
    plain = replace(examples, examples=tuple(replace(example, negatives=()) for example in examples.examples))
    assert len(train_dpr(plain, replace(DPR, epochs=1)).warnings) == 1


@pytest.mark.parametrize(
    "values", [{"initial": "x", "tuning": "full"}, {"pooling": "cls"}, {"similarity": "dot"}]
)
def test_settings_that_exclude_each_other(values: Any) -> None:
    with pytest.raises(TrainingError, match=next(iter(values))):
        DprConfig(**values)


def test_both_stages_from_the_command_line(tiny_home: Path, squad: dict[str, Path], run_json: Any) -> None:
    small = ["--base", "tiny", "--epochs", "1", "--set", "rank=2", "--set", "batch_size=8"]
    small += ["--set", "max_length=32", "--questions", str(squad["train"]), "--dev", str(squad["dev"])]
    tuned, mine = tiny_home / "tuned", tiny_home / "mine"
    report = run_json("train", "tuning", *small, "--nli", str(squad["nli"]), "--out", str(tuned))
    assert report["counts"]["pairs"] == 38
    report = run_json("train", "dpr", *small, "--set", "initial=tuned", "--out", str(mine))
    assert report["counts"]["questions"] == 36
    record = json.loads((mine / "entail.json").read_text(encoding="utf-8"))
    assert record["tuned"]["revision"] == resolve("tuned").revision
    pool = ["--passages", str(squad["train"]), "--passages", str(squad["dev"])]
    options = ["--questions", str(squad["dev"]), "--encoder", "mine"]
    figures = run_json("evaluate", "passages", *pool, *options)
    assert (figures["questions"], figures["passages"]) == (12, 48)


def test_what_would_be_trained_on_is_shown_first(tiny_home: Path, squad: dict[str, Path]) -> None:
    how = method("tuning")
    source = TuningSource(questions=squad["train"], nli=(squad["nli"],))
    data_preview = preview(source.read(), how.make_config({"words": 3}))
    counts = {"questions": 36, "passages": 36, "dev questions": 0, "entailments of other pairs": 2}
    assert data_preview.counts == counts
    assert not data_preview.left_out
    impossible = json.loads(squad["dev"].read_text(encoding="utf-8"))
    impossible["data"][0]["paragraphs"][0]["qas"][0]["is_impossible"] = True
    squad["dev"].write_text(json.dumps(impossible), encoding="utf-8")
    dev = TuningSource(questions=squad["train"], dev=squad["dev"]).read()
    assert preview(dev, how.make_config({})).left_out == {"dev questions without one": 1}
    question, claimed, passage = data_preview.rows[1]
    assert claimed.startswith("There exists something known about")
    assert question.split()[0] in claimed.lower()
    assert len(passage.split()) == 3
    assert str(source) == "train.json, and entailments of nli.jsonl"
    assert evaluate("tiny", source.read(), None) is None
    assert "entailments of other pairs" not in preview(source.read(), method("dpr").make_config({})).counts
    # Names of data sets are no files.
    source = TuningSource(questions=squad["train"], nli=(Path("snli"),))
    assert absolute(source) | {"nli": ["snli"], "questions": str(squad["train"])} == absolute(source)
    assert how.make_source(values_of(source)) == source
    with pytest.raises(SettingsError):
        TuningSource()
