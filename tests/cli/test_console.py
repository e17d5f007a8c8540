"""Options, output, errors, progress and exit codes that all commands share."""

import json
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from entail import __version__
from entail.cli import build_app, console, main
from entail.cli.console import Report, command, progress_bar
from entail.errors import FormatError
from entail.progress import Progress

Behaviour = Callable[[], Report]


def run(behaviour: Behaviour, *arguments: str) -> int:
    """Run a command that does this."""
    app = typer.Typer(rich_markup_mode=None)

    @command(app)
    def act(
        count: Annotated[int, "How many."] = 1,
        fast: Annotated[bool, "Whether."] = False,
        file: Annotated[Path | None, "Where."] = None,
    ) -> Report:
        """Do it."""
        return behaviour()

    app.command()(lambda: None)  # a single command would have no name
    return console.run(app, ["act", *arguments])


def fails(error: BaseException) -> Behaviour:
    def behaviour() -> Report:
        raise error

    return behaviour


def noisy() -> Report:
    print("a library says hello")  # noqa: T201 - what a library might do
    logging.getLogger("a.library").warning("something is odd")
    warnings.warn("an old way", DeprecationWarning, stacklevel=1)
    return Report(data={"n": 1, "what": "µ \ud800"}, text="done: 1")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_stdout_holds_the_report_alone(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = (sys.stdout, list(logging.getLogger().handlers))
    assert run(noisy, *flags) == 0
    assert (sys.stdout, list(logging.getLogger().handlers)) == before
    out, err = capsys.readouterr()
    assert out == ('{\n  "n": 1,\n  "what": "\\u00b5 \\ud800"\n}\n' if flags else "done: 1\n")
    assert "a library says hello" in err
    assert "WARNING a.library: something is odd" in err
    assert "an old way" not in err


def test_a_report_is_shown_where_its_result_file_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = Report(data={"MAP": 0.5}, text="MAP 0.5", out=tmp_path)
    assert run(lambda: report) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"MAP 0.5\nError: {tmp_path}: expected to write a file here")
    assert run(lambda: report, "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["type"] == "DataError"
    assert '"MAP": 0.5' in err
    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


def works() -> Report:
    with progress_bar() as progress:
        if progress is not None:
            progress(Progress(done=50, total=100, seconds=2.0, what="encoding", unit="sentences"))
            progress(Progress(done=100, total=100, seconds=4.0, what="encoding", unit="sentences"))
            progress(Progress(done=1, total=4, seconds=1.0, what="ranking", unit="queries"))
    return Report(data={}, text=repr(progress))


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for flags in ([], ["--no-progress"]):
        assert run(works, *flags) == 0
        assert capsys.readouterr() == ("None\n", "")
    assert run(works, "--progress", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {}
    assert re.search(r"encoding:\s+50%.*50/100 \[00:02<00:02, +2\d\.\d+ sentences/s\]", err)
    assert re.search(r"ranking:\s+25%.*1/4", err)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(works) == 0
    assert "50/100" in capsys.readouterr().err


def all_commands(group: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    commands: dict[tuple[str, ...], Any] = {}
    for name, subcommand in group.commands.items():
        commands |= (
            all_commands(subcommand, (*path, name))
            if hasattr(subcommand, "commands")
            else {(*path, name): subcommand}
        )
    return commands


def test_every_command_explains_itself() -> None:
    for path, subcommand in all_commands(typer.main.get_command(build_app())).items():
        assert subcommand.help, path
        options = {name for parameter in subcommand.params for name in parameter.opts}
        assert {"--json", "--progress", "--debug"} <= options, path
        assert all(parameter.help for parameter in subcommand.params), path


def test_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"entail {__version__}\n"
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert main(["claim", "Who won?", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claim"]
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_closed_pipe() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code = [sys.executable, "-m", "entail", "claim", "Who won?"]
    done = subprocess.run(code, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_help_loads_nothing_heavy() -> None:
    code = """if True:
        import sys
        from entail.cli import main
        main(["--help"])
        main(["evaluate", "premises", "--help"])
        heavy = {"torch", "faiss", "streamlit", "sklearn", "numpy", "sqlalchemy", "alembic", "transformers",
                 "sentence_transformers", "bm25s", "networkx", "tqdm"}
        sys.exit(", ".join(heavy & set(sys.modules)) or 0)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (FormatError("expected a number", source="x.jsonl", line=3), "x.jsonl, line 3: expected a number", 1),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory", 1),
        (KeyError("boom\nsecond line"), "unexpected KeyError", 1),
        (KeyboardInterrupt(), "", 130),
    ],
)
def test_errors(
    error: BaseException, message: str, code: int, capsys: pytest.CaptureFixture[str], own_data_folder: Path
) -> None:
    assert run(fails(error), "--json") == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert message in err
    if message:
        record = json.loads(out)["error"]
        assert record["type"] == type(error).__name__
        assert err == f"Error: {record['message']}\n"
    log = own_data_folder / "log" / "cli.log"
    assert log.exists() == isinstance(error, KeyError)
    if log.exists():
        assert str(log) in err
        assert "boom" in log.read_text()
        assert os.name != "posix" or log.stat().st_mode & 0o077 == 0


def test_debug(capsys: pytest.CaptureFixture[str], own_data_folder: Path) -> None:
    with pytest.warns(DeprecationWarning, match="an old way"):
        run(noisy, "--debug")
    assert run(fails(RuntimeError("boom")), "--debug", "--json") == 1
    assert "Traceback" in capsys.readouterr().err
    assert not own_data_folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [["claim", "--nonsense"], ["train", "aeenc", "--epochs", "many"], ["evaluate", "surplus"], ["evalute"]],
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("Usage: entail")
    assert json.loads(out)["error"]["message"]
    assert main([]) == 0
    assert "Commands:" in capsys.readouterr().out


def test_a_report_describes_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    data = {
        "MAP": 0.36781,
        "queries": 16472,
        "by_role": {"a": {"n": 1, "MAP": 0.5}, "b": {"n": 20, "MAP": None}},
        "moves": [{"by": "Ann"}, {"by": "Bob"}],
        "missing": [],
        "none": None,
    }
    assert run(lambda: Report(data)) == 0
    assert capsys.readouterr().out.split("\n") == [
        *("MAP      0.368", "queries  16,472", ""),
        *("by role   n    MAP", "a         1  0.500", "b        20", ""),
        *("moves  by", "1      Ann", "2      Bob", ""),
    ]
