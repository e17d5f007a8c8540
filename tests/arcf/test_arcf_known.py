"""Prior terms of scores: shared word pieces and explanatory power."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from entail.arcf.chains.baselines import PathRanker, SingleFactRanker
from entail.arcf.chains.chain import Search
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.next_premise import draft_chain, score_next
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.priors import EXPLANATIONS, Explanations, PremisePriors, Weights
from entail.arcf.scoring.scorer import POWER, SHARED_PIECES, SIMILARITY, load_scorer
from entail.arcf.scoring.terms import IDF, WORDS, SharedPieces, SharingScorer, WordSimilarity
from entail.arcf.tower import ScorerTower
from entail.arcf.training import train_arcf
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.catalogue import resolve
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.encoders.cross.pairs import Ids
from entail.errors import EncoderError, EvaluationError, TrainingError
from entail.index.protocol import Floats
from entail.training.adapters.tower import Lora

IDS = st.lists(st.integers(0, 12), max_size=6).map(tuple)
SETTINGS = ArcfConfig(
    base="tiny",
    rank=4,
    k=6,
    batch_tokens=400,
    epochs=1,
    learning_rate=0.01,
    max_length=32,
    dropout=0.0,
    dev_questions=4,
    precision="fp32",
    shared_pieces=3.0,
    power=2.0,
    similarity=4.0,
)


def test_overlap_is_the_cosine_of_weighted_sets() -> None:
    """Of three facts two have 1, one has 2 and one 3: by hand."""
    pieces = SharedPieces.of([(1, 2), (1,), (3, 3)])
    common, rare = np.log(4 / 3), np.log(4 / 2)
    assert pieces.idf.tolist() == pytest.approx([0.0, common, rare, rare])
    expected = common**2 / (np.hypot(common, rare) * common)
    overlaps = pieces([((1, 2), (1, 1)), ((1, 2), (2, 1)), ((3,), (1,)), ((), (1,)), ((99, 1), (99, 1))])
    assert overlaps.tolist() == pytest.approx([expected, 1.0, 0.0, 0.0, 1.0])
    assert overlaps.dtype == np.float32


@given(facts=st.lists(IDS, max_size=5), first=IDS, second=IDS)
def test_overlap_is_a_share_the_same_both_ways(facts: list[Ids], first: Ids, second: Ids) -> None:
    pieces = SharedPieces.of(facts)
    forward, backward = pieces([(first, second), (second, first)]).tolist()
    assert forward == pytest.approx(backward)
    assert 0 <= forward <= 1 + 1e-6


def test_overlap_is_added_to_what_a_scorer_says(fake: Any) -> None:
    plain = fake(by=lambda prefix, candidate: len(candidate))
    sharing = SharingScorer(plain, SharedPieces(np.ones(30, dtype=np.float32)), 10.0)
    pairs = [(tuple(a), tuple(b)) for a, b in zip(*map(sharing.tokenize, (["x y"], ["x"])), strict=True)]
    assert sharing.score(pairs).tolist() == pytest.approx([1 + 10 / np.sqrt(2)])
    assert (sharing.max_length, sharing.frame, sharing.spent) == (plain.max_length, plain.frame, plain.spent)


FACTS = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(["a b", "c d", "e f", "never"])))
AXES = np.eye(3, dtype=np.float32)


def _explanations() -> Explanations:
    """Two questions along two axes: the first explained by facts 0 and 1, the second by 1 and 2."""
    keys = tuple(premise_key(text) for text in FACTS.texts[:3])
    return Explanations(
        "tiny", AXES[:2].astype(np.float16), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), keys
    )


class _Vectors:
    """An encoder whose texts are vectors already."""

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        return np.array([[float(x) for x in text.split()] for text in texts], dtype=np.float32)


def _power(monkeypatch: pytest.MonkeyPatch, *, weight: float = 1.0, facts: FactTables = FACTS) -> Any:
    monkeypatch.setattr("entail.arcf.scoring.priors.load", lambda name: _Vectors())
    return PremisePriors(facts, explanations=_explanations(), weights=Weights(power=weight))


def test_power_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = _power(monkeypatch, weight=2.0).evidence("0.8 0.6 0")
    first, second = 0.8**4, 0.6**4
    near = {0: first, 1: first + second, 2: second, 3: 0.0}
    order = [3, 1, 0, 2]
    assert evidence((), order).tolist() == pytest.approx([2 * np.log1p(near[f]) for f in order], rel=2e-3)
    # Fact 2 is chosen: the explanation it stands in counts four times.
    second *= 4
    near = {0: first, 1: first + second, 3: 0.0}
    order = [0, 1, 3]
    assert evidence((2,), order).tolist() == pytest.approx([2 * np.log1p(near[f]) for f in order], rel=2e-3)
    assert evidence((3,), [0]).tolist() == evidence((), [0]).tolist()
    assert evidence((), []).shape == (0,)


def test_what_explained_like_questions_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside similarities a power counts .4, whatever its weight in a score is."""
    evidence = _power(monkeypatch, weight=5.0).evidence("0.8 0.6 0")
    assert evidence.neighbour_bonus[0] == pytest.approx(0.4 * np.log1p(0.8**4), rel=2e-3)
    words = np.array([[0.0, 0.0, 0.1, 0.2]], dtype=np.float32)
    near = Neighbourhoods(FACTS, k=2, similarities=lambda texts: words)
    assert near.of_text("0.8 0.6 0").tolist() == [3, 2]
    assert near.of_text("0.8 0.6 0", evidence=evidence).tolist() == [3, 1]


