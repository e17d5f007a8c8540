import io
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

from entail.cli import build_app, console, main
from entail.cli.console import Report, progress_bar, reports, table
from entail.errors import FormatError
from entail.progress import Meter, Progress

Behaviour = Callable[[], Report]


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def run(behaviour: Behaviour, *arguments: str) -> int:
    """Run one command that does this, beside another so that it has a name."""
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @reports
    def act(count: Annotated[int, typer.Option(help="How many.")] = 1) -> Report:
        """Do it."""
        return behaviour()

    @app.command()
    def other() -> None:
        pass

    return console.run(app, ["act", *arguments])


def fails(error: BaseException) -> Behaviour:
    def behaviour() -> Report:
        raise error

    return behaviour


def noisy() -> Report:
    print("a library says hello")  # noqa: T201 - what a library might do
    logging.getLogger("a.library").warning("something is odd")
    warnings.warn("an old way", DeprecationWarning, stacklevel=1)
    return Report(data={"n": 1}, text="done: 1")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_stdout_holds_the_report_alone(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = (sys.stdout, list(logging.getLogger().handlers))
    assert run(noisy, *flags) == 0
    assert (sys.stdout, list(logging.getLogger().handlers)) == before
    out, err = capsys.readouterr()
    assert out == ('{\n  "n": 1\n}\n' if flags else "done: 1\n")
    assert "a library says hello" in err
    assert "WARNING a.library: something is odd" in err
    assert "an old way" not in err
    assert run(lambda: Report(data={"what": "µ \ud800"}, text=""), "--json") == 0
    assert capsys.readouterr() == ('{\n  "what": "\\u00b5 \\ud800"\n}\n', "")


def test_debug_shows_warnings() -> None:
    with pytest.warns(DeprecationWarning, match="an old way"):
        run(noisy, "--debug")


def test_terminal_of_another_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_terminal)
    assert run(lambda: Report(data={}, text="10 µm")) == 0
    assert ascii_terminal.buffer.getvalue() == b"10 \\xb5m\n"


def test_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda: Report(data={"healthy": False}, text="ill", ok=False), "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"healthy": False}


def test_library_error(capsys: pytest.CaptureFixture[str]) -> None:
    message = "x.jsonl, line 3: expected a number"
    for flags in ([], ["--json"]):
        assert run(fails(FormatError("expected a number", source="x.jsonl", line=3)), *flags) == 1
        out, err = capsys.readouterr()
        assert err == f"Error: {message}\n"
        assert (
            not out if not flags else json.loads(out)["error"] == {"type": "FormatError", "message": message}
        )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_system_error(error: OSError, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fails(error)) == 1
    assert capsys.readouterr().err == f"Error: {message}\n"


def test_unexpected_error(capsys: pytest.CaptureFixture[str], own_data_folder: Path) -> None:
    assert run(fails(KeyError("boom\nsecond line")), "--count", "2") == 1
    out, err = capsys.readouterr()
    log = own_data_folder / "log" / "cli.log"
    assert out == ""
    assert err.count("\n") == 1
    assert "unexpected KeyError" in err
    assert str(log) in err
    assert "Traceback" not in err
    assert "act --count 2" in log.read_text()
    assert "Traceback" in log.read_text()
    run(fails(RuntimeError("again")))
    assert "boom" in log.read_text()
    assert "again" in log.read_text()


def test_unexpected_error_without_a_data_folder(
    capsys: pytest.CaptureFixture[str], own_data_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_data_folder.write_text("a file in the way")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run(fails(RuntimeError("boom"))) == 1
    found = re.search(r"trace is in (\S+)\)", capsys.readouterr().err)
    assert found is not None
    assert "RuntimeError: boom" in Path(found[1]).read_text()


def test_debug_shows_the_trace(capsys: pytest.CaptureFixture[str], own_data_folder: Path) -> None:
    assert run(fails(RuntimeError("boom")), "--debug", "--json") == 1
    out, err = capsys.readouterr()
    assert "Traceback" in err
    assert json.loads(out)["error"]["type"] == "RuntimeError"
    assert not own_data_folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "No such option: --nonsense"),
        (["--count", "many"], "Invalid value for '--count'"),
        (["--count"], "requires an argument"),
        (["surplus"], "unexpected extra argument"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda: Report({}, ""), *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert run(lambda: Report({}, ""), "--json", *arguments) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]["message"]


def test_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fails(KeyboardInterrupt()), "--json") == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["version"], ["nonsense", "--json"]], ids=" ".join)
def test_closed_pipe(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "entail", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert done.returncode == 1
    assert "BrokenPipe" not in done.stderr
    assert "Traceback" not in done.stderr


def works() -> Report:
    with progress_bar() as progress:
        assert progress is not None
        progress(Progress(done=50, total=100, seconds=2.0, what="encoding premises", unit="sentences"))
        progress(Progress(done=100, total=100, seconds=4.0, what="encoding premises", unit="sentences"))
        progress(Progress(done=1, total=4, seconds=1.0, what="ranking", unit="queries"))
    return Report(data={}, text="done")


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(works, "--progress", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {}
    assert re.search(r"encoding premises:\s+50%.*50/100 \[00:02<00:02, +2\d\.\d+ sentences/s\]", err)
    assert re.search(r"ranking:\s+25%.*1/4", err)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(works) == 0
    assert "50/100" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--no-progress"]])
def test_no_progress(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def behaviour() -> Report:
        with progress_bar() as progress:
            Meter(3, "x", report=progress).add(3)
            return Report(data={}, text=repr(progress))

    assert run(behaviour, *flags) == 0
    assert capsys.readouterr() == ("None\n", "")


def all_commands(group: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        found |= all_commands(command, (*path, name)) if inner else {(*path, name): command}
    return found


COMMANDS = all_commands(typer.main.get_command(build_app()))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help
    options = {name for parameter in command.params for name in parameter.opts}
    assert {"--json", "--progress", "--debug"} <= options
    for parameter in command.params:
        assert parameter.help, parameter.name


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from entail import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"entail {__version__}\n"
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entail"] == __version__


def test_help_and_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Commands:" in capsys.readouterr().out
    assert main(["submit", "aeenc", "--help"]) == 0
    out, err = capsys.readouterr()
    assert ("--learning-rate" in out, err) == (True, "")
    assert main(["evaluate"]) == 2
    out, err = capsys.readouterr()
    assert (out, "Usage: entail evaluate" in err) == ("", True)
    assert main(["evalute", "--json"]) == 2
    out, err = capsys.readouterr()
    assert "No such command 'evalute'" in json.loads(out)["error"]["message"]
    assert "No such command 'evalute'" in err


def test_omp_wait_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    main(["--version"])
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    main(["--version"])
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


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


def test_python_m_entail() -> None:
    done = subprocess.run([sys.executable, "-m", "entail", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("entail ")


def test_table() -> None:
    assert table(["measure", "paper"], [["MAP", 0.36781], ["n", 16472.0]]).split("\n") == [
        "measure      paper",
        "MAP          0.368",
        "n        16472.000",
    ]
    assert table(["what", "n"], [["premises", 16472]]).endswith("16,472")
    assert table(["what"], []) == "what"
