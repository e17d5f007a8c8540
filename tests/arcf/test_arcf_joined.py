"""ARCF from the command line and in the queue of trainings."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from entail.arcf.method import preview
from entail.arcf.source import WorldtreeSource
from entail.cli import main
from entail.errors import SettingsError
from entail.jobs.candidates import Candidate
from entail.jobs.inputs import absolute
from entail.training.method import method
from tests.arcf.conftest import SMALL


def test_trained_measured_and_ranked_from_the_command_line(
    tiny_home: Path,
    tmp_path: Path,
    release: dict[str, Path],
    world: Any,
    run_json: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables, dev = ["--tables", str(release["tables"])], ["--questions", str(release["dev"])]
    inputs = [*tables, "--questions", str(release["train"]), "--dev", str(release["dev"])]
    assert (
        main(["train", "arcf", *inputs, *SMALL, "--out", str(tiny_home / "mine"), "--data", "worldtree"]) == 0
    )
    assert "18 questions, 54 gold facts" in capsys.readouterr().out
    assert (tiny_home / "mine" / "README.md").is_file()

    lexical = run_json("evaluate", "chains", *tables, *dev, "--method", "tfidf")
    assert lexical["questions"] == 6
    assert lexical["method"] == "tfidf"
    assert lexical["release"] == "2020"
    assert 0 < lexical["MAP"] < 1
    assert set(lexical["by_role"]) == {"CENTRAL", "GROUNDING", "LEXGLUE"}
    assert lexical["by_hops_visible"]
    args = [*tables, *dev, "--scorer", "mine", "--k", "6"]
    out = tmp_path / "figures.json"
    chains = run_json("evaluate", "chains", *args, "--limit", "3", "--out", str(out))
    assert chains["questions"] == 3
    assert chains["spent"]["passes"] > 0
    assert chains["chain_length"] >= 3
    assert json.loads(out.read_text(encoding="utf-8"))["figures"]["MAP"] == chains["MAP"]
    alone = run_json("evaluate", "chains", *args, "--method", "single-fact", "--sample", "2", "--first", "20")
    assert alone["questions"] == 2
    assert alone["learnt_on"] == {"single-fact": "arcf"}
    assert "learnt_on" in chains
    blind = run_json("evaluate", "chains", *args, "--limit", "3", "--without-answer", "--prune")
    assert {name for name in blind["settings"] if name not in chains["settings"]} == {
        "without_answer",
        "prune",
    }
    answers = run_json("evaluate", "answers", *args, "--limit", "3")
    assert (answers["questions"], answers["chance"]) == (3, 0.5)
    assert 0 <= answers["interval"][0] <= answers["accuracy"] <= answers["interval"][1]
    assert answers["nearest premise"]["questions"] == 3
    assert "tfidf" in run_json("evaluate", "answers", *args, "--method", "tfidf", code=1)["error"]["message"]

    single = ["--scheme", "single-fact", "--out", str(tiny_home / "alone")]
    assert main(["train", "arcf", *inputs, *SMALL, *single]) == 0
    assert "MAP" in capsys.readouterr().out
    for by in ("single-fact", "path-rerank"):
        evaluation = run_json("evaluate", "chains", *tables, *dev, "--method", by, "--limit", "1")
        assert evaluation["learnt_on"] == {by: "single-fact"}

    ranked = tmp_path / "ranked.tsv"
    assert main(["rank", *args, "--limit", "2", "--out", str(ranked)]) == 0
    capsys.readouterr()
    lines = ranked.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 * 96
    ranked.write_text("\n".join(lines[:100]) + "\n", encoding="utf-8")
    assert main(["rank", *args, "--limit", "2", "--out", str(ranked)]) == 0
    assert "ranked 1 questions, 1 were ranked before" in capsys.readouterr().out
    assert ranked.read_text(encoding="utf-8").splitlines() == lines
    again = run_json("evaluate", "chains", *args, "--limit", "2", "--predictions", str(ranked))
    assert again["ranked_now"] == 0
    assert again["questions"] == 2

    set_beside = ["evaluate", "chains", *tables, *dev, "--method", "tfidf", "--beside", str(ranked)]
    compared = run_json(*set_beside, "--limit", "2")
    record = compared["beside"][str(ranked)]
    assert (record["first"], record["second"]) == (again["MAP"], compared["MAP"])
    assert record["difference"] == pytest.approx(compared["MAP"] - again["MAP"])
    assert main([*set_beside, "--limit", "2"]) == 0
    assert f"{record['difference']:+.3f}" in capsys.readouterr().out
    assert "found none of 4" in run_json(*set_beside, code=1)["error"]["message"]

    # Where none is named it is the one in use: what ships, until another is promoted.
    shutil.copytree(tiny_home / "mine", tiny_home / "arcf-minilm")
    unnamed = ["evaluate", "chains", *tables, *dev, "--k", "6", "--limit", "1"]
    assert run_json(*unnamed)["settings"]["scorer"].startswith("arcf-minilm@")
    assert "found none" in run_json("promote", "mine", code=1)["error"]["message"]
    for name in ("mine", "arcf-minilm"):
        card = run_json("card", str(tiny_home / name), "--results", str(out))["card"]
        assert f"| questions.dev.tsv ({chains['digest']}), 3 questions, k = 6 | `arcf` | 96 |" in card
    promoted = run_json("promote", "mine")
    assert [row["second"] for row in promoted["known"] if row["same_data"]] == [chains["MAP"]]
    assert run_json(*unnamed)["settings"]["scorer"].startswith("mine@")

    record = run_json(
        "rank", *tables, "--scorer", "mine", "--question", "ba bi", "--answer", "bo", "--top", "5"
    )
    assert [row["rank"] for row in record["ranking"]] == [1, 2, 3, 4, 5]
    assert record["ranking"][0]["chosen"]
    assert record["stopped"] in ("bare prefix", "length", "nothing visible")


def test_mistakes_are_told(
    tiny_home: Path, tmp_path: Path, release: dict[str, Path], run_json: Callable[..., Any]
) -> None:
    tables, dev = ["--tables", str(release["tables"])], ["--questions", str(release["dev"])]
    assert "expected --question and --answer" in run_json("rank", *tables, code=1)["error"]["message"]
    options = [*tables, "--method", "tfidf", "--question", " ", "--answer", "x"]
    assert "found an empty one" in run_json("rank", *options, code=1)["error"]["message"]
    lost = run_json("evaluate", "chains", *tables, *dev, code=1)["error"]["message"]
    assert "no scorer of facts is called 'arcf-minilm'" in lost
    both = [*tables, *dev, "--method", "tfidf", "--limit", "2", "--sample", "2"]
    assert "found both" in run_json("evaluate", "chains", *both, code=1)["error"]["message"]
    text = release["dev"].read_text(encoding="utf-8")
    head, *rows = [line.split("\t") for line in text.splitlines()]
    at = head.index("explanation")
    blind = tmp_path / "blind.tsv"
    blind.write_text(
        "\n".join(
            "\t".join([*row[:at], "", *row[at + 1 :]] if row in rows else row) for row in [head, *rows]
        ),
        encoding="utf-8",
    )
    # Before anything is ranked, and before there is a scorer to rank with.
    for kind in ("tfidf", "arcf"):
        inputs = [*tables, "--questions", str(blind), "--method", kind]
        message = run_json("evaluate", "chains", *inputs, code=1)["error"]["message"]
        assert "found 6 without" in message


def test_questions_without_an_explanation_are_counted_and_not_ranked(
    tiny_home: Path, tmp_path: Path, release: dict[str, Path], run_json: Callable[..., Any]
) -> None:
    head, *rows = [line.split("\t") for line in release["dev"].read_text(encoding="utf-8").splitlines()]
    for row in rows[1::3]:
        row[head.index("explanation")] = ""
    mixed, file = tmp_path / "mixed.tsv", tmp_path / "ranked.tsv"
    mixed.write_text("\n".join("\t".join(row) for row in [head, *rows]), encoding="utf-8")
    inputs = ["--tables", str(release["tables"]), "--questions", str(mixed), "--method", "tfidf"]
    evaluation = run_json("evaluate", "chains", *inputs, "--predictions", str(file))
    assert (evaluation["questions"], evaluation["without_gold"], evaluation["ranked_now"]) == (4, 2, 4)
    ranked = {line.split("\t")[0] for line in file.read_text(encoding="utf-8").splitlines()}
    assert ranked == {row[0] for row in rows if row not in rows[1::3]}


def test_what_does_not_fit_is_told(
    tiny_home: Path,
    tmp_path: Path,
    release: dict[str, Path],
    run_json: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables, dev = ["--tables", str(release["tables"])], ["--questions", str(release["dev"])]
    inputs = [*tables, "--questions", str(release["train"]), *SMALL]
    run_json("train", "arcf", *inputs, "--out", str(tiny_home / "mine"))
    args = [*tables, "--scorer", "mine", "--k", "6"]
    command = ["rank", *args, "--question", "ba bi", "--answer", "bo"]
    ranking = run_json(*command, "--length", "2")
    assert (ranking["dropped"], ranking["unread"]) == (0, unread())
    ranking = run_json(*command, "--least", "9")
    assert ranking["dropped"] > 0
    assert ranking["unread"] == unread(explanations_cut=1)
    for how in ("arcf", "single-fact", "path-rerank"):
        long = ["rank", *args, "--question", "ba " * 60, "--answer", "bo", "--method", how]
        assert run_json(*long)["unread"] == unread(questions_cut=1)

    table = release["tables"] / "T.tsv"
    table.write_text(table.read_text(encoding="utf-8") + "ba " * 60 + "\tx\tlong\n", encoding="utf-8")
    file = ["--out", str(tmp_path / "ranked.tsv")]
    both = ["--method", "ensemble", "--parts", "arcf+tfidf", "--least", "9", "--limit", "2"]
    assert run_json("rank", *args, *dev, *both, *file)["unread"] == unread(explanations_cut=2, facts_cut=1)
    assert main(["evaluate", "chains", *args, *dev, *both]) == 0
    assert "2 explanations" in capsys.readouterr().out


def unread(**counts: int) -> dict[str, int]:
    return {"questions_cut": 0, "explanations_cut": 0, "facts_cut": 0, **counts}


def test_rows_that_cannot_be_read_are_reported(
    tiny_home: Path, tmp_path: Path, release: dict[str, Path], run_json: Callable[..., Any]
) -> None:
    text = release["dev"].read_text(encoding="utf-8")
    partly = tmp_path / "partly.tsv"
    partly.write_text(text.replace("|CENTRAL", "", 1) + "no row\n", encoding="utf-8")
    inputs = ["--tables", str(release["tables"]), "--questions", str(partly), "--method", "tfidf"]
    for command in (
        ["evaluate", "chains", *inputs],
        ["rank", *inputs, "--out", str(tmp_path / "ranked.tsv")],
    ):
        report = run_json(*command)
        assert [text[:20] for text in report["warnings"] + report["problems"]] == [
            "partly.tsv, line 2 (",
            "partly.tsv, line 8: ",
        ]


def test_what_would_be_trained_on_is_shown_first(release: dict[str, Path]) -> None:
    how = method("arcf")
    source = WorldtreeSource(
        tables=release["tables"], questions=release["train"], dev=release["dev"], limit=5
    )
    summary = preview(source.read(), how.make_config({}))
    assert summary.counts == {"questions": 5, "gold facts": 15, "facts": 96, "dev questions": 6}
    assert summary.left_out == {}
    assert len(summary.rows) == 15
    assert summary.rows[0][3] == "CENTRAL"
    assert str(source) == "the first 5 of questions.train.tsv"
    assert absolute(source)["tables"] == str(release["tables"])
    assert how.evaluate is None
    assert how.list_changes({"k": 60}) == {"k": 60}
    release["train"].write_text(
        release["train"].read_text().replace("\tSUCCESS\t", "\tSUCCESS DUPMERGE\t", 2)
    )
    source = replace(source, limit=None)
    summary = preview(source.read(), how.make_config({}))
    assert (summary.counts["questions"], summary.left_out) == (
        16,
        {"questions without a usable explanation": 2},
    )
    summary = preview(replace(source, unscored=True).read(), how.make_config({}))
    assert (summary.counts["questions"], summary.left_out) == (18, {})


def test_both_files_have_to_be_given(release: dict[str, Path]) -> None:
    with pytest.raises(SettingsError, match="--questions"):
        WorldtreeSource(tables=release["tables"])
    with pytest.raises(SettingsError, match="limit"):
        WorldtreeSource(tables=release["tables"], questions=release["train"], limit=0)


def test_a_scorer_ranks_for_no_corpus() -> None:
    job: Any = SimpleNamespace(name="mine", spec=SimpleNamespace(method="arcf"))
    assert "scorer of facts" in str(Candidate(job, None, None).problem)