def test_accepted_premises_equal_questions_and_other_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    power = _power(monkeypatch)
    accepted = power.evidence("0.8 0.6 0", ["e f", "an own sentence"])
    assert accepted((), [0, 1]).tolist() == power.evidence("0.8 0.6 0")((2,), [0, 1]).tolist()
    for text in ("1 0 0", "-0.9 -0.4 0.17"):  # the same question as the first, and an opposite one
        assert power.evidence(text)((), [0, 1]).tolist() == [0, 0]
    other = FactTables((Fact("x", "new", "T"), Fact("y", "c d", "T")))
    evidence = _power(monkeypatch, facts=other).evidence("0.8 0.6 0")
    assert evidence((), [0, 1]).tolist() == pytest.approx([0, np.log1p(0.8**4 + 0.6**4)], rel=2e-3)
    with pytest.raises(EncoderError, match="vectors of 2 numbers"):
        power.evidence("0.6 0.8")


def test_explanations_are_read_as_they_were_written(tmp_path: Path) -> None:
    mine = _explanations()
    mine.save(tmp_path)
    read = Explanations.read(tmp_path, encoder="tiny")
    assert read.keys == mine.keys
    for part in ("vectors", "question", "fact"):
        np.testing.assert_array_equal(getattr(read, part), getattr(mine, part))
    assert "a b" not in (tmp_path / EXPLANATIONS).read_text(encoding="latin-1")

    torn = Explanations("tiny", mine.vectors[:1], mine.question, mine.fact, mine.keys)
    torn.save(tmp_path)
    with pytest.raises(EncoderError, match="expected explanations of 1 questions by 3 facts"):
        Explanations.read(tmp_path, encoder="tiny")


def test_questions_without_gold_in_the_tables_are_left_out(tiny_home: Path) -> None:
    questions = [
        Question("1", "ba", "bi", {"u0": "CENTRAL", "gone": "CENTRAL"}),
        Question("2", "bo", "bu", {"gone": "CENTRAL"}),
    ]
    explanations = Explanations.of(questions, FACTS, encoder="tiny")
    assert (explanations.vectors.shape[0], explanations.keys) == (1, (premise_key("a b"),))
    assert explanations.vectors.dtype == np.float16


