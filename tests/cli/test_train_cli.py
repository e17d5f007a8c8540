"""``entail train``: settings from presets, files and options; data from files and decisions in the app."""

from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.config import decisions_config
from entail.cli import main
from entail.training.fields import read_toml, values_of
from entail.training.method import methods

SMALL = ["--base", "tiny", "--epochs", "2", "--set", "rank=4", "--set", "k=8", "--set", "batch_size=8"]
SHOW = ["train", "aeenc", "--show-config"]


@pytest.fixture
def out(tiny_home: Path) -> Path:
    return tiny_home / "mine"


@pytest.fixture
def train(out: Path) -> list[str]:
    return ["train", "aeenc", "--out", str(out), *SMALL]


@pytest.mark.parametrize("name", list(methods()))
def test_printed_settings_give_themselves(
    name: str, run_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defaults = values_of(methods()[name].make_config({}))
    file = tmp_path / "config.toml"
    assert main(["train", name, "--show-config"]) == 0
    file.write_text(text := capsys.readouterr().out, encoding="utf-8")
    printed = run_json("train", name, "--show-config")
    assert printed.items() >= defaults.items()
    assert {field: value for field, value in printed.items() if value is not None} == read_toml(file)
    assert all(f"{field} =" in text for field in printed), "those without a value stand in comments"
    assert run_json("train", name, "--show-config", "--config", str(file)) == printed


def test_options_replace_files_which_replace_presets(run_json: Any, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("rank = 5\nepochs = 6\nseed = 7\nlearning_rate = 1\n", encoding="utf-8")
    arguments = ["--preset", "decisions", "--config", str(file), "--set", "epochs=8", "--set", "seed=9"]
    config = run_json(*SHOW, *arguments, "--set", "learning_rate=", "--seed", "10")
    expected = decisions_config(rank=5, epochs=8, seed=10, learning_rate=None)
    unset = dict.fromkeys(("extend", "hold_out", "encoding", "column"))
    assert config == values_of(expected) | unset | {"votes": "agree"}
    paper = values_of(methods()["aeenc"].presets["paper"])
    assert run_json(*SHOW, "--preset", "paper").items() >= paper.items()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "rnk=3"], ["rnk", "rank"]),
        (["--set", "rank=many"], ["rank", "a whole number, at least 1", "'many'"]),
        (["--set", "rank=0"], ["rank", "at least 1", "0"]),
        (["--set", "rank"], ["KEY=VALUE"]),
        (["--preset", "As in the paper"], ["As in the paper", "paper, decisions"]),
        (["--config", "broken.toml"], ["broken.toml", "line 2"]),
        (["--config", "typed.toml"], ["rank", "a whole number, at least 1", "'4'"]),
    ],
)
def test_wrong_settings(
    arguments: list[str], words: list[str], run_json: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text("rank = 4\nepochs\n", encoding="utf-8")
    Path("typed.toml").write_text('rank = "4"\n', encoding="utf-8")
    error = run_json(*SHOW, *arguments, code=1)["error"]
    assert error["type"] in ("SettingsError", "TrainingError")
    assert all(word in error["message"] for word in words), error["message"]


def test_train_with_missing_premises(
    run_json: Any,
    train: list[str],
    out: Path,
    grove: dict[str, Any],
    grove_files: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus, trees = grove_files
    command = [*train, "--corpus", str(corpus), "--trees", str(trees), "--dev", str(trees)]
    conclusions = {row["meta"]["intermediate_conclusions"]["int1"] for row in grove["rows"]}
    facts = [text for text in grove["facts"] if text not in conclusions]
    corpus.write_text("\n".join(facts), encoding="utf-8")
    assert main(command) == 0
    text = capsys.readouterr().out
    for piece in (
        "8 gold premises are not in corpus",
        "query excluded.MAP",
        "kept the weights of epoch",
        f"wrote {out}",
    ):
        assert piece in text
    report = run_json(*command, "--set", "extend=true", "--no-resume")
    assert report["missing"] == []
    assert report["counts"]["positives"] == 32
    # Measured on the corpus as given: a third is not there to be found.
    assert report["fitted"]["evaluations"][0]["figures"]["query_excluded.Hit@50"] == pytest.approx(24 / 32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --trees FILE or --from-log CORPUS"),
        (["--trees", "nowhere.jsonl"], "--corpus FILE with --trees"),
        (["--tables", "nowhere"], "No such option"),
    ],
)
def test_errors(run_json: Any, train: list[str], arguments: list[str], message: str) -> None:
    code = 2 if message == "No such option" else 1
    assert message in run_json(*train, *arguments, code=code)["error"]["message"]
