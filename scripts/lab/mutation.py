"""Share of small faults that the tests notice, by package: what a change of the tests has cost.

`python scripts/lab/mutation.py COMMIT FOLDER` measures a commit, and goes on where it stopped.

A mutant is a module with one fault: another operator, number or condition, a statement or a returned value
that is missing. Mutants are drawn from all lines of a package, but not from texts and annotations; where no
test runs the line, the mutant survives. It meets the tests that run its line, in a process forked from one
that has imported the large libraries: a fresh pytest spends ten seconds on them. It needs coverage.py.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

PACKAGES = ("entail/trees/log", "entail/data", "entail/training/loop", "entail/index")
SUITES = ("tests/trees", "tests/data", "tests/training", "tests/index", "tests/aeenc")
LIBRARIES = (
    *("anyio", "faiss", "hypothesis.extra.numpy", "hypothesis.stateful", "pandas", "peft", "pyarrow"),
    *("pygments.formatters", "pygments.lexers.python", "sentence_transformers", "sqlalchemy", "sqlite3"),
)
SKIPPED_FIELDS = {"annotation", "decorator_list", "returns", "format_spec"}
ON_IMPORT = "import"
BUDGET = 40.0
"""Seconds that the tests of a mutant may take in the survey; the quickest are chosen."""

SWAPS: dict[str, list[str]] = defaultdict(list)
for _right, _wrong in (
    *[("Eq", "NotEq"), ("NotEq", "Eq"), ("Lt", "LtE"), ("Lt", "GtE"), ("LtE", "Lt"), ("LtE", "Gt")],
    *[("Gt", "GtE"), ("Gt", "LtE"), ("GtE", "Gt"), ("GtE", "Lt"), ("Is", "IsNot"), ("IsNot", "Is")],
    *[("In", "NotIn"), ("NotIn", "In"), ("And", "Or"), ("Or", "And"), ("Add", "Sub"), ("Sub", "Add")],
    *[("Mult", "Div"), ("Div", "Mult"), ("FloorDiv", "Mult"), ("Mod", "Mult"), ("Pow", "Mult")],
    *[("BitOr", "BitAnd"), ("BitAnd", "BitOr"), ("Break", "Continue"), ("Continue", "Break")],
):
    SWAPS[_right].append(_wrong)


@dataclass(frozen=True)
class Fault:
    """A change of a module's tree: the line of its statement, what it was and becomes, and what does it."""

    line: int
    before: str
    after: str
    apply: Callable[[], None]


def faults(parent: ast.AST, line: int = 0) -> Iterator[Fault]:
    """Yield each fault that a module's tree can have; apply at most one."""
    for field, value in ast.iter_fields(parent):
        is_list = isinstance(value, list)
        for index, child in enumerate(value if is_list else [value]):
            if not isinstance(child, ast.AST) or field in SKIPPED_FIELDS:
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            line = child.lineno if isinstance(child, ast.stmt) else line
            put = partial(value.__setitem__, index) if is_list else partial(setattr, parent, field)
            for variant in _variants(child, is_condition=field in {"test", "ifs"}):
                yield Fault(line, ast.unparse(child), ast.unparse(variant), partial(put, variant))
            yield from faults(child, line)


def _variants(node: ast.AST, *, is_condition: bool) -> Iterator[ast.AST]:
    """Yield what may stand in the place of `node` by mistake."""
    match node:
        case ast.Compare(ops=[first, *others]):
            for name in SWAPS[type(first).__name__]:
                yield ast.Compare(node.left, [getattr(ast, name)(), *others], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        case ast.BinOp():
            for name in SWAPS[type(node.op).__name__]:
                yield ast.BinOp(node.left, getattr(ast, name)(), node.right)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(truth)):
            yield ast.Constant(not truth)
        case ast.Constant(value=int(number) | float(number)):
            yield from (ast.Constant(number + 1), ast.Constant(number - 1))
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            yield ast.Return(ast.Constant(None))
        case ast.Break() | ast.Continue():
            yield getattr(ast, SWAPS[type(node).__name__][0])()
        case ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
    if is_condition and isinstance(node, ast.expr) and not isinstance(node, ast.Compare | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)