def test_weights_of_what_is_known_are_learnt(tiny_home: Path) -> None:
    """If evidence is right and the overlap wrong, the first comes to count more, the second less."""
    tower = ScorerTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32, dropout=0.0)
    tower.add_shared_pieces(SharedPieces(np.ones(50, dtype=np.float32)), weight=3.0)
    tower.add_explanations(_explanations(), weight=2.0)
    tower.add_words(WordSimilarity.of(["ba"]), weight=4.0)
    pairs = [((7, 8), (9, 10)), ((7, 8), (7, 8))]
    evidence = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    scores = tower.scores(pairs, evidence)
    loss: Any = torch.nn.functional.softplus(scores[1] - scores[0])
    loss.backward()
    gradient = {name: _slope(tower, name) for name in (POWER, SHARED_PIECES, SIMILARITY)}
    assert gradient[POWER] < 0 < gradient[SHARED_PIECES]
    assert gradient[SIMILARITY] > 0
    plain = tower.outputs(pairs)[:, 0].detach()
    assert (scores.detach() - plain).tolist() == pytest.approx([2.0, 3.0 + 4.0], abs=1e-5)
    assert tower.score(pairs, evidence).tolist() == pytest.approx(scores.tolist(), abs=1e-5)


def _slope(tower: ScorerTower, name: str) -> float:
    gradient = tower.parameters[f"head.{name}"].grad
    assert gradient is not None
    return float(gradient)


@pytest.mark.parametrize("reading", ["joint", "apart"])
def test_a_scorer_ranks_as_it_was_trained(tiny_home: Path, world: Any, reading: Any) -> None:
    config = replace(SETTINGS, reading=reading)
    out = tiny_home / "mine"
    train_arcf(world.questions, world.facts, config, dev=world.dev, out=out)
    scorer = load_scorer("mine")
    assert scorer.form.shared_pieces
    assert scorer.form.encoder == "tiny"
    assert scorer.explanations is not None
    assert scorer.weights.power == pytest.approx(2.0, rel=0.5)
    assert scorer.weights.similarity == pytest.approx(4.0, rel=0.5)
    assert scorer.words is not None
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "explanatory power" in card

    near = Neighbourhoods(world.facts, k=6)
    question = world.dev[0]
    premises = PremiseScorer(scorer, world.facts)
    power, inputs = premises.priors, premises.inputs
    assert power is not None
    evidence = power.evidence(question.text)
    visible = near.of_text(question.text, evidence=evidence).tolist()
    assert premises.neighbours(question, near).tolist() == visible
    (question_ids,) = inputs.questions([(question.stem, question.answer)])

    # A chain's own scores are what is read and what is known, at every step.
    ranker = ChainRanker(scorer, near, search=Search(length=3, least=3))
    (ranked,) = ranker.rank([question])
    assert ranked.chain is not None
    assert list(ranked.chain.steps[0].candidates) == visible
    for number, step in enumerate(ranked.chain.steps):
        facts = ranked.chain.facts[:number]
        ids = inputs.prefix(question_ids, facts).ids
        scores = scorer.pairs.score([(ids, inputs.candidates[fact]) for fact in step.candidates])
        expected = scores + evidence(facts, step.candidates)
        np.testing.assert_allclose(step.scores, expected, rtol=1e-4, atol=1e-4)
        step_scores = premises.score(question, facts, step.candidates)
        np.testing.assert_allclose(step_scores.scores, expected, rtol=1e-4, atol=1e-4)
        assert step_scores.stop_score == pytest.approx(step.stop_score, abs=1e-4)
    (beam,) = ChainRanker(scorer, near, search=Search(length=1, least=1, beam=2)).rank([question])
    assert beam.chain is not None
    assert beam.chain.facts == ranked.chain.facts[:1]

    (alone,) = SingleFactRanker(scorer, near).rank([question])
    prefix, everything = inputs.prefix(question_ids, ()).ids, list(range(len(world.facts)))
    scores = scorer.pairs.score([(prefix, inputs.candidates[fact]) for fact in everything])
    scores = scores + evidence((), everything)
    assert scores[alone.ranking[0]] == pytest.approx(scores.max(), abs=1e-4)

    # A sentence to be explained, with what was accepted below it.
    sentence, accepted = "ba bi", (world.facts.texts[0],)
    (ids,) = inputs.questions([(sentence, "")])
    read = scorer.pairs.score([(inputs.prefix(ids, (), accepted=accepted).ids, inputs.candidates[1])])
    expected = read + power.evidence(sentence, accepted)((), [1])
    next_scores = score_next(scorer, sentence, accepted, [world.facts.texts[1]])
    assert next_scores.scores.tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    draft = draft_chain(sentence, accepted, premises, near)
    step_scores = premises.score(Question("", sentence, "", {}), (), draft.facts[:1], accepted=accepted)
    assert draft.scores[0] == pytest.approx(float(step_scores.scores[0]), abs=1e-4)


