"""Figures of a scorer's rankings: from a result file to its card, never those of another scorer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.cli.rank import RankingOptions
from entail.encoders.weights import folder_digest
from entail.errors import EncoderError
from entail.training.cards.metadata import read_facts, update_facts
from entail.training.cards.metrics import DEFAULT_RANKING, ChainMetrics
from entail.training.cards.template import model_card

REVISION = "mine@0a0a0a+tiny@1b1b1b"
SETTINGS = {"method": "arcf", "scorer": REVISION, "precision": "auto", "k": "60", **DEFAULT_RANKING}


def result(file: Path, *, scorer: str = REVISION, **figures: Any) -> Path:
    """Write the parts of `entail evaluate chains --out` that cards read."""
    figures = {
        **{"MAP": 0.5, "interval": [0.4, 0.6], "questions": 1234, "facts": 9720, "digest": "abc"},
        **{"method": "arcf", "source": "questions.dev.tsv", "settings": SETTINGS | {"scorer": scorer}},
        **figures,
    }
    file.write_text(json.dumps({"figures": figures, "commit": "c0ffee", "seed": None}), "utf-8")
    return file


@pytest.fixture
def scorer(scorer_folder: Callable[..., Path]) -> tuple[Path, str]:
    """A scorer's folder and its revision."""
    from entail.hub.push import find_cross

    folder = scorer_folder("mine", dev={"step MAP": 0.3})
    parts = find_cross(folder)
    assert parts is not None
    return folder, parts.revision


def test_default_settings_are_those_of_the_command() -> None:
    options = {name: "min_length" if name == "least" else name for name in DEFAULT_RANKING}
    values = {name: str(getattr(RankingOptions(), option)) for name, option in options.items()}
    assert values == DEFAULT_RANKING


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"scorer": "mine@ffffff+tiny@1b1b1b"}, "arcf by mine@ffffff"),
        ({"settings": {"method": "tfidf"}, "method": "tfidf"}, "tfidf by no scorer"),
        ({"method": "ensemble"}, "ensemble by mine@"),
        ({"interval": [0.4]}, "interval"),
        ({"settings": None}, "entail evaluate chains --scorer mine --out FILE"),
    ],
)
def test_other_figures_are_refused(
    tmp_path: Path, scorer: tuple[Path, str], figures: dict[str, Any], says: str
) -> None:
    folder, revision = scorer
    before = (folder / "entail.json").read_bytes()
    good = result(tmp_path / "good.json", scorer=revision)
    bad = result(tmp_path / "bad.json", **{"scorer": revision, **figures})
    with pytest.raises(EncoderError, match=rf"(?s)bad\.json: .*{says}"):
        update_facts(folder, results=[good, bad])
    assert (folder / "entail.json").read_bytes() == before


def test_newer_figures_replace_older_ones_on_the_same_data(tmp_path: Path, scorer: tuple[Path, str]) -> None:
    folder, revision = scorer
    digest = folder_digest(folder)

    def after(name: str, **figures: Any) -> list[tuple[str, float]]:
        update_facts(folder, results=[result(tmp_path / name, scorer=revision, **figures)])
        record = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
        assert record["figures"]["dev"] == {"step MAP": 0.3}
        return [(metrics.source, metrics.map) for metrics in read_facts(folder).of_kind(ChainMetrics)]

    assert after("b.json") == [("b", 0.5)]
    assert after("b.json", MAP=0.6, digest="def") == [("b", 0.6)], "the same file"
    assert after("c.json", MAP=0.7, digest="def") == [("c", 0.7)], "the same data"
    assert after("a.json", MAP=0.8) == [("a", 0.8), ("c", 0.7)]
    lexical = SETTINGS | {"method": "tfidf", "scorer": revision}
    assert after("d.json", method="tfidf", settings=lexical, MAP=0.1)[-1] == ("d", 0.1)
    assert folder_digest(folder) == digest
    assert "0.800" in model_card(folder)


def test_a_judge_takes_no_figures_of_chains(
    tmp_path: Path, scorer_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    judge = scorer_folder("weigh")
    (judge / "entail.json").write_text('{"method": "judge", "base": "tiny", "judge": {"a": 1}}', "utf-8")
    assert main(["card", str(judge), "--results", str(result(tmp_path / "a.json"))]) == 1
    assert "entail evaluate nli --judge weigh" in capsys.readouterr().err
