"""Every page of `docs/results` is made from its result file by the program that it names."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest
from lab.experiment import read_experiment

SCRIPTS = Path(__file__).parent.parent / "scripts"
RESULTS = SCRIPTS.parent / "docs" / "results"
PAGES = sorted(page for page in RESULTS.glob("*.md") if page.stem != "speed")
"""All but `speed.md`, which no function returns: `write_speed.py` only writes it."""


def lines_of(page: Path, program: ModuleType) -> Iterable[str]:
    """Return the lines that a program makes for a page."""
    result, name = json.loads(page.with_suffix(".json").read_text(encoding="utf-8")), program.__name__
    if name == "report":
        return program.page(read_experiment(page.stem), result)
    if name == "reproduce_gausscse":
        return program.markdown(result, file=page.stem, papers=program.PAPERS)
    if name == "reproduce_tuning":
        return program.markdown(result, learnt=program.learnt_stage())
    if name == "reproduce_arcf":
        return program.markdown(result, file=page.stem)
    if name == "measure_first_stage":
        return program.markdown(result, name=page.stem)
    return program.markdown(result)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_page_is_made_from_its_figures(file: Path, load_script: Callable[[str], ModuleType]) -> None:
    published = file.read_text(encoding="utf-8")
    named = re.search(r"scripts/(lab/report|\w+)(?:\.py)?", published.replace("lab report", "lab/report"))
    assert named
    if not (SCRIPTS / f"{named[1]}.py").is_file():
        pytest.skip(f"{named[1]} went, and its page stays until the laboratory makes it")
    lines = lines_of(file, load_script(named[1]))
    assert published == "\n".join(lines).rstrip() + "\n"


def test_no_two_pages_have_the_same_title() -> None:
    titles = [re.findall("^# .*", page.read_text(encoding="utf-8"), re.MULTILINE) for page in PAGES]
    assert all(len(page_titles) == 1 for page_titles in titles)
    assert len({page_titles[0] for page_titles in titles}) == len(titles)
