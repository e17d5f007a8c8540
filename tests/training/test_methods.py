"""Every method trains from files, stops, resumes to the same weights bit for bit, and its model loads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.answering.reader import load_reader
from entail.arcf.scoring.scorer import load_scorer
from entail.encoders.cross.reranker import Reranker
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import CheckpointError, TrainingError
from entail.judge.judges import NliJudge
from entail.training.method import Run, methods

SMALL = {"base": "tiny", "epochs": 2, "rank": 2, "precision": "fp32", "dropout": 0.1, "seed": 3}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "aeenc": {"live_k": 8, "batch_size": 4},
    "arcf": {"k": 6, "batch_tokens": 400, "max_length": 32, "prefixes_a_step": 4, "token_budget": 0},
    "dpr": {"batch_size": 4, "max_length": 32},
    "gausscse": {"batch_size": 4, "evaluate_every": 3, "max_length": 32},
    "judge": {"batch_size": 4, "max_length": 24, "evaluate_every": 3},
    "reader": {"batch_size": 4, "max_length": 32, "evaluate_every": 3},
    "reranker": {"retriever": "bm25", "batch_size": 4, "max_length": 32, "nearest": 10},
    "tuning": {"batch_size": 4, "max_length": 32},
}
LOAD = {
    "gausscse": GaussianEncoder,
    "arcf": load_scorer,
    "judge": NliJudge,
    "reader": load_reader,
    "reranker": Reranker,
}


@pytest.fixture
def sources(tmp_path: Path, grove_files: tuple[Path, Path]) -> dict[str, dict[str, Path]]:
    """Files of each kind of source."""
    facts, trees = grove_files
    words = [a + b for a in "bdfglmnprst" for b in "aeiou"]
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(words, size=8, replace=False)) for _ in range(16)]

    def write(name: str, content: str) -> Path:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return tmp_path / name

    labels = {"entailment": 0, "neutral": 1, "contradiction": 2}
    pairs = [
        {"premise": text, "hypothesis": " ".join(text.split()[at : at + 3]), "label": label}
        for text in texts
        for label, at in labels.items()
    ]
    nli, dev = (
        write(f"{name}.jsonl", "\n".join(map(json.dumps, rows)))
        for name, rows in (("nli", pairs[:36]), ("dev", pairs[36:]))
    )
    paragraphs = [
        {
            "context": text,
            "qas": [{"id": text, "question": text[:5], "answers": [{"text": " ".join(text.split()[4:6])}]}],
        }
        for text in texts
    ]
    squad = write("squad.json", json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
    (tmp_path / "tables").mkdir()
    rows = [f"{text}\tx\t{at:08}" for at, text in enumerate(texts)]
    write("tables/T.tsv", "\n".join(["WORDS\t[SKIP] COMMENTS\t[SKIP] UID", *rows]) + "\n")
    lines = [
        f"Q{at}\tB\t{text[:5]} (A) ba bo (B) {text[6:8]}\t{at:08}|CENTRAL\tSUCCESS\tEasy"
        for at, text in enumerate(texts)
    ]
    head = "QuestionID\tAnswerKey\tquestion\texplanation\tflags\tarcset"
    questions = write("questions.tsv", "\n".join([head, *lines]) + "\n")
    of_trees = {"corpus": facts, "trees": trees, "dev": trees}
    of_pairs = {"pairs": nli, "dev": dev}
    of_passages = {"questions": squad, "dev": squad}
    return {
        **dict.fromkeys(("aeenc", "reranker"), of_trees),
        **dict.fromkeys(("gausscse", "judge"), of_pairs),
        **dict.fromkeys(("tuning", "dpr", "reader"), of_passages),
        "arcf": {"tables": tmp_path / "tables", "questions": questions, "dev": questions},
    }


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
    parts = train("parts")
    assert parts["fitted"]["resumed"] == 1
    assert [e["score"] for e in parts["fitted"]["evaluations"]] == [
        e["score"] for e in whole["fitted"]["evaluations"]
    ]
    weights = [
        {path.relative_to(tiny_home / folder): path.read_bytes() for path in files}
        for folder in ("whole", "parts")
        if (files := sorted((tiny_home / folder).rglob("*.safetensors")))
    ]
    assert len(weights) == 2
    assert weights[0] == weights[1]
    load: Any = LOAD.get(name, BiEncoder)
    assert load("parts").revision.startswith("parts@")
