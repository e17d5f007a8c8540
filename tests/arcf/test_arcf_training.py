"""From questions with explanations to a scorer on disk, and every way it can be refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from entail.arcf.chains.chain import ChainRanker, Search
from entail.arcf.chains.next_premise import draft_chain, score_next
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import ScorerForm, list_scorers, load_scorer
from entail.arcf.scoring.terms import EXPLANATIONS, IDF, POWER, SHARED_PIECES, SIMILARITY, WORDS
from entail.arcf.training import train_arcf
from entail.data.worldtree.questions import Question
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.errors import EncoderError, EvaluationError, TrainingError
from entail.evaluation.chains import evaluate_chains, tfidf_rankings
from entail.training.loop.task import Event
from entail.training.method import Run
from tests.arcf.conftest import TINY

PLAIN = replace(TINY, architecture="cross", loss="ranknet", shared_pieces=0, power=0, similarity=0)


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_it_learns_which_facts_explain_and_scores_as_transformers_does(
    tiny_home: Path, world: Any, tuning: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(PLAIN, tuning=tuning, learning_rate=0.01 if tuning == "lora" else 0.003, epochs=18)
    run = Run(data=["worldtree"], out=tiny_home / "mine")
    training = train_arcf(world.questions, world.facts, config, dev=world.dev, run=run)
    untrained = training.fitted.evaluations[0]
    assert training.fitted.best is not None
    assert training.fitted.best.score > untrained.score + 0.1
    assert set(untrained.figures) == {"step MAP", "step P@1"}
    assert training.counts["questions"] == 18
    record = json.loads((tiny_home / "mine" / "entail.json").read_text(encoding="utf-8"))
    assert record["trained_on"]["data"] == ["worldtree"]

    scorer, near = load_scorer("mine"), Neighbourhoods(world.facts, k=6)
    rankings = [ranked.ranking for ranked in ChainRanker(scorer, near).rank(world.dev)]
    evaluation = evaluate_chains(world.dev, world.facts, rankings)
    lexical = evaluate_chains(world.dev, world.facts, tfidf_rankings(world.dev, near.similarities))
    assert evaluation.map > lexical.map

    assert scorer.form.max_length == 32
    assert not any((tiny_home / "mine" / name).exists() for name in (IDF, EXPLANATIONS, WORDS))
    premises = PremiseScorer(scorer, world.facts)
    assert premises.terms is None
    # In torch alone, the last layer for one token, as transformers has it in full.
    monkeypatch.setattr("entail.encoders.cross.encoder.read_bert", lambda folder: None)
    stock = load_scorer("mine")
    (question_ids,) = premises.inputs.questions([("ba bi", "bo")])
    prefix = premises.inputs.prefix(question_ids, [3]).ids
    pairs = [(prefix, ()), *((prefix, candidate) for candidate in premises.inputs.candidates)]
    scores, stock_scores = scorer.pairs.score(pairs), stock.pairs.score(pairs)
    assert np.abs(scores - stock_scores).max() < 1e-4
    assert scores.std() > 0
    alone = np.array([scorer.pairs.score([pair])[0] for pair in pairs[:9]])
    assert np.abs(alone - scores[:9]).max() < 1e-5
    assert scorer.pairs.score([]).shape == stock.pairs.score([]).shape == (0,)


@pytest.mark.parametrize("architecture", ["cross", "bi"])
def test_a_scorer_ranks_as_it_was_trained(tiny_home: Path, world: Any, architecture: Any) -> None:
    """The scores of a chain are those of pairs and terms, at every step, and of the next premise."""
    out, question = tiny_home / "mine", world.dev[0]
    train_arcf(world.questions, world.facts, replace(TINY, architecture=architecture), run=Run(out=out))
    scorer = load_scorer("mine")
    assert scorer.terms.names == (SHARED_PIECES, POWER, SIMILARITY)
    assert scorer.weights == pytest.approx((8.0, 4.0, 6.0), rel=0.5)

    near, premises = Neighbourhoods(world.facts, k=6), PremiseScorer(scorer, world.facts)
    inputs, terms = premises.inputs, premises.terms
    assert terms is not None

    def expected(stem: str, answer: str, chain: Any, candidates: Any, accepted: Any = ()) -> Any:
        (ids,) = inputs.questions([(stem, answer)])
        (own,) = terms.of_questions([Question("", stem, answer, {}).text], accepted)
        prefix = inputs.prefix(ids, chain, accepted=accepted).ids
        scores = scorer.pairs.score([(prefix, inputs.candidates[fact]) for fact in candidates])
        return scores + own(prefix, chain, candidates) @ np.array(scorer.weights)

    (ranked,) = ChainRanker(scorer, near, search=Search(length=3, least=3)).rank([question])
    assert ranked.chain is not None
    assert sorted(ranked.chain.steps[0].candidates) == sorted(premises.neighbours(question, near))
    for step in ranked.chain.steps:
        scores = expected(question.stem, question.answer, step.chosen, step.candidates)
        np.testing.assert_allclose(step.scores, scores, rtol=1e-4, atol=1e-4)

    # A sentence to be explained, with what was accepted below it.
    sentence, accepted = "ba bi", (world.facts.texts[0],)
    next_scores = score_next(scorer, sentence, accepted, [world.facts.texts[1]]).scores
    np.testing.assert_allclose(next_scores, expected(sentence, "", (), [1], accepted), atol=1e-4)
    draft = draft_chain(sentence, accepted, premises, near)
    first = expected(sentence, "", (), draft.facts[:1], accepted)
    assert draft.scores[0] == pytest.approx(float(first[0]), abs=1e-4)


def test_damaged_files_and_scores_are_refused(tiny_home: Path, world: Any) -> None:
    out = tiny_home / "mine"
    train_arcf(world.questions, world.facts, TINY, run=Run(out=out))
    whole = load_scorer("mine")
    adapter = f"{ADAPTER}/adapter_model.safetensors"
    for file, tensor, value in (
        (HEAD, POWER, np.nan),
        (HEAD, POWER, 200.0),
        (IDF, "idf", np.nan),
        (EXPLANATIONS, "vectors", np.inf),
        (adapter, "", np.nan),
    ):
        content, tensors = (out / file).read_bytes(), load_file(out / file)
        tensors[tensor or next(iter(tensors))].view(-1)[0] = value
        save_file(tensors, out / file)
        with pytest.raises(EncoderError):
            load_scorer("mine")
        (out / file).write_bytes(content)
    record = json.loads((out / "entail.json").read_text(encoding="utf-8"))
    (out / "entail.json").write_text(json.dumps({**record, "scorer": {"stop": "no"}}), encoding="utf-8")
    with pytest.raises(EncoderError):
        load_scorer("mine")
    (out / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    (out / IDF).unlink()
    with pytest.raises(EncoderError):
        load_scorer("mine")

    scorer = replace(whole, weights=(1.0, float("nan"), 1.0))
    steps, near = PremiseScorer(scorer, world.facts), Neighbourhoods(world.facts, k=6)
    ways: list[Callable[[], Any]] = [
        lambda: list(ChainRanker(scorer, near).rank(world.dev[:1])),
        lambda: score_next(scorer, "ba bi", ("bo",), [world.facts.texts[1]]),
        lambda: draft_chain("ba bi", ("bo",), steps, near),
    ]
    for way in ways:
        with pytest.raises(EvaluationError):
            way()


def test_a_token_budget_ends_a_training_and_dev_needs_explanations(tiny_home: Path, world: Any) -> None:
    events: list[Event] = []
    config = replace(PLAIN, epochs=2, prefixes_a_step=1, token_budget=2000)
    train_arcf(world.questions, world.facts, config, run=Run(watch=events.append))
    assert 1000 < sum(event.terms.get("tokens", 0) for event in events) <= 2000
    blind = [replace(question, gold={}) for question in world.dev]
    with pytest.raises(TrainingError):
        train_arcf(world.questions, world.facts, PLAIN, dev=blind)


def test_scorers_are_listed_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path))
    assert list_scorers() == []

    def put(name: str, text: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "head.safetensors").write_bytes(b"")
        (tmp_path / name / "entail.json").write_text(text, encoding="utf-8")

    put("b-single", '{"method": "arcf", "scorer": {"scheme": "single-fact"}}')
    put("a-broken", '{"method": "arcf", "scorer": {"max_length": "many"}}')
    put("z-chains", '{"method": "arcf", "scorer": {"scheme": "arcf", "reading": "apart", "longest": 60}}')
    put("arcf-minilm", '{"method": "arcf", "scorer": {"reading": "joint"}}')
    put("gaussian", '{"method": "gausscse"}')
    scorers = {entry.name: entry for entry in list_scorers()}
    assert list(scorers) == ["arcf-minilm", "a-broken", "b-single", "z-chains"]
    assert scorers["z-chains"].form == ScorerForm(architecture="bi", max_length=60)
    assert scorers["arcf-minilm"].form.architecture == "cross"
    assert scorers["a-broken"].problem
    assert scorers["b-single"].problem
