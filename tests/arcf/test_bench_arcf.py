"""The bench of ARCF: its plain loop scores as the engine does, for both architectures."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.arcf.chains.chain import Search
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.training import train_arcf
from entail.cli import main
from entail.training.method import Run
from tests.arcf.conftest import TINY


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("bench_arcf")


@pytest.fixture(params=["cross", "bi"])
def scorer(request: pytest.FixtureRequest, tiny_home: Path, world: Any, write_bert: Any) -> str:
    """Train a scorer of this architecture over two layers, and return its folder's name."""
    (tiny_home / "tiny").unlink()
    write_bert(tiny_home / "tiny", num_hidden_layers=2)
    config = replace(TINY, architecture=request.param, learning_rate=0.02, similarity=0)
    train_arcf(world.questions, world.facts, config, run=Run(out=tiny_home / "mine"))
    return "mine"


def test_the_plain_loop_scores_and_chooses_as_the_engine(script: ModuleType, scorer: str, world: Any) -> None:
    near = Neighbourhoods(world.facts, k=6)
    ranker = ChainRanker(load_scorer(scorer, precision="fp32"), near, search=Search(length=3, least=3))
    plain = script.ruler(scorer, ranker, near)
    for question in world.dev:
        (ranked,) = ranker.rank([question])
        facts, step_scores = plain.chain(question)
        assert ranked.chain is not None
        assert facts == list(ranked.chain.facts)
        for step, scores in zip(ranked.chain.steps, step_scores, strict=True):
            for fact, score in zip(step.candidates, step.scores, strict=True):
                assert scores[fact] == pytest.approx(score, abs=1e-4)
        same, of = script.same_steps(plain, question, ranked.chain, step_scores)
        assert (same, of) == (3, 3)


def test_the_program_measures_and_draws_growth(
    load_script: Callable[[str], ModuleType],
    script: ModuleType,
    scorer: str,
    release: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "GROW_K", (2, 4))
    monkeypatch.setattr(script, "GROW_L", (1, 2))
    out = tmp_path / "speed.json"
    argv = ["bench", "--tables", str(release["tables"]), "--questions", str(release["dev"])]
    argv += ["--out", str(out)]
    argv += ["--scorer", scorer, "--k", "6", "--sample", "3", "--length", "3", "--grow"]
    monkeypatch.setattr("sys.argv", argv)
    alone: list[list[str]] = []

    def run(command: list[str], **how: Any) -> Any:
        return alone.append(command) if command[0] == sys.executable else really(command, **how)

    really = subprocess.run
    monkeypatch.setattr(subprocess, "run", run)
    assert script.main() == 0
    assert main(alone[0][3:]) == 0  # what another process would be asked for can be asked for
    result = json.loads(out.read_text())
    figures = result["figures"]
    assert set(figures["engines"]) == {"default", "default, all facts read before"}
    assert figures["engines"]["default"]["same_choice"] == 1
    assert figures["engines"]["default"]["MAP_difference"] == pytest.approx(0, abs=1e-6)
    assert figures["grow"]["k"]["at"] == [2, 4]
    tokens = figures["grow"]["L"]["a_question"]["ruler, tokens"]
    assert tokens[1] > 1.5 * tokens[0]  # a second step reads all that is visible once more, and a prefix
    assert figures["memory_mb"]["peak of the process"] > 0
    page = "\n".join(load_script("write_speed")._arcf(result))
    assert "| default | " in page
    assert page.count("xychart-beta") == 2
