"""Every page of `docs/results` is made from its result file, and says in two sentences what was found."""

import json
from pathlib import Path

import pytest
from lab.report import write_page

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PAGES = sorted(RESULTS.glob("*.md"))


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_page_is_made_from_its_figures(file: Path, tmp_path: Path) -> None:
    (tmp_path / f"{file.stem}.json").write_bytes(file.with_suffix(".json").read_bytes())
    assert write_page(file.stem, tmp_path).read_text(encoding="utf-8") == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_recorded_table_is_whole(file: Path) -> None:
    record = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    if "columns" in record:
        assert len(record["finding"]) == 2
        assert {len(row) for row in record["rows"]} == {len(record["columns"])}
        assert all(run["commit"] and run["hardware"] for run in record["runs"])
