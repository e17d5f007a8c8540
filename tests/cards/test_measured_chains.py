"""Figures of a scorer's rankings: out of a result file, onto its card, never those of another."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entail.cards.measured_chains import USUAL, measured_chains, read_measured_chains, remember_chains
from entail.cli import main
from entail.cli.ranking import RankingOptions
from entail.encoders.weights import folder_digest
from entail.errors import EncoderError

REVISION = "mine@0a0a0a+tiny@1b1b1b"
SETTINGS = {"method": "arcf", "scorer": REVISION, "precision": "auto", "k": "60", **USUAL}


def result(file: Path, **told: Any) -> Path:
    """Write what `entail evaluate chains --out` writes, as far as a card is concerned."""
    figures = {
        **{"MAP": 0.5, "interval": [0.4, 0.6], "questions": 1234, "facts": 9720, "digest": "abc"},
        **{"method": "arcf", "source": "questions.dev.tsv", "settings": SETTINGS},
    }
    file.write_text(json.dumps({"figures": figures | told, "commit": "c0ffee", "seed": None}), "utf-8")
    return file


def test_what_a_result_file_says(tmp_path: Path) -> None:
    found = read_measured_chains(result(tmp_path / "ours.json"), "elsewhere@0a0a0a+tiny@1b1b1b")
    assert (found.source, found.map, found.interval) == ("ours", 0.5, (0.4, 0.6))
    assert found.place == "questions.dev.tsv (abc), 1,234 questions, k = 60"
    assert found.about == {"commit": "c0ffee", "seed": None}
    other = replace(found, settings={**found.settings, "margin": "1.0", "precision": "bf16"})
    assert other.place == f"{found.place}, margin = 1.0"


def test_what_is_usual_is_what_the_command_takes() -> None:
    assert {name: str(getattr(RankingOptions(), name)) for name in USUAL} == USUAL


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (
            {"settings": SETTINGS | {"scorer": "mine@ffffff+tiny@1b1b1b"}},
            "found those of arcf by mine@ffffff",
        ),
        ({"settings": {"method": "tfidf"}, "method": "tfidf"}, "found those of tfidf by no scorer"),
        ({"method": "ensemble"}, "found those of ensemble by mine@0a0a0a"),
        ({"interval": [0.4]}, "as `entail evaluate chains --out` writes them, found something else"),
        ({"settings": None}, "found something else"),
    ],
)
def test_figures_of_something_else_are_refused(
    tmp_path: Path, scorer_folder: Callable[..., Path], told: dict[str, Any], says: str
) -> None:
    folder = scorer_folder("mine")
    before = (folder / "entail.json").read_bytes()
    good, bad = result(tmp_path / "good.json"), result(tmp_path / "bad.json", **told)
    with pytest.raises(EncoderError, match=f"bad.json: .*{says}"):
        remember_chains(folder, [good, bad], revision=REVISION)
    assert (folder / "entail.json").read_bytes() == before


def test_no_result_file_at_all(tmp_path: Path) -> None:
    for text in ("[]", '{"figures": 3}', '{"figures": {"MAP": 0.5, "settings": {}}}'):
        (tmp_path / "a.json").write_text(text, "utf-8")
        with pytest.raises(EncoderError, match="expected a result file of this version"):
            read_measured_chains(tmp_path / "a.json", REVISION)


def test_newer_figures_take_the_place_of_older_ones_on_the_same_data(
    tmp_path: Path, scorer_folder: Callable[..., Path]
) -> None:
    folder = scorer_folder("mine", dev={"step MAP": 0.3})
    digest = folder_digest(folder)

    def after(name: str, **told: Any) -> list[tuple[str, float]]:
        remember_chains(folder, [result(tmp_path / name, **told)], revision=REVISION)
        card = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
        assert card["figures"]["dev"] == {"step MAP": 0.3}
        return [(one.source, one.map) for one in measured_chains(card, name="mine")]

    assert after("b.json") == [("b", 0.5)]
    assert after("b.json", MAP=0.6, digest="def") == [("b", 0.6)], "the same file"
    assert after("c.json", MAP=0.7, digest="def") == [("c", 0.7)], "the same data"
    assert after("a.json", MAP=0.8) == [("a", 0.8), ("c", 0.7)]
    single = SETTINGS | {"method": "single-fact"}
    assert after("d.json", method="single-fact", settings=single, MAP=0.1)[-1] == ("d", 0.1)
    assert folder_digest(folder) == digest


def test_what_was_written_otherwise_is_told(scorer_folder: Callable[..., Path]) -> None:
    folder = scorer_folder("mine", measured_chains=[{"source": "s"}])
    with pytest.raises(EncoderError, match=r"mine: expected figures.measured_chains in entail.json"):
        remember_chains(folder, [], revision=REVISION)


def test_a_judge_takes_no_figures_of_chains(
    tmp_path: Path, scorer_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    judge = scorer_folder("weigh")
    (judge / "entail.json").write_text('{"method": "judge", "base": "tiny", "judge": {"a": 1}}', "utf-8")
    assert main(["card", str(judge), "--results", str(result(tmp_path / "a.json"))]) == 1
    assert "weigh: expected a scorer of facts beside result files" in capsys.readouterr().err
