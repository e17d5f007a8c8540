"""Commands of the laboratory."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from entail.errors import EntailError

ROOT = Path(__file__).resolve().parent.parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 1 if an arm failed or a check does not hold."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return _report(options) if options.command == "report" else _run(options)
    except EntailError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python scripts/lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    abouts = {
        "run": "Train and measure the arms of an experiment, then write its result and page. What the work "
        "folder holds is not repeated; other arms keep their rows of the result.",
        "ship": "Make a model by its recipe, ship-NAME.toml, and check its figures. It resumes, too.",
        "report": "Write the page of an experiment again, from its result file.",
    }
    for name, about in abouts.items():
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("name", help="name of the model" if name == "ship" else "name of the experiment")
        command.add_argument(
            "--results",
            type=Path,
            default=ROOT / "docs" / "results",
            help="folder of the result (docs/results)",
        )
        if name == "report":
            continue
        command.add_argument("--data", type=Path, required=True, help="folder of the data sets")
        command.add_argument(
            "--set-data", action="append", default=[], metavar="NAME=PATH", help="path of one data set"
        )
        command.add_argument("--work", type=Path, default=Path("build/lab"), help="work folder (build/lab)")
    commands.choices["run"].add_argument(
        "--held-out",
        action="store_true",
        help="learn from nine tenths of the training data, measure on the others, and print the page: to "
        "choose settings. The figures of a recipe, ship-NAME, join its result",
    )
    commands.choices["run"].add_argument("--arms", nargs="+", default=[], metavar="ARM", help="these only")
    commands.choices["ship"].add_argument("--out", type=Path, help="folder of the model (models/NAME)")
    return parser


def _run(options: argparse.Namespace) -> int:
    from lab.data import DataFolder
    from lab.experiment import SHIP, hold_out, read_experiment
    from lab.report import add_former, make_result, page, stated_figures, write_result
    from lab.run import Laboratory, set_threads
    from lab.ship import Checked, ship, state_figures

    is_ship = options.command == "ship"
    experiment = read_experiment(SHIP + options.name if is_ship else options.name)
    paths = {name: Path(path) for name, _, path in (text.partition("=") for text in options.set_data)}
    if not is_ship and options.held_out:
        experiment = hold_out(experiment)
    set_threads(experiment.threads)
    laboratory = Laboratory(experiment, DataFolder(options.data, paths), options.work.resolve())
    errors: dict[str, str] = {}
    checks: list[Checked] = []
    if is_ship:
        out = options.out or ROOT / "models" / options.name
        checks = ship(laboratory, out)
    else:
        errors = laboratory.run(options.arms)
    result = make_result(experiment, laboratory.runs(), checks)
    if is_ship and experiment.stated:
        state_figures(out, stated_figures(experiment, result))
    file = options.results / f"{experiment.name}.json"
    former = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not is_ship and options.held_out:
        print(*page(experiment, result), sep="\n")
        if not former or not options.name.startswith(SHIP):
            return 1 if errors else 0
        experiment, result = read_experiment(options.name), {**former, "held_out": result}
    elif is_ship and former.get("experiment") == result["experiment"] and "held_out" in former:
        result["held_out"] = former["held_out"]
    elif not is_ship:
        result = add_former(result, former, laboratory.keys())
    print(f"wrote {write_result(experiment, result, options.results)}", *checks, sep="\n")
    return 1 if errors or not all(checked.holds for checked in checks) else 0


def _report(options: argparse.Namespace) -> int:
    from lab.report import write_page

    print(f"wrote {write_page(options.name, options.results)}")
    return 0
