"""What a reader of pairs says of unjudged sentences is learnt as a ranking."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.encoder import BiEncoder
from entail.errors import CheckpointError, RetrievalError, TrainingError
from entail.training.distillation.teachers import CrossEncoderTeacher, Teaching, score_nearest, teach

Trees = Sequence[ExplanationTree]
CORPUS = Corpus.of("letters", ["a", "b", "c", "d"])
PREMISES = np.eye(4, dtype=np.float32)


SETTINGS: dict[str, Any] = {
    "base": "tiny",
    "rank": 4,
    "batch_size": 8,
    "learning_rate": 0.01,
    "precision": "fp32",
    "rounds": 0,
    "alpha": 0.0,
}


def teaching() -> Teaching:
    vectors = np.array([[0.8, 0.6, 0, 0], [0, 0, 0.6, 0.8]], dtype=np.float32)
    return Teaching(("x", "d"), vectors, ("t",))


def asked_of(said: dict[tuple[str, str], float]) -> Any:
    def says(premises: Sequence[str], sentences: Sequence[str]) -> NDArray[np.float32]:
        return np.array(
            [said.get(pair, 0.0) for pair in zip(premises, sentences, strict=True)], dtype=np.float32
        )

    return says


def test_the_nearest_are_read_and_of_itself_nothing_is_said() -> None:
    says = asked_of({("b", "x"): 0.9, ("d", "d"): 1.0, ("c", "d"): 0.5})
    found = score_nearest(teaching(), CORPUS, PREMISES, says, reader="judge", nearest=2)
    assert found.positions.tolist() == [[0, 1], [3, 2]]
    np.testing.assert_allclose(found.scores, [[0.0, 0.9], [0.0, 0.5]])
    assert found.teachers == ("t", "judge")
    left = found.without({"x"})
    assert left.sentences == ("d",)
    assert left.positions.tolist() == [[3, 2]]
    assert (
        len({found.digest, left.digest, score_nearest(teaching(), CORPUS, PREMISES, says, reader="j").digest})
        == 3
    )
    assert score_nearest(teaching(), CORPUS, PREMISES, says, reader="j", nearest=99).positions.shape == (2, 4)


def test_the_distance_is_that_of_two_rankings_by_hand() -> None:
    places, said = np.array([[0, 1], [3, 2]]), np.array([[0.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    reading = CrossEncoderTeacher(teaching(), places, said, "judge", share=0.4, temperature=0.5)
    distance = reading.distance(torch.from_numpy(PREMISES))
    wanted = np.exp(np.array([0.8, 0.6 + 0.4, 0, 0]) / 0.5)
    wanted /= wanted.sum()
    ours = np.exp(np.array([0.8, 0.6, 0, 0]) / 0.5)
    ours /= ours.sum()
    expected = (wanted * np.log(wanted / ours)).sum()
    first = torch.from_numpy(teaching().vectors[:1]).requires_grad_()
    found = distance(first, torch.tensor([0]))
    assert found.item() == pytest.approx(expected, rel=1e-5)
    found.backward()
    assert first.grad is not None
    assert first.grad[0, 1] < 0 < first.grad[0, 0]  # towards what the reader prefers
    second = torch.from_numpy(teaching().vectors[1:])
    assert distance(second, torch.tensor([1])).item() == pytest.approx(
        0, abs=1e-6
    )  # who agrees learns nothing
    both = distance(torch.from_numpy(teaching().vectors), torch.tensor([0, 1]))
    assert both.item() == pytest.approx(expected / 2, rel=1e-5)


@pytest.mark.parametrize("wrong", ["positions", "scores", "temperature"])
def test_what_does_not_fit_is_refused(wrong: str) -> None:
    given: dict[str, Any] = {
        "positions": np.zeros((2, 3), dtype=np.int64),
        "scores": np.zeros((2, 3)),
        "temperature": 1,
    }
    given[wrong] = {"temperature": 0.0}.get(wrong, np.zeros((1, 3), dtype=np.int64))
    with pytest.raises(TrainingError, match="of shape"):
        CrossEncoderTeacher(teaching(), reader="judge", share=0.1, **given)


def test_nothing_to_read_is_refused() -> None:
    with pytest.raises(RetrievalError, match="k of 1 or more"):
        score_nearest(teaching(), CORPUS, PREMISES, asked_of({}), reader="judge", nearest=0)
    with pytest.raises(TrainingError, match="expected sentences"):
        score_nearest(teaching().without({"x", "d"}), CORPUS, PREMISES, asked_of({}), reader="judge")


def test_a_tower_learns_the_ranking(home: Path, facts: Corpus, trees: Trees) -> None:
    teaching = teach(["tiny"], facts.texts)
    premises = BiEncoder("tiny").encode_premises(facts.texts)

    liked = set(facts.texts[::2])

    def says(premises: Sequence[str], sentences: Sequence[str]) -> NDArray[np.float32]:
        return np.array([float(premise in liked) for premise in premises], dtype=np.float32)

    reading = score_nearest(
        teaching, facts, premises, says, reader="judge", nearest=8, share=0.5, temperature=0.2
    )

    def far(encoder: str | Path) -> float:
        vectors = BiEncoder(encoder).encode_queries(reading.sentences)
        every = torch.arange(len(reading.sentences))
        return float(reading.distance(torch.from_numpy(premises))(torch.from_numpy(vectors), every))

    settings = AeencConfig(**SETTINGS, epochs=20, distil=100.0, sentences=16)
    training = train_aeenc(facts, settings, trees=trees, out=home / "taught", teaching=reading)
    assert training.teachers == ("tiny", "judge")
    train_aeenc(facts, AeencConfig(**SETTINGS, epochs=4), trees=trees, out=home / "alone")
    assert far(home / "taught") < 0.85 * min(far("tiny"), far(home / "alone"))
    other = score_nearest(teaching, facts, premises, says, reader="judge", nearest=8, share=0.4)
    with pytest.raises(TrainingError, match="towers=single"):
        train_aeenc(
            facts, AeencConfig(**SETTINGS, distil=1.0, towers="siamese"), trees=trees, teaching=reading
        )
    stopped = home / "stopped"
    with pytest.raises(TrainingError, match="stopped"):
        train_aeenc(facts, settings, trees=trees, out=stopped, teaching=reading, stop=lambda: True)
    with pytest.raises(CheckpointError, match="teaching"):
        train_aeenc(facts, settings, trees=trees, out=stopped, teaching=other)
