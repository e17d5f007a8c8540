"""Path-rerank and the ensemble: by hand, and from the command line."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.baselines import PathRanker, SingleFactRanker, fuse_rankings, rank_ensemble
from entail.arcf.chains.chain import Search
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ChainRanker, Ranked
from entail.arcf.scoring.scorer import Scorer, ScorerForm
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import SettingsError
from entail.index.protocol import Floats
from tests.arcf.conftest import SMALL

TEXTS = ["snow melts", "melting heat", "heat sun", "sun star", "rock", "the of"]
FACTS = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(TEXTS)))
ASKED = Question("Q", "q", "a", {})


def near(texts: Sequence[str]) -> Floats:
    """Facts are the nearer to any text the earlier they stand."""
    return np.tile(-np.arange(len(TEXTS), dtype=np.float32), (len(texts), 1))


def scorer_of(fake: Any, by: Any) -> Scorer:
    return Scorer("fake", "fake@1", ScorerForm(), fake(by))


def paths(fake: Any, by: Any, **told: Any) -> PathRanker:
    return PathRanker(scorer_of(fake, by), Neighbourhoods(FACTS, k=2, similarities=near), **told)


def test_chains_go_on_by_shared_stems(fake: Any) -> None:
    ranker = paths(fake, lambda a, b: 0.0)
    assert [links.tolist() for links in ranker.sharing(np.arange(6))] == [[1], [0, 2], [1, 3], [2], [], []]


def test_a_fact_has_the_score_of_its_best_chain(fake: Any) -> None:
    def by(prefix: list[str], candidate: list[str]) -> float:
        """Alone: snow 4, melting 1, the others 0; heat behind melting 9, melting behind snow 0."""
        behind = prefix[4:]
        if not behind:
            return {"snow": 4.0, "melting": 1.0}.get(candidate[0], 0.0)
        return {("melting", "heat"): 9.0, ("snow", "melting"): 0.0}.get((behind[0], candidate[0]), -5.0)

    ranker = paths(fake, by, top=2)
    (ranked,) = ranker.rank([ASKED])
    # (melting, heat) is (1 + 9) / 2 = 5, the best of both its facts; snow's is itself, 4.
    assert ranked.ranking.tolist() == [1, 2, 0, 3, 4, 5]
    assert ranked.chain is None
    # Two alone; behind snow one, behind melting two.
    assert ranker.scorer.pairs.calls == [2, 1, 2]  # type: ignore[attr-defined]  # of the fake
    few = paths(fake, by, top=2, linked=1)
    # Behind melting only snow, the nearer one, is tried: (1 - 5) / 2.
    assert next(few.rank([ASKED])).ranking.tolist() == [0, 1, 2, 3, 4, 5]
    assert few.scorer.pairs.calls == [2, 1, 1]  # type: ignore[attr-defined]  # of the fake


def test_facts_without_a_word_are_ranked_too(fake: Any) -> None:
    facts = FactTables((Fact("u0", "of the", "T"), Fact("u1", "the", "T")))
    around = Neighbourhoods(facts, k=1, similarities=lambda texts: near(texts)[:, :2])
    (ranked,) = PathRanker(scorer_of(fake, lambda a, b: float(b == ["the"])), around).rank([ASKED])
    assert ranked.ranking.tolist() == [1, 0]


def test_paths_that_cannot_be(fake: Any) -> None:
    for options in ({"top": 0}, {"linked": 0}):
        with pytest.raises(SettingsError, match="1 or more"):
            paths(fake, lambda a, b: 0.0, **options)


def test_ranks_are_fused_and_the_first_decides_what_is_even() -> None:
    assert fuse_rankings([np.array([0, 1]), np.array([1, 0])]).tolist() == [0, 1]
    assert fuse_rankings([np.array([1, 0]), np.array([0, 1])]).tolist() == [1, 0]
    # 1/61 + 1/64 = 0.03202 is more than 2/63 = 0.03175: first and fourth beats third twice.
    assert fuse_rankings([np.array([3, 2, 1, 0]), np.array([0, 2, 1, 3])]).tolist()[:2] == [2, 3]


def test_an_ensemble_ranks_question_by_question() -> None:
    questions = [Question(f"Q{i}", "q", "a", {}) for i in range(3)]
    ranked_ids: list[str] = []

    def part(name: str, order: list[int]) -> Iterator[Ranked]:
        for question in questions:
            ranked_ids.append(f"{name}{question.id}")
            yield Ranked(question, np.array(order))

    both = rank_ensemble([part("a", [0, 1, 2]), part("b", [2, 0, 1])], count=3)
    first = next(both)
    assert (first.question.id, first.ranking.tolist()) == ("Q0", [0, 2, 1])
    assert ranked_ids == ["aQ0", "bQ0"]
    assert [ranked.question.id for ranked in both] == ["Q1", "Q2"]


@pytest.mark.parametrize(
    ("max_length", "dropped"),
    [
        (30, {"arcf": 0, "single-fact": 0, "path-rerank": 0, "ensemble": 0}),
        (10, {"arcf": 1, "single-fact": 0, "path-rerank": 1, "ensemble": 1}),
        (8, {"arcf": -1, "single-fact": -1, "path-rerank": -1, "ensemble": -1}),
    ],
)
def test_every_ranking_tells_what_was_not_read(fake: Any, max_length: int, dropped: dict[str, int]) -> None:
    """Of a row 3 tokens are special and 2 a candidate's; the question has 4, each fact before it 2."""
    scorer = Scorer("fake", "fake@1", ScorerForm(), fake(lambda a, b: 0.0, max_length=max_length))
    around = Neighbourhoods(FACTS, k=2, similarities=near)
    alone, two = SingleFactRanker(scorer, around), PathRanker(scorer, around)
    rankings = {
        "arcf": ChainRanker(scorer, around, search=Search(length=2, least=2)).rank([ASKED]),
        "single-fact": alone.rank([ASKED]),
        "path-rerank": two.rank([ASKED]),
        "ensemble": rank_ensemble([alone.rank([ASKED]), two.rank([ASKED])], count=1),
    }
    assert {name: next(ranking).dropped for name, ranking in rankings.items()} == dropped
    assert not alone.inputs.cut


