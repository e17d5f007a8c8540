"""The rules of docs/architecture.md, checked against the code."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "entail").rglob("*.py"))
PAGES = [*sorted((ROOT / "pages").glob("*.py")), *ROOT.glob("streamlit_app.py")]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

HEAVY = {
    "alembic",
    "bm25s",
    "faiss",
    "networkx",
    "pandas",
    "peft",
    "pyvis",
    "sklearn",
    "sqlalchemy",
    "streamlit",
    "sentence_transformers",
    "torch",
    "transformers",
}


def foundation() -> set[str]:
    """Read from the document what stands below everything."""
    named = re.search(r"\(and from (`[^)]*?), which import nothing", ARCHITECTURE)
    assert named, "docs/architecture.md names the modules below everything no more"
    return set(re.findall(r"`(\w+)`", named[1]))


def levels() -> dict[str, int]:
    """Read the one way from the document: `data -> ... -> (a | b) -> ...`; what shares brackets is level."""
    drawn = re.search(r"`(data -> [^`]+ -> pages)`", ARCHITECTURE)
    assert drawn, "docs/architecture.md draws the one way no more"
    order = dict.fromkeys(foundation(), -1)
    for level, group in enumerate(drawn[1].split(" -> ")):
        order |= {name.strip(): level for name in group.strip("()").split("|")}
    return order | {"cli": order["pages"], "__main__": order["pages"] + 1}


def part(module: Path) -> str:
    """Return the folder or module right below entail/ that a file belongs to."""
    return module.relative_to(ROOT / "entail").parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yield the dotted name of everything that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import; this project names modules in full"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def show(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_way_is_read_from_the_document() -> None:
    order = levels()
    assert order["errors"] < order["data"] < order["encoders"] < order["index"] < order["evaluation"]
    assert order["aeenc"] == order["arcf"] < order["trees"] < order["ui"] < order["cli"]


@pytest.mark.parametrize("module", MODULES, ids=show)
def test_imports_go_one_way(module: Path) -> None:
    own, order, below = part(module), levels(), foundation()
    if own == "__init__":
        return  # the package's front door names what stands anywhere, lazily
    assert own in order, f"say in docs/architecture.md where entail/{own} stands"
    for name in imports(module):
        pieces = name.split(".")
        if pieces[0] != "entail" or len(pieces) < 2:
            continue
        other = pieces[1]
        # `from entail import fold` imports the front door: say the module
        assert other in order, f"{show(module)} imports {name}: name the module that has it"
        if own in below:
            assert other in below, f"{show(module)} is foundation and imports {name}"
        elif other != own:
            assert order[other] < order[own], f"{show(module)} imports {name}, which stands to its right"


@pytest.mark.parametrize("module", MODULES, ids=show)
def test_only_the_ui_knows_streamlit(module: Path) -> None:
    if part(module) != "ui":
        assert not [name for name in imports(module) if name.split(".")[0] == "streamlit"]


@pytest.mark.parametrize("path", [*MODULES, *PAGES], ids=show)
def test_files_stay_short(path: Path) -> None:
    limit = 120 if path in PAGES else 400
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "helper", "manager", "common", "misc"])
def test_modules_are_named_for_what_they_hold(name: str) -> None:
    assert not [show(module) for module in MODULES if name in module.stem.lower().split("_")]


@pytest.mark.parametrize("module", MODULES, ids=show)
def test_the_document_knows_every_folder(module: Path) -> None:
    folder = part(module)
    if (ROOT / "entail" / folder).is_dir():
        assert f"`{folder}/" in ARCHITECTURE


def test_the_map_has_every_module_and_no_other() -> None:
    table = "".join(line for line in ARCHITECTURE.splitlines(keepends=True) if line.startswith("|"))
    drawn = re.findall(r"`([\w/]+\.py)`", table)
    migrations = ROOT / "entail" / "trees" / "migrations"
    there = {
        module.relative_to(ROOT / "entail").as_posix()
        for module in MODULES
        if module.name != "__init__.py" and migrations not in module.parents
    }
    assert set(drawn) == there
    assert len(drawn) == len(set(drawn)), "a module is drawn twice"


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("entail", HEAVY | {"numpy", "typer"}),
        ("entail.cli", HEAVY | {"numpy"}),
        ("entail.data.records", HEAVY),
        ("entail.data.entailment_bank", HEAVY),
        ("entail.data.corpora", HEAVY),
        ("entail.metrics", HEAVY),
        ("entail.significance", HEAVY | {"scipy"}),
        ("entail.classification", HEAVY | {"scipy"}),
        ("entail.data.nli", HEAVY | {"pyarrow"}),
        ("entail.evaluation.nli", HEAVY | {"scipy"}),
        ("entail.evaluation.direction", HEAVY | {"scipy"}),
        ("entail.evaluation.nli_sources", HEAVY | {"huggingface_hub", "pyarrow"}),
        ("entail.aeenc.bias", HEAVY | {"scipy"}),
        ("entail.evaluation.premises", HEAVY),
        ("entail.evaluation.effort", HEAVY),
        ("entail.index.protocol", HEAVY),
    ],
)
def test_imports_are_light(module: str, forbidden: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not forbidden & {name.split(".")[0] for name in loaded.split()}


def pins(name: str) -> dict[str, str]:
    """Return package -> version of a requirements file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    wanted = [line.split(";")[0].split("#")[0].strip() for line in lines]
    return dict(line.split("==") for line in wanted if line)


def test_both_requirements_agree() -> None:
    whole, slim = pins("requirements.txt"), pins("requirements-cpu.txt")
    assert slim
    assert {name: whole.get(name) for name in slim} == slim
    assert "faiss-gpu" not in slim
    assert whole["faiss-gpu"] == whole["faiss-cpu"] == slim["faiss-cpu"]
