"""Mutants: which faults a module can have, and whether the tests that run the line notice one."""

import ast
from pathlib import Path

import pytest
from lab.mutation import Suite, faults, meet

MODULE = '''"""Doc 1."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 3


def area(width: int, *, height: int = 2) -> int:
    """Return 2."""
    if width < 0 or not height:
        raise ValueError(width)
    return width * height
'''


def test_every_part_that_runs_can_be_wrong_once() -> None:
    changes = [(fault.line, fault.before, fault.after) for fault in faults(ast.parse(MODULE))]

    assert changes == [
        (9, "2", "3"),
        (9, "2", "1"),
        (11, "width < 0 or not height", "width < 0 and (not height)"),
        (11, "width < 0 or not height", "not (width < 0 or not height)"),
        (11, "width < 0", "width <= 0"),
        (11, "width < 0", "width >= 0"),
        (11, "0", "1"),
        (11, "0", "-1"),
        (11, "not height", "height"),
        (12, "raise ValueError(width)", "pass"),
        (13, "return width * height", "return None"),
        (13, "width * height", "width / height"),
    ]


def test_a_fault_is_noticed_by_the_tests_of_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, test = "entail/index/area.py", "tests/test_area.py"
    for file, text in {
        module: MODULE,
        test: "import runpy\n\n\ndef test_area():\n"
        f"    assert runpy.run_path({module!r})['area'](3) == 6\n\n\ndef test_other():\n    assert False\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # Playwright's refuses a pytest inside of one
    area = f"{test}::test_area"
    lines = {9: ["import"], 11: [area], 13: [area]}
    suite = Suite([{"file": test, "seconds": {area: 0.1}, "failed": [], "lines": {module: lines}}])

    records = [meet(tmp_path, suite, module, number) for number in (0, 3, 6, 9, 11)]

    # the default height, the condition, zero, the error that no test asks for, the product
    assert [record["killed"] for record in records] == [True, True, False, False, True]
    assert [record["tests"] for record in records] == [1, 1, 1, 0, 1]
    assert records[0]["by"] == [area]
    assert (tmp_path / module).read_text(encoding="utf-8") == MODULE