def test_measured_and_ranked_from_the_command_line(
    tiny_home: Path, tmp_path: Path, release: dict[str, Path], run_json: Callable[..., Any]
) -> None:
    tables, dev = ["--tables", str(release["tables"])], ["--questions", str(release["dev"])]
    inputs = [*tables, "--questions", str(release["train"]), *SMALL]
    run_json("train", "arcf", *inputs, "--out", str(tiny_home / "mine"))
    args = ["--scorer", "mine", "--limit", "2", "--paths", "3", "--linked", "2"]

    paths = run_json("evaluate", "chains", *tables, *dev, *args, "--method", "path-rerank")
    assert (paths["method"], paths["questions"]) == ("path-rerank", 2)
    assert (paths["settings"]["paths"], paths["settings"]["linked"]) == ("3", "2")
    assert paths["spent"]["rows"] <= 2 * (3 + 3 * 2)
    both = ["--method", "ensemble", "--parts", "path-rerank + tfidf", *args]
    together = run_json("evaluate", "chains", *tables, *dev, *both)
    assert together["settings"]["parts"] == "path-rerank+tfidf"
    out = tmp_path / "ranked.tsv"
    assert run_json("rank", *tables, *dev, *both, "--out", str(out))["ranked_now"] == 2
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2 * 96
    other = [*both, "--parts", "path-rerank=mine+arcf", "--k", "6"]
    message = run_json("rank", *tables, *dev, *other, "--out", str(out), code=1)["error"]["message"]
    assert "path-rerank+arcf" in message
    for parts in ("arcf", "arcf+magic"):
        wrong = ["--method", "ensemble", "--parts", parts, "--scorer", "mine"]
        assert "parts" in run_json("evaluate", "chains", *tables, *dev, *wrong, code=1)["error"]["message"]
