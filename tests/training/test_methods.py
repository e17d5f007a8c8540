"""Every method trains from files, stops, resumes to the same weights bit for bit, and its model loads as one.

The defaults of a method are the recipe of the model that ships.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from entail.answering.reader import load_reader
from entail.arcf.scoring.scorer import load_scorer
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.cross.encoder import HEAD
from entail.encoders.cross.reranker import Reranker
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import CheckpointError, EncoderError, TrainingError
from entail.judge.judges import NliJudge
from entail.training.method import Run, methods
from tests.gausscse.conftest import nli_rows

SMALL = {"base": "tiny", "epochs": 2, "rank": 2, "precision": "fp32", "dropout": 0.1, "seed": 3}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "aeenc": {"live_k": 8, "batch_size": 4},
    "arcf": {"k": 6, "batch_tokens": 400, "max_length": 32, "prefixes_a_step": 4, "token_budget": 0},
    "dpr": {"batch_size": 12, "max_length": 32},
    "gausscse": {"batch_size": 4, "evaluate_every": 3, "max_length": 32},
    "judge": {"batch_size": 4, "max_length": 24, "evaluate_every": 3},
    "reader": {"batch_size": 12, "max_length": 32, "evaluate_every": 3},
    "reranker": {"retriever": "bm25", "batch_size": 4, "max_length": 32, "nearest": 10},
    "tuning": {"batch_size": 12, "max_length": 32},
}
LOAD = {
    "gausscse": GaussianEncoder,
    "arcf": load_scorer,
    "judge": NliJudge,
    "reader": load_reader,
    "reranker": Reranker,
}


@pytest.fixture
def sources(
    tmp_path: Path, grove_files: tuple[Path, Path], squad: dict[str, Path], release: dict[str, Path]
) -> dict[str, dict[str, Path]]:
    """Files of each kind of source."""
    facts, trees = grove_files
    for seed, name in enumerate(("pairs", "dev")):
        rows = nli_rows(12 - 8 * seed, seed=seed)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    of_trees = {"corpus": facts, "trees": trees, "dev": trees}
    of_pairs = {name: tmp_path / f"{name}.jsonl" for name in ("pairs", "dev")}
    of_passages = {"questions": squad["train"], "dev": squad["dev"]}
    return {
        **dict.fromkeys(("aeenc", "reranker"), of_trees),
        **dict.fromkeys(("gausscse", "judge"), of_pairs),
        **dict.fromkeys(("tuning", "dpr", "reader"), of_passages),
        "arcf": {"tables": release["tables"], "questions": release["train"], "dev": release["dev"]},
    }


def damages(folder: Path) -> Iterator[None]:
    """Damage a model in one way after the other."""
    file, head = folder / "entail.json", folder / HEAD
    content, weights = file.read_text(encoding="utf-8"), head.read_bytes()
    for changed in ({"method": "aeenc"}, {"base": None}, {"base_revision": "tiny@0123"}):
        file.write_text(json.dumps({**json.loads(content), **changed}), encoding="utf-8")
        yield
    file.write_text(content, encoding="utf-8")
    head.write_bytes(weights[: len(weights) // 2])
    yield
    head.unlink()
    yield


@pytest.mark.parametrize("name", list(methods()))
def test_a_stopped_training_resumes_bit_for_bit_and_its_model_loads(
    name: str, tiny_home: Path, sources: dict[str, dict[str, Path]]
) -> None:
    trainer = methods()[name]
    data = trainer.make_source(sources[name]).read()
    settings = {**SMALL, **SETTINGS[name]}

    def train(folder: str, *, stop_after: int = 0, **changes: object) -> Mapping[str, Any]:
        steps = iter(range(1, 1000))
        run = Run(out=tiny_home / folder, stop=(lambda: next(steps) == stop_after) if stop_after else None)
        return trainer.train(data, trainer.make_config({**settings, **changes}), run)

    whole = train("whole")
    with pytest.raises(TrainingError, match="stopped on request after step 3"):
        train("parts", stop_after=3)
    assert not (tiny_home / "parts").exists()
    with pytest.raises(CheckpointError, match=r"config\.seed"):
        train("parts", seed=4)
    with pytest.raises(TrainingError, match="found something else in 'tiny'"):
        train("tiny")
    assert not (tiny_home / "tiny.training").exists()  # said before anything was done
    parts = json.loads(json.dumps(train("parts")))
    assert parts["fitted"]["resumed"] == 1
    scores = [[e["score"] for e in result["fitted"]["evaluations"]] for result in (parts, whole)]
    assert scores[0] == scores[1]
    weights = [
        {path.relative_to(tiny_home / folder): path.read_bytes() for path in files}
        for folder in ("whole", "parts")
        if (files := sorted((tiny_home / folder).rglob("*.safetensors")))
    ]
    assert len(weights) == 2
    assert weights[0] == weights[1]

    load: Any = LOAD.get(name, BiEncoder)
    assert load("parts").revision.startswith("parts@")
    is_encoder = load in (BiEncoder, GaussianEncoder)
    assert ("parts" in {entry.name for entry in catalogue()}) == is_encoder
    if not is_encoder:
        with pytest.raises(EncoderError):
            resolve("parts")
        for _ in damages(tiny_home / "parts"):
            with pytest.raises(EncoderError):
                load("parts")
    if name in LOAD:
        with pytest.raises(EncoderError):
            load("tiny")


MODELS = Path(__file__).parents[2] / "models"


@pytest.mark.parametrize(
    ("name", "model", "entries", "own"),
    [
        ("arcf", "arcf-minilm", ["config"], set()),
        ("gausscse", "gausscse-minilm", ["config"], {"teachers", "seed"}),
        ("dpr", "dpr-minilm-tuned", ["config"], {"initial"}),
        ("tuning", "dpr-minilm-tuned", ["tuned", "config"], set()),
    ],
)
def test_the_defaults_are_the_recipe_of_the_packaged_model(
    name: str, model: str, entries: list[str], own: set[str]
) -> None:
    recipe = json.loads((MODELS / model / "entail.json").read_text(encoding="utf-8"))
    for entry in entries:
        recipe = recipe[entry]
    defaults = asdict(methods()[name].make_config({})).items()
    left_to_the_training = (None, "auto")  # the rate by what is tuned, the precision by the machine
    differing = {field for field, value in defaults if value not in (recipe[field], *left_to_the_training)}
    assert differing <= own


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("arcf", {"loss": "ranknet", "architecture": "cross", "k": 180, "highest_rate": 2e-5}),
        ("arcf", {"shared_pieces": 0, "power": 0, "similarity": 0}),
        ("tuning", {"tuning": "full", "batch_size": 128, "words": 100, "max_length": 256}),
        ("dpr", {"tuning": "full", "batch_size": 128, "words": 100, "max_length": 256}),
    ],
)
def test_the_preset_is_the_setting_of_the_paper(name: str, values: dict[str, Any]) -> None:
    preset = methods()[name].presets["paper"]
    assert {field: getattr(preset, field) for field in values} == values
