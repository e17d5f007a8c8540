"""Commands for work of several people: ``entail agreement``, ``diff``, ``merge``, ``export-project`` ..."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, table

if TYPE_CHECKING:
    from entail.teams.differences import Difference
    from entail.trees.log.tree import Tree

app = typer.Typer()

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="Its name, or its id.")]
Trees = Annotated[
    list[str], typer.Argument(metavar="TREE...", help="Ids, or rows of .jsonl files: FILE, FILE#2.")
]


@command(app)
def agreement(project: Project) -> Report:
    """Show how far the annotators of a project agree, and where they differ most.

    Hypotheses count whose copies are all submitted, each copy as it was first submitted.
    """
    from entail.teams.projects import Projects
    from entail.teams.report import measure_agreement
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        about = Projects(database).project(project, actor="")
        report = measure_agreement(database, TreeLog(database), about.id, actor="")
    header, rows = ("", "alpha", "95 % interval", "similarity"), list[tuple[str, ...]]()
    for aspect, value in report.trees.items():
        interval = "" if value.low is None or value.high is None else f"{value.low:.2f} to {value.high:.2f}"
        rows.append((aspect, _number(value.alpha), interval, f"{value.observed:.2f}"))
    rows.append(("candidates", _number(report.judgements.alpha), "", f"{report.judgements.n:,} judged"))
    least = [f"{row.similarity:.2f}  {row.text}" for row in report.hypotheses[:5]]
    text = (
        "\n".join([table(header, rows), "", "least similar:", *least])
        if least
        else "no hypothesis has all its copies yet"
    )
    return Report(data={"project": about.name, **report.to_json()}, text=text)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


@command(app)
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="Id, or row of a .jsonl file: FILE, FILE#2.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Likewise.")],
) -> Report:
    """Show what two trees of a hypothesis do not share, aligned by their leaves.

    Nodes are the same if the same premises stand below them, whatever their ids and their order.
    """
    from entail.teams.agreement import similarity
    from entail.teams.differences import differences
    from entail.teams.shapes import Shape

    old, new = _read_trees([first, second])
    gained, lost = differences(old, [new]), differences(new, [old])
    data: dict[str, Any] = {
        "similarity": similarity(Shape.of_tree(old), Shape.of_tree(new)),
        "only_first": [_to_json(row, old) for row in lost if row.kind != "wording"],
        "only_second": [_to_json(row, new) for row in gained if row.kind != "wording"],
        "reworded": [
            {"first": old.nodes[row.place].text, "second": row.text}
            for row in gained
            if row.kind == "wording"
        ],
    }
    lines = [
        f"{sign} {row['kind']}: {row['text']}  (below: {row['below']})"
        for sign, name in (("-", "only_first"), ("+", "only_second"))
        for row in data[name]
    ]
    lines += [f"~ wording: {row['first']} -> {row['second']}" for row in data["reworded"]]
    same = f"similarity {data['similarity']:.2f}"
    return Report(data=data, text="\n".join([*lines, same] if lines else ["no difference"]))


def _to_json(difference: Difference, tree: Tree) -> dict[str, str]:
    """Return a part that only this tree has, and the sentence above it."""
    node = tree.nodes[difference.copies[0]]
    above = tree.nodes[node.parent or "n1"].text
    return {"kind": difference.kind, "node": node.id, "text": node.text, "below": above}


@command(app)
def merge(
    trees: Trees,
    *,
    majority: Annotated[bool, "Take what more than half of them have.  [default: what all have]"] = False,
    out: Annotated[Path | None, "File to write as EntailmentBank JSONL."] = None,
) -> Report:
    """Make a tree of what trees of a hypothesis share."""
    from entail.data.writing import write_text
    from entail.errors import SettingsError
    from entail.teams.differences import merge
    from entail.trees.formats import to_jsonl, to_text

    if len(trees) < 2:
        raise SettingsError("expected two trees or more, found one")
    merged = merge(_read_trees(trees), majority=majority)
    row = to_jsonl([merged])
    if out is not None:
        write_text(out, row)
    return Report(data={"tree": row, "file": str(out) if out else None}, text=to_text(merged).rstrip("\n"))


def _read_trees(names: Sequence[str]) -> list[Tree]:
    """Return trees by id or as rows of files; one hypothesis alone has trees to compare."""
    from entail.errors import DataError
    from entail.trees.formats.convert import read_acts
    from entail.trees.formats.entailment_bank import grow
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.database import open_database

    trees = []
    for name in names:
        file, _, row = name.partition("#")
        if ".jsonl" not in file:
            with closing(open_database()) as database:
                trees.append(TreeLog(database).history(name).tree)
            continue
        acts = read_acts(Path(file))
        if not (row or "1").isdecimal() or not 1 <= int(row or 1) <= len(acts) or (len(acts) > 1 and not row):
            raise DataError(
                f"{file}: expected a row from 1 to {len(acts)}, as {file}#1, found {row or 'none'}"
            )
        trees.append(grow(acts[int(row or 1) - 1]))
    if len(hypotheses := {tree.root.folded for tree in trees}) > 1:
        raise DataError(f"expected trees of one hypothesis, found {' and '.join(sorted(hypotheses)[:2])}")
    return trees


@command(app)
def export_project(
    project: Project,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New folder, or file.zip.")],
    *,
    names: Annotated[bool, "Include names of people.  [default: they are numbered]"] = False,
) -> Report:
    """Export a project: trees, copies, decisions, comments, agreement and guidelines.

    `datasets.load_dataset(OUT, "trees")` reads the folder, `entail import-project` makes a project of it.
    Copies that are still hidden from other annotators are left out.
    """
    from entail.data.writing import write_bytes
    from entail.teams.exchange.export import export_project
    from entail.teams.projects import Projects
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        about = Projects(database).project(project, actor="")
        done = export_project(database, TreeLog(database), about.id, actor="", names=names)
    if out.suffix == ".zip":
        write_bytes(out, done.zip())
    else:
        done.write(out)
    counts = ", ".join(f"{count:,} {name}" for name, count in done.counts.items())
    left_out = f"; not written: {len(done.unwritten):,}" if done.unwritten else ""
    return Report(
        data={"project": done.name, "out": str(out), **done.counts, "unwritten": list(done.unwritten)},
        text=f"wrote {out}: {counts}{left_out}",
    )


@command(app)
def import_project(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Folder or .zip of an export.")],
    *,
    name: Annotated[str | None, "Name of the new project.  [default: that of the export]"] = None,
    owner: Annotated[str | None, "Owner of the new project.  [default: the user of this computer]"] = None,
    accepted: Annotated[bool, "Take accepted trees alone.  [default: all copies, with their states]"] = False,
) -> Report:
    """Make a new project of an exported one."""
    from entail.cli.console import login_name
    from entail.teams.exchange.imports import import_project
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        actor = owner or login_name()
        done = import_project(source, database=database, actor=actor, name=name, accepted=accepted)
    data = {
        "project": done.project.name,
        "id": done.project.id,
        "hypotheses": done.hypotheses,
        "trees": done.trees,
        "comments": done.comments,
    }
    counts = f"{done.hypotheses:,} hypotheses, {done.trees:,} trees, {done.comments:,} comments"
    return Report(data=data, text=f"made the project {done.project.name}: {counts}")