def test_without_terms_nothing_is_written(tiny_home: Path, world: Any) -> None:
    out = tiny_home / "mine"
    config = replace(SETTINGS, shared_pieces=0, power=0, similarity=0)
    train_arcf(world.questions, world.facts, config, out=out)
    assert not any((out / name).exists() for name in (IDF, EXPLANATIONS, WORDS))
    assert PremiseScorer(load_scorer("mine"), world.facts).priors is None
    assert "explanatory power" not in (out / "README.md").read_text(encoding="utf-8")


def test_damaged_files_and_scores_are_refused(tiny_home: Path, world: Any) -> None:
    out = tiny_home / "mine"
    train_arcf(world.questions, world.facts, SETTINGS, out=out)
    whole = load_scorer("mine")
    adapter = f"{ADAPTER}/adapter_model.safetensors"
    for file, tensor, value, message in (
        (HEAD, POWER, np.nan, f"{HEAD}.*'{POWER}'"),
        (HEAD, SHARED_PIECES, np.inf, f"{HEAD}.*'{SHARED_PIECES}'"),
        (HEAD, POWER, 200.0, "too large"),
        (IDF, "idf", np.nan, f"{IDF}.*'idf'"),
        (EXPLANATIONS, "vectors", np.inf, f"{EXPLANATIONS}.*'vectors'"),
        (adapter, "", np.nan, "adapter_model"),
    ):
        content, tensors = (out / file).read_bytes(), load_file(out / file)
        tensors[tensor or next(iter(tensors))].view(-1)[0] = value
        save_file(tensors, out / file)
        with pytest.raises(EncoderError, match=message):
            load_scorer("mine")
        (out / file).write_bytes(content)
    shutil.copyfile(out / IDF, out / EXPLANATIONS)
    with pytest.raises(EncoderError, match="'vectors'"):
        load_scorer("mine")
    (out / IDF).unlink()
    with pytest.raises(EncoderError, match=IDF):
        load_scorer("mine")

    # Every way to a score checks it with all its terms.
    scorer = replace(whole, weights=Weights(power=float("nan")))
    near, questions = Neighbourhoods(world.facts, k=6), world.dev[:1]
    rankers = [
        *(ChainRanker(scorer, near, search=how) for how in (Search(), Search(beam=2), Search(margin=1.0))),
        SingleFactRanker(scorer, near),
        PathRanker(scorer, near, top=2, linked=2),
    ]
    steps = PremiseScorer(scorer, world.facts)
    ways: list[Callable[[], Any]] = [
        *(partial(list, ranker.rank(questions)) for ranker in rankers),
        lambda: steps.score(questions[0], (), (0, 1)),
        lambda: score_next(scorer, "ba bi", ("bo",), [world.facts.texts[1]]),
        lambda: draft_chain("ba bi", ("bo",), steps, near),
    ]
    for way in ways:
        with pytest.raises(EvaluationError, match="no numbers"):
            way()


def test_a_weight_below_zero_is_refused() -> None:
    with pytest.raises(TrainingError, match="power"):
        replace(SETTINGS, power=-1.0)