class Watcher:
    """A pytest plugin that keeps the chosen tests, tells `switch` which runs, notes time and failures."""

    def __init__(self, chosen: Collection[str] | None, switch: Callable[[str], object] = str) -> None:
        self._chosen, self._switch, self._test = chosen, switch, ""
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = [item for item in items if self._chosen is None or item.nodeid in self._chosen]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        self.failed += [report.nodeid] if report.failed else []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note time and failure of a test."""
        self.failed += [report.nodeid] if report.failed else []
        self.seconds[report.nodeid] += report.duration

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell that a test begins."""
        self._test = nodeid
        self._switch(nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Tell what a fixture of a file or more runs: every test of the file may use it."""
        self._switch(self._test if fixturedef.scope == "function" else self._test.partition("::")[0])
        yield
        self._switch(self._test)


def fork(folder: Path, job: Callable[[], object], *, limit: float) -> Any:
    """Return what `job` returns in a process of its own, None if that dies or takes over `limit` seconds."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    process = os.fork()
    if not process:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (12 << 30, 12 << 30))  # a loop that ends never, fills it
            output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            answer.write_text(json.dumps(job()), encoding="utf-8")
        finally:
            os._exit(0)
    end, ask = time.monotonic() + limit, os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, process, ask) is None and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)  # and what its tests have started
    os.waitpid(process, 0)
    return json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None


def run_tests(folder: Path, files: Iterable[str], watcher: Watcher, *options: str) -> int:
    """Run the tests of `files` that `watcher` keeps, and return pytest's exit status."""
    options += (
        "-q",
        f"--basetemp={folder / 'temporary'}",
        "-m",
        "not browser and not attack and not postgres",
    )
    return int(pytest.main([*files, *options], plugins=[watcher]))


def survey(folder: Path, file: str) -> dict[str, Any]:
    """Return seconds and failures of the tests in `file`, and which test runs which line of the packages."""
    tree = Path.cwd()
    coverage = import_module("coverage").Coverage(
        data_file=None, config_file=False, include=[str(tree / package / "*") for package in PACKAGES]
    )
    coverage.start()
    coverage.switch_context(ON_IMPORT)
    watcher = Watcher(None, coverage.switch_context)
    run_tests(folder, [file], watcher)
    coverage.stop()
    data = coverage.get_data()
    lines = {str(Path(m).relative_to(tree)): data.contexts_by_lineno(m) for m in data.measured_files()}
    return {"file": file, "seconds": watcher.seconds, "failed": watcher.failed, "lines": lines}


class Suite:
    """The tests of a tree that pass: what each runs and how long it takes."""

    def __init__(self, surveys: Iterable[Mapping[str, Any]]) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int, bool], set[str]] = defaultdict(set)
        self._users: dict[str, set[str]] = defaultdict(set)
        for record in surveys:
            passed = {test: time for test, time in record["seconds"].items() if test not in record["failed"]}
            self.seconds |= passed
            for module, lines in record["lines"].items():
                for line, context in ((int(line), name) for line, names in lines.items() for name in names):
                    tests = passed.keys() & {context} if "::" in context else passed.keys()
                    self._tests[module, line, context == ON_IMPORT] |= tests
                    self._users[package(module)] |= tests if context != ON_IMPORT else set()

    def choose(self, module: str, line: int) -> list[str]:
        """Return the tests that run a line, the quickest within `BUDGET`, those of quick files first.

        A line that is run on import is met by the tests that use its package and whose file imports it.
        """
        users = self._users[package(module)]
        tests = self._tests[module, line, False] or self._tests[module, line, True] & users
        selection: list[str] = []
        files: dict[str, float] = defaultdict(float)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            if not selection or sum(files.values()) + self.seconds[test] <= BUDGET:
                selection.append(test)
                files[file_of(test)] += self.seconds[test]
        return sorted(selection, key=lambda test: (files[file_of(test)], test))


def package(module: str) -> str:
    """Return the measured package of a module."""
    return next(name for name in PACKAGES if module.startswith(name))


def file_of(test: str) -> str:
    """Return the file of a test's id."""
    return test.partition("::")[0]


def run_mutant(folder: Path, files: Sequence[str], tests: Collection[str]) -> list[object]:
    """Run `tests` until one fails, and return pytest's exit status and what failed."""
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    watcher = Watcher(tests)
    return [run_tests(folder, files, watcher, "-x"), *watcher.failed]


