"""The rules of docs/architecture.md, checked against the code."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "entail").rglob("*.py"))
FOLDERS = sorted({module.parent for module in MODULES} - {ROOT / "entail"})
SCRIPTS = sorted((ROOT / "scripts").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
APP = ROOT / "entail" / "ui" / "app"
PAGES = [APP / "streamlit_app.py", *sorted((APP / "pages").glob("*.py"))]
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


def named_modules(of: str) -> set[str]:
    """Return the modules that the document names behind some words, up to the next full stop or semicolon."""
    named = re.search(of + r"([^.;]*)", ARCHITECTURE)
    assert named, f"docs/architecture.md does not say {of!r}"
    return set(re.findall(r"`(\w+)`", named[1]))


def layers() -> dict[str, int]:
    """Return package or module right below entail/ -> its layer, as the document draws them."""
    match = re.search(r"`(foundation -> [^`]+)`", ARCHITECTURE)
    assert match, "docs/architecture.md does not draw the layers"
    order = {}
    for level, group in enumerate(match[1].split(" -> ")):
        order |= {name.strip(): level for name in group.strip("()").split("|")}
    order |= dict.fromkeys(named_modules("The foundation is the package"), order["foundation"])
    return order | {"__main__": order["cli"] + 1}


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


def test_layers_are_read_from_the_document() -> None:
    order = layers()
    assert order["errors"] < order["data"] < order["encoders"] < order["index"] < order["evaluation"]
    assert order["aeenc"] == order["arcf"] < order["trees"] < order["ui"] < order["cli"]


@pytest.mark.parametrize("module", MODULES, ids=show)
def test_imports_go_down(module: Path) -> None:
    own, order = part(module), layers()
    if own == "__init__":
        return  # the package's front door names modules of every layer, lazily
    assert own in order, f"docs/architecture.md does not place entail/{own}"
    flat = {order["foundation"]}  # its modules may import each other
    for name in imports(module):
        pieces = name.split(".")
        if pieces[0] != "entail" or len(pieces) < 2 or pieces[1] == own:
            continue
        # `from entail import fold` imports the front door: name the module
        assert pieces[1] in order, f"{show(module)} imports {name}: name the module that has it"
        below = order[pieces[1]] < order[own] or (order[pieces[1]] == order[own] and order[own] in flat)
        assert below, f"{show(module)} imports {name}, which is not below it"


def test_no_modules_import_each_other() -> None:
    names = {
        ".".join(module.relative_to(ROOT).with_suffix("").parts): module
        for module in MODULES
        if module.stem != "__init__"
    }
    edges = {
        name: {".".join(i.split(".")[:k]) for i in imports(module) for k in range(2, 7)} & set(names) - {name}
        for name, module in names.items()
    }
    while free := {name for name, targets in edges.items() if not targets & set(edges)}:
        edges = {name: targets for name, targets in edges.items() if name not in free}
    while ends := set(edges) - set().union(*edges.values()):
        edges = {name: targets for name, targets in edges.items() if name not in ends}
    assert not sorted(edges)


@pytest.mark.parametrize("folder", FOLDERS, ids=show)
def test_folders_stay_small(folder: Path) -> None:
    assert len([module for module in folder.glob("*.py") if module.stem != "__init__"]) <= 15


@pytest.mark.parametrize("module", MODULES, ids=show)
def test_only_the_ui_knows_streamlit(module: Path) -> None:
    if part(module) != "ui":
        assert not [name for name in imports(module) if name.split(".")[0] == "streamlit"]


def test_extras_hold_what_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = [package for extra in project["optional-dependencies"].values() for package in extra]
    imported = {name.split(".")[0] for module in MODULES for name in imports(module)}
    by_protocol = {"s3fs"}  # fsspec imports it
    assert {re.split(r"\W", package)[0] for package in packages} - by_protocol <= imported


@pytest.mark.parametrize("path", [*MODULES, *PAGES, *SCRIPTS, *TESTS], ids=show)
def test_files_stay_short(path: Path) -> None:
    limit = 120 if path in PAGES else 500
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


def test_the_index_of_programs_is_whole() -> None:
    folder = ROOT / "scripts"
    named = set(
        re.findall(r"`(\w+\.(?:py|sh|Dockerfile))`", (folder / "README.md").read_text(encoding="utf-8"))
    )
    assert named == {path.name for path in folder.iterdir() if path.is_file()} - {"README.md"}


@pytest.mark.parametrize("name", ["utils", "util", "helpers", "helper", "manager", "common", "misc"])
def test_modules_are_named_for_what_they_hold(name: str) -> None:
    assert not [show(module) for module in MODULES if name in module.stem.lower().split("_")]


PRONOUNS = frozenset(
    """
    told held asked kept found said beside one some what where who ours there here each them others taken made
    given known shown seen drawn chosen wanted meant place places
    """.split()  # noqa: SIM905 - as a list of strings it takes a page
)
"""Pronouns and participles, which no variable is called."""


def assigned_names(path: Path) -> set[str]:
    """Return the local variables of all functions of a file."""
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    stores = (node for function in functions for node in ast.walk(function) if isinstance(node, ast.Name))
    return {node.id for node in stores if isinstance(node.ctx, ast.Store)}


def test_variables_are_nouns() -> None:
    pronouns = {show(path): assigned_names(path) & PRONOUNS for path in (*MODULES, *SCRIPTS, *TESTS)}
    assert {path: names for path, names in pronouns.items() if names} == {}


def test_the_document_has_every_package_and_no_other() -> None:
    rows = "".join(line.split("|")[1] for line in ARCHITECTURE.splitlines() if line.startswith("| `"))
    migrations = ROOT / "entail" / "trees" / "store" / "migrations"
    packages = {
        f"{folder.relative_to(ROOT / 'entail').as_posix()}/"
        for folder in FOLDERS
        if migrations not in (folder, *folder.parents)
    }
    assert set(re.findall(r"`([\w/]+/)`", rows)) == packages


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("entail", HEAVY | {"numpy", "typer"}),
        ("entail.cli", HEAVY | {"numpy"}),
        ("entail.data.records", HEAVY),
        ("entail.data.entailment_bank.trees", HEAVY),
        ("entail.data.corpora", HEAVY),
        ("entail.statistics.ranking", HEAVY),
        ("entail.statistics.paired", HEAVY | {"scipy"}),
        ("entail.statistics.classification", HEAVY | {"scipy"}),
        ("entail.data.nli.pairs", HEAVY | {"pyarrow"}),
        ("entail.evaluation.nli.decisions", HEAVY | {"scipy"}),
        ("entail.evaluation.nli.sources", HEAVY | {"huggingface_hub", "pyarrow"}),
        ("entail.aeenc.bias", HEAVY | {"scipy"}),
        ("entail.evaluation.retrieval.premises", HEAVY),
        ("entail.evaluation.retrieval.effort", HEAVY),
        ("entail.index.factory", HEAVY | {"huggingface_hub"}),
    ],
)
def test_imports_are_light(module: str, forbidden: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not forbidden & {name.split(".")[0] for name in loaded.split()}


def pins(name: str) -> dict[str, str]:
    """Return package -> version of a requirements file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    requirements = [line.split(";")[0].split("#")[0].strip() for line in lines]
    return dict(line.split("==") for line in requirements if line)


def test_both_requirements_agree() -> None:
    whole, slim = pins("requirements.txt"), pins("requirements-cpu.txt")
    assert slim
    assert {name: whole.get(name) for name in slim} == slim
    assert "faiss-gpu" not in slim
    assert whole["faiss-gpu"] == whole["faiss-cpu"] == slim["faiss-cpu"]
