"""First contents of Claims, Direction and Chains: they ship, and are of just the models that are packaged."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.arcf.chains.chain import corpus_facts
from entail.arcf.chains.example import EXAMPLE, find_steps
from entail.arcf.scoring.scorer import list_scorers
from entail.claims import existence_claim
from entail.data.bundled import sample_corpus, sample_dir
from entail.encoders.catalogue import resolve
from entail.errors import EntailError
from entail.evaluation.passages.pool import EXAMPLES, corpus_pool, find_lists, read_lists
from entail.evaluation.passages.pool import FILE as LISTS
from entail.gausscse.example_pair import EXAMPLE as PAIR
from entail.gausscse.example_pair import find_gaussians
from entail.runtime.models import ModelCache
from entail.runtime.tasks import Task
from entail.ui.chains.page import DEFAULT_LENGTH
from entail.ui.claims.fields import TUNING
from tests.ui.conftest import buttons, html, opened, said


def stored(question: str = EXAMPLES[0].question, **changed: Any) -> Any:
    """Return the lists of an example as the page looks them up, with some arguments changed."""
    pool = corpus_pool(sample_corpus())
    known_question = pool.find_question(question)
    assert known_question is not None
    arguments: dict[str, Any] = {
        "names": TUNING,
        "revisions": [resolve(name).revision for name in TUNING],
        "corpus_hash": pool.corpus.hash,
        "question": question,
        "claim": existence_claim(question).text,
        "k": 5,
        "gold": known_question.gold,
    }
    return find_lists(**(arguments | changed))


def test_every_example_has_lists_of_the_packaged_encoders() -> None:
    for example in EXAMPLES:
        assert not existence_claim(example.question).fallback
        lists = stored(example.question)
        assert all(len(positions) == 5 for positions in lists.positions.values())
        assert all(row.other for row in lists.rows((0, "question"), (0, "claim"))), "ranks beyond the first 5"
    first = stored()
    shared = [first.shared((n, "question"), (n, "claim")) for n in (0, 1)]
    assert min(shared) < 4, "the lists of the first example differ"


@pytest.mark.parametrize(
    "changed",
    [
        {"revisions": ["dpr-minilm@0", None]},
        {"names": TUNING[::-1]},
        {"corpus_hash": "0"},
        {"claim": "edited"},
        {"k": 51},
        {"gold": frozenset()},
    ],
)
def test_lists_of_anything_else_are_not_taken(changed: dict[str, Any]) -> None:
    assert stored(**changed) is None


def test_gaussians_and_steps_of_anything_else_are_not_taken() -> None:
    gaussian = resolve("gausscse-minilm").revision
    assert find_gaussians("gausscse-minilm@0", PAIR) is find_gaussians(gaussian, ("another",)) is None
    (scorer,) = (entry for entry in list_scorers() if entry.name == "arcf-minilm")
    digest = corpus_facts(sample_corpus()).digest
    assert find_steps(scorer.revision, digest, EXAMPLE)
    for changed in (("arcf-minilm@0", digest, EXAMPLE), (scorer.revision, "0", EXAMPLE)):
        assert not find_steps(*changed)
    assert not find_steps(scorer.revision, digest, replace(EXAMPLE, answer="another"))


def test_damaged_files_are_left_to_the_models(tmp_path: Path) -> None:
    shutil.copytree(sample_dir(), tmp_path / "sample")
    content = json.loads((tmp_path / "sample" / LISTS).read_text(encoding="utf-8"))
    content.popitem()
    (tmp_path / "sample" / LISTS).write_text(json.dumps(content), encoding="utf-8")
    assert read_lists(tmp_path / "sample") is None


@pytest.fixture
def without_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every encoder, scorer and judge be in the making until the test ends."""
    waiting: Task[Any] = Task()
    monkeypatch.setattr(ModelCache, "get_or_start", lambda *_, **__: waiting)
    monkeypatch.setattr("entail.ui.direction.views.ChosenEncoder.take", lambda *_, **__: waiting)
    monkeypatch.setattr("entail.ui.claims.fields.list_judges", list)
    monkeypatch.setattr("entail.ui.chains.page.take_scorer", lambda *_, **__: waiting)
    monkeypatch.setattr("entail.ui.claims.fields.list_readers", list)
    yield
    waiting.error = EntailError("the test has ended")
    waiting.done.set()  # a comparison that waits for it holds the lock of scoring


@pytest.mark.usefixtures("without_models")
def test_the_pages_open_without_a_model(app: AppTest) -> None:
    app = opened(app, "Claims")
    assert len(html(app, 'class="ranked"')) == 4
    assert "Example chosen" in said(app)
    app.query_params.clear()
    app = opened(app, "Direction")
    assert len(app.metric) == 4
    app.query_params.clear()
    app = opened(app, "Chains")
    assert len(buttons(app, "chain-open-")) == DEFAULT_LENGTH
