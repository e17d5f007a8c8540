"""Methods of other packages, fields of a configuration, training data that are kept."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge

from entail.aeenc.config import AeencConfig
from entail.aeenc.method import AEENC, preview
from entail.aeenc.source import TrainingData, TreeSource, hold_out
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.errors import JobError, SettingsError
from entail.training import method
from entail.training.cards.sources import TEAM
from entail.training.fields import config_of, fields_of, list_changes, values_of
from entail.training.method import broken_methods, methods
from tests.jobs.conftest import clear_methods


@dataclass(frozen=True, kw_only=True)
class Config:
    needed: Annotated[str, "a name"]
    many: Annotated[int | None, Ge(1), "how many"] = None
    share: float = 0.5
    on: Annotated[bool, "whether"] = True
    how: Annotated[Literal["slow", "fast"], "which way"] = "slow"
    file: Annotated[Path | None, "where"] = None
    files: Annotated[tuple[Path, ...], "from where"] = ()


def test_each_kind_of_field() -> None:
    rows = [(f.name, f.kind, f.optional, f.required, f.choices, f.help) for f in fields_of(Config)]
    assert rows == [
        ("needed", "text", False, True, (), "a name"),
        ("many", "whole", True, False, (), "how many"),
        ("share", "number", False, False, (), ""),
        ("on", "flag", False, False, (), "whether"),
        ("how", "choice", False, False, ("slow", "fast"), "which way"),
        ("file", "file", True, False, (), "where"),
        ("files", "files", False, False, (), "from where"),
    ]


def test_round_trip() -> None:
    config = config_of(
        Config, {"needed": "x", "share": 1, "file": "a/b", "many": None, "files": ["c", "d"], "gone": None}
    )
    assert config == Config(needed="x", share=1.0, file=Path("a/b"), files=(Path("c"), Path("d")))
    assert isinstance(config.share, float)
    assert config_of(Config, {"needed": "x", "files": "c"}).files == (Path("c"),), "jobs of earlier versions"
    stored = json.loads(json.dumps(values_of(config)))
    assert config_of(Config, stored) == config
    changes = {"needed": "x", "share": 1.0, "file": "a/b", "files": ["c", "d"]}
    assert list_changes(Config, stored | {"gone": 3}) == changes | {"gone": 3}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "needed"),
        ({"needed": "x", "many": 1.5}, "many: "),
        ({"needed": "x", "share": None}, "share: "),
        ({"needed": "x", "sahre": 1}, "sahre: .*share"),
    ],
)
def test_invalid_values(values: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        config_of(Config, values)


def test_entry_point(package: Path) -> None:
    assert list(methods()) == INSTALLED
    fifth = methods()["fifth"]
    assert [field.name for field in fifth.fields] == ["steps", "pace", "trouble"]
    assert [field.name for field in fifth.source_fields] == ["seed"]
    assert fifth.make_config({"steps": 2}).steps == 2


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('no such library')", "RuntimeError: no such library"),
        ("M = 3", "TypeError: expected a Method, found int"),
    ],
)
def test_broken_entry_point(package: Path, code: str, why: str) -> None:
    name = f"sixth{len(code)}"
    about = package / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[entail.methods]\n{name} = {name}:M\n", encoding="utf-8")
    (package / f"{name}.py").write_text(code, encoding="utf-8")
    clear_methods()
    assert list(methods()) == INSTALLED
    assert broken_methods() == {name: why}
    with pytest.raises(JobError, match=re.escape(f"{name} cannot be loaded: {why}")):
        method.method(name)


INSTALLED = [*["aeenc", "gausscse", "tuning", "dpr", "arcf", "judge", "reranker", "reader"], "fifth"]


@pytest.fixture
def files(tmp_path: Path, grove: dict[str, Any]) -> TreeSource:
    (tmp_path / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (tmp_path / "facts.txt").write_text("\n".join(grove["facts"][:-1]), encoding="utf-8")
    return TreeSource(trees=tmp_path / "trees.jsonl", corpus=tmp_path / "facts.txt")


def test_a_preview_counts_what_would_be_learnt_from(files: TreeSource) -> None:
    report = preview(files.read(), AeencConfig())
    # Eight trees of two parents with two children each, and a distractor for each parent but one.
    assert (report.counts["queries"], report.counts["positives"], report.counts["negatives"]) == (16, 32, 14)
    assert report.counts["premises"] == 39
    assert len(report.rows) == 46
    assert {row[2] for row in report.rows} == {"explains it", "does not"}
    # The last fact, a distractor of the last tree, is not in the corpus.
    assert report.left_out == {"not in the corpus": 2}
    assert AEENC.preview is preview


def test_encoding_and_column_of_the_corpus_can_be_given(files: TreeSource) -> None:
    facts = files.corpus.read_text(encoding="utf-8").splitlines()
    files.corpus.with_name("f.csv").write_text("\n".join(["é", *facts]), encoding="cp1252")
    source = replace(files, corpus=files.corpus.with_name("f.csv"), encoding="cp1252", column="é")
    assert source.read().corpus.texts == files.read().corpus.texts


def test_every_nth_tree_is_held_out_with_all_trees_of_its_hypothesis(files: TreeSource) -> None:
    whole = files.read()
    data = TreeSource(trees=files.trees, corpus=files.corpus, hold_out=3).read()
    assert len(data.trees) + len(data.dev) == len(whole.trees)
    assert [tree.id for tree in data.dev] == [tree.id for tree in whole.trees[2::3]]
    again = hold_out([*whole.trees, whole.trees[2]], every=3)
    assert [tree.id for tree in again[1]].count(whole.trees[2].id) == 2
    with_dev = TreeSource(trees=files.trees, corpus=files.corpus, dev=files.trees, hold_out=3).read()
    assert (len(with_dev.trees), len(with_dev.dev)) == (len(whole.trees), len(whole.trees))


def test_decisions_are_kept_as_they_were(tmp_path: Path) -> None:
    judgements = Judgements.of_pairs(
        [
            JudgedPair("q", "a", True),
            JudgedPair("q", "b", False),
            JudgedPair("q", "d", True),
            JudgedPair("r", "c", True),
            JudgedPair("r", "c", False),
        ],
        roots=["q"],
    )
    corpus = Corpus.of("sky", ["a", "b"])
    judgements = replace(judgements, weights={"q": {"a": 0.5}})
    reviewed = (ExplanationTree.of_premises("h", "h", ["a"]),)
    decisions = iter([(corpus, judgements, {"h": {"a": None}})])
    tree_source = TreeSource(from_log="sky")
    first, again = (tree_source.read(keep=tmp_path, decisions=lambda *_: next(decisions)) for _ in range(2))
    extended = Corpus.of("sky", ["a", "b", "d"])
    assert again == first == TrainingData(extended, corpus, (), judgements, reviewed, names=(TEAM,))
    file = tmp_path / "decisions.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    earlier = {name: value for name, value in record.items() if name not in ("weights", "reviewed")}
    file.write_text(json.dumps(earlier), encoding="utf-8")
    older = tree_source.read(keep=tmp_path)
    assert (older.judgements, older.dev) == (replace(judgements, weights={}), ())
    (tmp_path / "decisions.json").write_text("{", encoding="utf-8")
    with pytest.raises(JobError, match="submit the job again"):
        tree_source.read(keep=tmp_path)
