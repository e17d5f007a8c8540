"""Scorers of facts and judges of entailment to the Hub and back, by the real client over a stand-in."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.scoring.scorer import ScorerForm, load_scorer
from entail.arcf.scoring.terms import Explanations, SharedPieces, Terms, WordSimilarity
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError, HubError
from entail.hub.pull import pull_encoder
from entail.hub.push import cross_encoders, push_encoder
from entail.judge.judges import JudgeForm, NliJudge
from entail.training.adapters.tower import Lora, Tower
from entail.training.cards.sources import PACKAGED_HUB_ID

PAIR = [((7, 8), (9, 10))]


@pytest.fixture
def scorer(home: Path) -> Path:
    """One that knows of facts without reading them, never trained."""
    tower = ScorerTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32)
    pieces = SharedPieces(np.ones(30, dtype=np.float32))
    vectors, numbers = np.eye(2, 4, dtype=np.float16), np.arange(2)
    explanations = Explanations("tiny", vectors, numbers, numbers, ("0" * 16, "f" * 16))
    tower.add_terms(Terms(pieces, explanations, WordSimilarity.of(["ice is cold"])), [3.0, 2.0, 4.0])
    form = ScorerForm(max_length=32, shared_pieces=True, encoder="tiny", similarity=True)
    return _saved(tower, home / "rank", {"method": "arcf", "scorer": form.to_json()})


def _saved(tower: Tower, folder: Path, record: dict[str, Any]) -> Path:
    tower.save(folder)
    base = resolve("tiny")
    about = {**record, "base": "tiny", "base_revision": base.revision, "base_licence": "apache-2.0"}
    (folder / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


def test_a_scorer_is_pushed_private_and_pulled(hub: Any, token: str, on_hub: None, scorer: Path) -> None:
    done = push_encoder("rank", "team/facts")
    repository = hub.repositories["team/facts"]
    assert repository.private
    files = {path.relative_to(scorer).as_posix() for path in scorer.rglob("*") if path.is_file()}
    assert set(done.files) == files | {"README.md"}
    config = json.loads(repository.files["adapter/adapter_config.json"])
    assert config["base_model_name_or_path"] == PACKAGED_HUB_ID
    card = repository.files["README.md"].decode()
    assert "entail pull team/facts\nentail rank --scorer facts" in card

    back = pull_encoder("team/facts", name="again")
    assert (back.entry, back.name, back.commit) == (None, "again", repository.head)
    original, copy = load_scorer("rank"), load_scorer("again")
    assert np.array_equal(original.pairs.score(PAIR), copy.pairs.score(PAIR))
    assert copy.weights == original.weights == pytest.approx((3.0, 2.0, 4.0))
    assert copy.revision == back.revision
    assert set(cross_encoders()) == {"rank", "again"}
    assert pull_encoder("team/facts", name="again").revision == back.revision

    record = json.loads(repository.files["entail.json"])
    record["scorer"]["encoder"] = "C:\\models\\tiny"  # a place on another machine
    hub.put("team/facts", {**repository.files, "entail.json": json.dumps(record).encode()})
    with pytest.raises(EncoderError, match="absolute path"):
        pull_encoder("team/facts", name="third")
    assert not (scorer.parent / "third").exists()


def test_a_judge_is_pushed_and_pulled(hub: Any, token: str, on_hub: None, home: Path, run_json: Any) -> None:
    from entail.training.adapters.tower import CrossTower

    tower = CrossTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32, outputs=3)
    _saved(tower, home / "weigh", {"method": "judge", "judge": JudgeForm(max_length=32).to_json()})
    assert run_json("push", "weigh", "team/judge")["private"]
    assert run_json("pull", "team/judge")["revision"] == cross_encoders()["judge"].revision
    pair = (["ba de"], ["ba"])
    assert np.array_equal(NliJudge("weigh").probabilities(*pair), NliJudge("judge").probabilities(*pair))


def test_what_others_could_not_load_is_refused(hub: Any, home: Path, scorer: Path) -> None:
    def refused() -> str:
        with pytest.raises(HubError) as caught:
            push_encoder("rank", "team/facts", dry_run=True)
        return str(caught.value)

    assert "explanations 'tiny'" in refused()
    record = json.loads((scorer / "entail.json").read_text(encoding="utf-8"))
    record["scorer"]["encoder"] = ""
    (scorer / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    assert "its base 'tiny'" in refused()
    (scorer / "notes.txt").write_text("mine", encoding="utf-8")
    assert "notes.txt" in refused()
    assert hub.asked == []
