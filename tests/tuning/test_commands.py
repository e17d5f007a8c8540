"""Both stages from the command line and in the queue of trainings."""

import json
from pathlib import Path

import pytest

from entail.cli import main
from entail.encoders.catalogue import resolve
from entail.errors import SettingsError
from entail.jobs.jobs import absolute
from entail.training.fields import values_of
from entail.training.method import method
from entail.tuning.method import evaluate, preview
from entail.tuning.source import TuningSource

SMALL = [
    *("--base", "tiny", "--epochs", "1", "--set", "rank=2", "--set", "batch_size=8", "--set", "max_length=32")
]


def test_both_stages_from_the_command_line(
    tiny_home: Path, squad: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--questions", str(squad["train"]), "--dev", str(squad["dev"])]
    mixed = [*arguments, "--nli", str(squad["nli"])]
    tuned, mine = tiny_home / "tuned", tiny_home / "mine"
    assert main(["train", "tuning", *mixed, *SMALL, "--out", str(tuned)]) == 0
    assert "38 pairs" in capsys.readouterr().out
    assert main(["train", "dpr", *arguments, *SMALL, "--set", "initial=tuned", "--out", str(mine)]) == 0
    assert "36 questions" in capsys.readouterr().out
    record = json.loads((mine / "entail.json").read_text(encoding="utf-8"))
    assert record["tuned"]["revision"] == resolve("tuned").revision
    pool = ["--passages", str(squad["train"]), "--passages", str(squad["dev"])]
    options = ["--questions", str(squad["dev"]), "--encoder", "mine", "--json"]
    assert main(["evaluate", "passages", *pool, *options]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["questions"], figures["passages"]) == (12, 48)


def test_what_would_be_trained_on_is_shown_first(tiny_home: Path, squad: dict[str, Path]) -> None:
    how = method("tuning")
    source = TuningSource(questions=squad["train"], nli=(squad["nli"],))
    data_preview = preview(source.read(), how.make_config({"words": 3}))
    assert data_preview.counts == {
        "questions": 36,
        "passages": 36,
        "dev questions": 0,
        "entailments of other pairs": 2,
    }
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


def test_names_of_data_sets_are_no_files(squad: dict[str, Path]) -> None:
    source = TuningSource(questions=squad["train"], nli=(Path("snli"),))
    assert absolute(source)["nli"] == ["snli"]
    assert absolute(source)["questions"] == str(squad["train"])
    assert method("tuning").make_source(values_of(source)) == source
    with pytest.raises(SettingsError):
        TuningSource()
