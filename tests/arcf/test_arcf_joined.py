"""ARCF from the command line and in the queue of trainings."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entail.arcf.method import WorldtreeSource, preview
from entail.arcf.training import train_arcf
from entail.errors import SettingsError
from entail.jobs.jobs import absolute
from entail.training.method import Run, method
from tests.arcf.conftest import TINY


@pytest.fixture
def tables(release: dict[str, Path]) -> list[str]:
    return ["--tables", str(release["tables"])]


@pytest.fixture
def dev(release: dict[str, Path], tables: list[str]) -> list[str]:
    return [*tables, "--questions", str(release["dev"])]


def test_a_scorer_is_measured_ranks_and_is_promoted(
    tiny_home: Path, world: Any, tmp_path: Path, tables: list[str], dev: list[str], run_json: Any
) -> None:
    mine, out = tiny_home / "mine", tmp_path / "figures.json"
    train_arcf(world.questions, world.facts, TINY, run=Run(data=["worldtree"], out=mine))
    lexical = run_json("evaluate", "chains", *dev, "--scorer", "tfidf")
    assert (lexical["questions"], lexical["release"]) == (6, "2020")
    assert 0 < lexical["MAP"] < 1
    args = ["--scorer", "mine", "--k", "6"]
    chains = run_json("evaluate", "chains", *dev, *args, "--limit", "3", "--out", str(out))
    assert chains["questions"] == 3
    assert chains["chain_length"] >= 3
    assert json.loads(out.read_text(encoding="utf-8"))["figures"]["MAP"] == chains["MAP"]

    command = ["rank", *tables, *args, "--answer", "bo", "--top", "5", "--question"]
    ranking = run_json(*command, "ba bi")
    assert [row["rank"] for row in ranking["ranking"]] == [1, 2, 3, 4, 5]
    assert ranking["ranking"][0]["chosen"]
    assert ranking["steps"][0]["chosen"] == ranking["ranking"][0]["uid"]
    assert ranking["stopped"] in ("bare prefix", "length", "nothing visible")
    assert run_json(*command, "ba bi", "--min-length", "9")["dropped"] > 0
    assert run_json(*command, "ba " * 60)["dropped"] == -1

    # Without a name it is the active one: what ships, until another is promoted.
    shutil.copytree(mine, mine.with_name("arcf-minilm"))
    unnamed = ["evaluate", "chains", *dev, "--k", "6", "--limit", "1"]
    assert run_json(*unnamed)["settings"]["scorer"].startswith("arcf-minilm@")
    for name in ("mine", "arcf-minilm"):
        card = run_json("card", str(mine.with_name(name)), "--results", str(out))["card"]
        assert f"| questions.dev.tsv ({chains['digest']}), 3 questions, k 6, length 9, least 3 |" in card
    promoted = run_json("promote", "mine")
    assert [row["second"] for row in promoted["known"] if row["same_data"]] == [chains["MAP"]]
    assert run_json(*unnamed)["settings"]["scorer"].startswith("mine@")


def test_mistakes_are_reported(
    tiny_home: Path, tmp_path: Path, release: dict[str, Path], tables: list[str], run_json: Any
) -> None:
    run_json("rank", *tables, "--scorer", "tfidf", "--question", " ", "--answer", "x", code=1)
    unnamed = ["evaluate", "chains", *tables, "--questions", str(release["dev"])]
    lost = run_json(*unnamed, code=1)["error"]["message"]
    assert "arcf-minilm" in lost
    head, *rows = [line.split("\t") for line in release["dev"].read_text(encoding="utf-8").splitlines()]
    at = head.index("explanation")

    def blind(name: str, some: list[list[str]]) -> list[str]:
        lines = [[*row[:at], "", *row[at + 1 :]] if row in some else row for row in rows]
        file = tmp_path / name
        file.write_text("\n".join("\t".join(row) for row in [head, *lines]), encoding="utf-8")
        return [*tables, "--questions", str(file), "--scorer", "tfidf"]

    message = run_json("evaluate", "chains", *blind("blind.tsv", rows), code=1)["error"]["message"]
    assert "found 6 without" in message
    # Questions without an explanation are counted, and not ranked.
    evaluation = run_json("evaluate", "chains", *blind("mixed.tsv", rows[1::3]))
    assert (evaluation["questions"], evaluation["without_gold"]) == (4, 2)


def test_training_data_are_previewed(release: dict[str, Path]) -> None:
    how = method("arcf")
    source = WorldtreeSource(tables=release["tables"], questions=release["train"], dev=release["dev"])
    summary = preview(source.read(), how.make_config({}))
    assert summary.counts == {"questions": 18, "reference facts": 54, "facts": 96, "dev questions": 6}
    assert summary.left_out == {}
    assert (len(summary.rows), summary.rows[0][3]) == (54, "CENTRAL")
    assert absolute(source)["tables"] == str(release["tables"])
    text = release["train"].read_text(encoding="utf-8")
    release["train"].write_text(text.replace("\tSUCCESS\t", "\tSUCCESS DUPMERGE\t", 2), encoding="utf-8")
    summary = preview(source.read(), how.make_config({}))
    left_out = {"questions without a usable explanation": 2}
    assert (summary.counts["questions"], summary.left_out) == (16, left_out)
    summary = preview(replace(source, unscored=True).read(), how.make_config({}))
    assert (summary.counts["questions"], summary.left_out) == (18, {})
    with pytest.raises(SettingsError):
        replace(source, questions=None)
