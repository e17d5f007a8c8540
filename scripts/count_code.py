"""Count the lines and modules of the package and of its tests, and write them to a result file.

python scripts/count_code.py [--out docs/results/code.json]
"""

import argparse
import ast
from datetime import UTC, datetime
from pathlib import Path

from entail.results import write_result

ROOT = Path(__file__).parents[1]
TARGETS = {"entail": {"lines": 52_000, "modules": 380}, "tests": {"lines": 35_000}}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count(folder: Path) -> dict[str, int]:
    """Return modules and lines of a folder: all, of docstrings, blank, of comments."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return {
        "modules": len(texts),
        "lines": len(lines),
        "docstrings": sum(map(_docstring_lines, texts)),
        "blank": lines.count(""),
        "comments": sum(line.startswith("#") for line in lines),
    }


def _docstring_lines(text: str) -> int:
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
    docstrings = (node.body[0] for node in nodes if ast.get_docstring(node) is not None)
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in docstrings)


def main() -> None:
    """Count, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/results/code.json")
    options, started = parser.parse_args(), datetime.now(UTC)
    packages = {path.name: count(path) for path in sorted((ROOT / "entail").iterdir()) if path.is_dir()}
    figures = {
        **{name: {**count(ROOT / name), "target": TARGETS[name]} for name in TARGETS},
        "packages": {name: counts for name, counts in packages.items() if counts["modules"]},
    }
    write_result(options.out, figures=figures, seed=None, started=started)


if __name__ == "__main__":
    main()
