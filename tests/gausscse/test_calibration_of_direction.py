"""What confidences are worth: the script and its page, in miniature."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from entail.data.nli.pairs import NliPair
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.calibration import calibrate
from entail.gausscse.verdict import judge


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("calibration_of_direction")


def written(path: Path, pairs: list[NliPair]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["premise", "hypothesis", "label"])
        rows.writerows([pair.premise, pair.hypothesis, pair.label] for pair in pairs)
    return path


def test_the_script_measures_both_confidences(
    script: ModuleType,
    gaussian: str,
    nli_pairs: Callable[..., list[NliPair]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dev, other, out = nli_pairs(20, seed=1), nli_pairs(15, seed=2), tmp_path / "results"
    files = [written(tmp_path / "dev.csv", dev), written(tmp_path / "other.csv", other)]
    given = ["--on", f"DEV={files[0]}", f"OTHER={files[1]}", "--fitted-on", "DEV"]
    given += ["--encoder", gaussian, "--results", str(out)]
    with pytest.raises(SystemExit, match="expected fitted curves"):
        script.main(given)
    folder = resolve(gaussian).path
    assert folder is not None
    form = calibrate(folder, dev)
    assert script.main(given) == 0
    told = json.loads((out / "gausscse_calibration.json").read_text(encoding="utf-8"))["figures"]
    assert told["stored"] == form.to_json()
    assert told["fitted_again"]["threshold"] == pytest.approx(form.threshold, abs=1e-5)
    # What it counts is what judge says.
    verdicts = judge(GaussianEncoder(gaussian), [p.premise for p in other], [p.hypothesis for p in other])
    said = [verdict.says in ("entails", "both ways") for verdict in verdicts]
    right = [yes == (pair.label == "entailment") for yes, pair in zip(said, other, strict=True)]
    nli, direction = told["sets"]["OTHER"]["nli"], told["sets"]["OTHER"]["direction"]
    assert (nli["n"], nli["right"]) == (45, pytest.approx(sum(right) / 45))
    margins = [v.margin for v, pair in zip(verdicts, other, strict=True) if pair.label == "entailment"]
    assert (direction["n"], direction["right"]) == (15, pytest.approx(sum(m > 0 for m in margins) / 15))
    assert sum(one["n"] for one in nli["bins"]) == 45
    page = (out / "gausscse_calibration.md").read_text(encoding="utf-8")
    assert "fitted on DEV: threshold and NLI's curve on its 60 pairs" in " ".join(page.split())
    assert "points on OTHER (in the mean" in page.replace("\n", " ")
    assert "points on DEV" not in page.replace("\n", " ")
    assert str(tmp_path) not in page
    (out / "gausscse_calibration.md").unlink()
    assert script.main(["--table", "--results", str(out)]) == 0
    assert (out / "gausscse_calibration.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit):
        script.main([*given[:-4], "--fitted-on", "NOBODY"])
    with pytest.raises(SystemExit, match="found none; measure first"):
        script.main(["--table", "--results", str(tmp_path)])