def meet(folder: Path, suite: Suite, module: str, number: int) -> dict[str, Any]:
    """Return whether the tests notice a module's fault, and which test does."""
    path, start = Path(module), time.monotonic()
    source, times, tree = path.read_bytes(), path.stat(), ast.parse(path.read_bytes())
    fault = next(islice(faults(tree), number, None))
    tests = suite.choose(module, fault.line)

    files = list(dict.fromkeys(map(file_of, tests)))
    answer: Sequence[Any] | None = [0]
    if tests:
        fault.apply()
        try:
            path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
            for part in (files[:2], files[2:]):  # most faults meet their test in the first files
                if part and answer and answer[0] == 0:
                    limit = 30 + 5 * sum(suite.seconds[test] for test in tests if file_of(test) in part)
                    answer = fork(folder, partial(run_mutant, folder, part, set(tests)), limit=limit)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # its bytecode is as new as it is
    record = {"module": module, "number": number, "line": fault.line}
    record |= {"before": fault.before, "after": fault.after}
    record |= {"tests": len(tests), "killed": answer is None or answer[0] != 0, "by": answer and answer[1:2]}
    return record | {"seconds": round(time.monotonic() - start, 2)}


def run(commit: str, folder: Path, count: int) -> None:
    """Measure `count` mutants a package of a commit, into the survey and the results of `folder`."""
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    revision = subprocess.run(["git", "rev-parse", commit], check=True, capture_output=True, text=True).stdout
    (folder / "commit.txt").write_text(revision, encoding="utf-8")
    os.chdir(tree)
    sys.path[0] = os.environ["PYTHONPATH"] = str(tree)
    sys.dont_write_bytecode = False  # compiled once, by the survey
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # examples are seeded without Hypothesis's plugin, too
    for library in LIBRARIES:
        import_module(library)
    gc.freeze()  # pytest collects garbage five times as it ends, which would copy the libraries in each fork
    surveys, results = folder / "survey.jsonl", folder / "results.jsonl"
    files = [str(file) for suite in SUITES for file in sorted(Path(suite).rglob("test_*.py"))]
    modules = {name: sorted(map(str, Path(name).rglob("*.py"))) for name in PACKAGES}
    files += [file for paths in modules.values() for file in paths if ">>>" in Path(file).read_text("utf-8")]
    for file in sorted(set(files) - {record["file"] for record in read(surveys)}):
        record = fork(folder, partial(survey, folder, file), limit=900)
        append(surveys, record or {"file": file, "seconds": {}, "failed": [file], "lines": {}})
    suite = Suite(read(surveys))
    if not suite.seconds:
        sys.exit(f"no test passes: see {folder / 'output.txt'}")
    done = {(record["module"], record["number"]) for record in read(results)}
    for paths in modules.values():
        trees = {path: ast.parse(Path(path).read_bytes()) for path in paths}
        every = [(path, number) for path in paths for number, _ in enumerate(faults(trees[path]))]
        for module, number in random.Random(0).sample(every, min(count, len(every))):
            if (module, number) not in done:
                append(results, meet(folder, suite, module, number))


def summary(folder: Path) -> Iterator[str]:
    """Yield a line a package, then one of all: killed mutants, their share and its 95 % Wilson interval."""
    mutants = read(folder / "results.jsonl")
    for name in (*PACKAGES, ""):
        killed = [mutant["killed"] for mutant in mutants if mutant["module"].startswith(name)]
        low, high = binomtest(sum(killed), len(killed)).proportion_ci(method="wilson")
        share = f"{sum(killed) / len(killed):.3f} [{low:.3f}, {high:.3f}]"
        yield f"{name or 'all'}: {sum(killed)} of {len(killed)}, {share}"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON lines, none if there is no file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the share of small faults that the tests notice.")
    parser.add_argument("commit", help="what to measure")
    parser.add_argument("folder", type=Path, help="survey and results; what stands there is not repeated")
    parser.add_argument("--count", type=int, default=80, help="mutants a package (80)")
    options = parser.parse_args()
    run(options.commit, options.folder.resolve(), options.count)
    print(*summary(options.folder.resolve()), sep="\n")
