"""Result files say where their figures come from, and nothing about whose machine it was."""

import json
import platform
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from entail import results
from entail.results import commit, provenance, write_result

ROOT = Path(__file__).resolve().parents[1]


def test_everything_needed_to_repeat_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "search.json"
    started = datetime.now(UTC) - timedelta(seconds=12)
    record = write_result(path, figures={"p50_ms": 1.5}, seed=7, started=started, command=["make", "bench"])
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read == record
    assert read["figures"] == {"p50_ms": 1.5}
    assert read["seed"] == 7
    assert read["command"] == "make bench"
    assert 12 <= read["wall_seconds"] < 60
    assert read["versions"]["python"] == platform.python_version()
    assert read["hardware"]["cores"] >= 1
    assert provenance()["commit"] == commit()
    assert [entry.name for entry in path.parent.iterdir()] == ["search.json"]


def test_no_host_name_and_no_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((socket, "gethostname"), (platform, "node")):
        monkeypatch.setattr(module, name, lambda: "host-of-someone")
    script = Path(results.__file__).parent.parent / "scripts" / "bench_index.py"
    command = [
        sys.executable,
        str(script),
        *("--corpus", "/some/where/facts.txt", "--out=/srv/x/o.json", "~/a"),
    ]
    write_result(tmp_path / "r.json", figures={}, seed=None, started=datetime.now(UTC), command=command)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    command_line = json.loads(text)["command"]
    assert command_line == "python scripts/bench_index.py --corpus .../facts.txt --out=.../o.json .../a"
    assert "host-of-someone" not in text
    assert "/some/where" not in text


def _git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def test_commit_says_when_the_code_differs_from_it(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
    _git(tmp_path, "init")
    code = tmp_path / "code.py"
    outputs = [tmp_path / "docs" / "results" / "r.json", tmp_path / "models" / "m"]
    for path in (code, *outputs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1", encoding="utf-8")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "one")
    clean = commit(tmp_path)
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "untracked").write_text("x", encoding="utf-8")
    for path in outputs:
        path.write_text("2", encoding="utf-8")
    assert commit(tmp_path) == clean
    code.write_text("2", encoding="utf-8")
    assert commit(tmp_path) == f"{clean}-dirty"


def test_every_published_figure_is_of_a_commit_in_the_history() -> None:
    git = ["git", "-C", str(ROOT)]
    answer = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    if answer.stdout.strip() != "false":
        pytest.skip("no whole history here: an archive, or a shallow clone")
    files = [*ROOT.glob("docs/results/*.json"), *ROOT.glob("models/*/entail.json")]
    pattern = re.compile(r'"commit": "([0-9a-f]+)')
    commits = {sha for file in files for sha in pattern.findall(file.read_text(encoding="utf-8"))}
    assert len(commits) > 20
    # A commit of a side branch exists here, and not in a clone of this branch alone.
    listed = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=True)
    history = listed.stdout.split()
    short = {sha for sha in commits if len(sha) < 40}
    assert commits - short <= set(history)
    assert [sha for sha in short if not any(full.startswith(sha) for full in history)] == []


@pytest.mark.parametrize(
    ("figure", "started"),
    [(float("nan"), datetime.now(UTC)), (1.0, datetime(2026, 1, 1))],
    ids=["nan", "zone"],
)
def test_bad_records_are_refused(tmp_path: Path, figure: float, started: datetime) -> None:
    with pytest.raises(ValueError, match=r"JSON|time zone"):
        write_result(tmp_path / "r.json", figures={"x": figure}, seed=None, started=started)
    assert list(tmp_path.iterdir()) == []
