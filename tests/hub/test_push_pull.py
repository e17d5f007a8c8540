"""Encoders, scorers and judges to the Hub and back, by the real client over a stand-in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.arcf.scoring.scorer import ScorerForm, load_scorer
from entail.arcf.scoring.terms import Explanations, SharedPieces, Terms, WordSimilarity
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError, HubError
from entail.hub.pull import pull_encoder
from entail.hub.push import cross_encoders, push_encoder
from entail.judge.judges import JudgeForm, NliJudge
from entail.training.adapters.tower import CrossTower, Lora, Tower
from entail.training.cards.sources import PACKAGED_HUB_ID

Write = Callable[..., Path]
TEXTS = ["ba de fi", "go lu ma ne", "pi"]
PAIR = [((7, 8), (9, 10))]


@pytest.fixture
def mine(trained: Write, on_hub: None) -> Path:
    """An adapter, `mine`, on a base that the Hub has."""
    return trained()


@pytest.fixture
def pushed(hub: Any, token: str, mine: Path) -> dict[str, bytes]:
    """The files of `team/mine`, to which `mine` was pushed."""
    push_encoder("mine", "team/mine")
    return dict(hub.repositories["team/mine"].files)


def test_an_adapter_is_pushed_private_and_pulled(
    hub: Any, token: str, home: Path, trained: Write, on_hub: None
) -> None:
    trained(towers="dual")
    done = push_encoder("mine", "team/mine")
    repository = hub.repositories["team/mine"]
    assert (repository.private, done.private, done.commit) == (True, True, repository.head)
    weights = {"adapter_config.json", "adapter_model.safetensors"}
    towers = {f"premise_tower/{name}" for name in weights}
    assert set(done.files) == {"README.md", "entail.json", *weights, *towers}
    assert repository.files["README.md"].decode() == done.card
    assert 'entail.load("team/mine")' in done.card
    config = json.loads(repository.files["adapter_config.json"])
    assert config["base_model_name_or_path"] == PACKAGED_HUB_ID
    assert hub.objects  # the weights went by LFS

    back = pull_encoder("team/mine", name="again")
    assert (back.commit, back.files.keys()) == (repository.head, done.files.keys())
    assert back.entry is not None
    assert (back.name, back.entry.towers, back.revision) == ("again", "dual", back.entry.revision)
    original, copy = entail.load("mine"), entail.load("again")
    assert np.array_equal(original.encode_queries(TEXTS), copy.encode_queries(TEXTS))
    assert np.array_equal(original.encode_premises(TEXTS), copy.encode_premises(TEXTS))
    assert {path.name for path in home.iterdir()} == {"tiny", "other", "mine", "again"}
    modes = {path.stat().st_mode for path in (home / "again").rglob("*") if path.is_file()}
    assert len(modes) == 1  # whoever may read the card may read the weights


def test_a_merged_model_needs_no_base(hub: Any, pushed: Any) -> None:
    plan = push_encoder("mine", "team/mine", merged=True, dry_run=True)
    assert (plan.url, plan.commit, plan.private) == (None, None, True)
    assert "library_name: sentence-transformers" in plan.card
    done = push_encoder("mine", "team/mine", merged=True)
    assert done.files.keys() == plan.files.keys()
    assert {"adapter_config.json", "adapter_model.safetensors"} <= set(done.removed)
    pull_encoder("team/mine", name="whole")
    assert resolve("whole").base is None
    expected = entail.load("mine").encode_queries(TEXTS)
    assert np.allclose(entail.load("whole").encode_queries(TEXTS), expected, atol=1e-5)


def test_nothing_private_goes_into_a_public_repository(hub: Any, token: str, mine: Path) -> None:
    before = hub.put("team/open", {"notes.md": b"theirs"})
    theirs = {"model.safetensors": b"theirs", "config.json": b"{}", "README.md": b"theirs"}
    hub.put("team/theirs", theirs, private=True)  # a model that another program pushed
    for repo in ("team/open", "team/theirs"):
        with pytest.raises(HubError) as caught:
            push_encoder("mine", repo)
        assert caught.value.reason == "place"
    assert hub.repositories["team/open"].head == before
    assert hub.repositories["team/theirs"].files == theirs
    done = push_encoder("mine", "team/open", private=False)
    assert (done.private, done.removed) == (False, ())
    assert hub.repositories["team/open"].files["notes.md"] == b"theirs"


@pytest.mark.parametrize(
    "file",
    ["pytorch_model.bin", "optimizer.pt", "notes.txt", ".env", "a/b/c/d/config.json", "run.py", "LICENSE"],
)
def test_only_model_files_are_pushed(hub: Any, token: str, mine: Path, file: str) -> None:
    (mine / file).parent.mkdir(parents=True, exist_ok=True)
    if file == "LICENSE":
        (mine / file).symlink_to("/etc/passwd")
    else:
        (mine / file).write_text("{}", encoding="utf-8")
    with pytest.raises(HubError, match=file) as caught:
        push_encoder("mine", "team/mine")
    assert (caught.value.reason, hub.asked) == ("unsafe", [])


def test_what_others_could_not_load_is_refused(
    hub: Any, trained: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(config={"initial": str(tmp_path / "secret-place" / "start"), "loss": "triplet"})
    for name in ("mine", "tiny", "minilm"):  # a local base, no card, no model of one's own
        with pytest.raises(HubError) as caught:
            push_encoder(name, "team/mine", dry_run=True)
        assert caught.value.reason == "place"
    plan = push_encoder("mine", "team/mine", merged=True, dry_run=True)
    assert plan.files
    assert "secret-place" not in plan.card
    for repo in ("mine", "a/b/c", "../x", "team/..", "team/a b", "https://hf.co/a/b", "-a/b", ""):
        for call in (push_encoder, lambda _, repo: pull_encoder(repo)):
            with pytest.raises(HubError) as caught:
                call("tiny", repo)
            assert caught.value.reason == "place"
    assert hub.asked == []


def test_a_commit_is_pulled_by_its_number(hub: Any, pushed: Any, trained: Write) -> None:
    def towers(name: str, revision: str | None = None) -> str:
        return resolve(pull_encoder("team/mine", name=name, revision=revision).name).towers

    first = hub.repositories["team/mine"].head
    trained(towers="siamese")
    assert push_encoder("mine", "team/mine").commit != first
    assert towers("old", first) == "single"
    assert towers("new") == "siamese"
    # The same repository replaces what came from it; another one does not.
    assert towers("new", first) == "single"
    for taken_name in ("mine", "minilm", "bm25"):
        with pytest.raises(HubError) as caught:
            pull_encoder("team/mine", name=taken_name)
        assert caught.value.reason == "place"
    assert resolve("mine").towers == "siamese"
    with pytest.raises(HubError, match="gone"):
        pull_encoder("team/mine", name="x", revision="gone")


def test_unsafe_repositories_are_refused(hub: Any, pushed: dict[str, bytes], home: Path) -> None:
    code = [{"idx": 0, "name": "0", "path": "", "type": "run.Model"}]
    elsewhere = {**json.loads(pushed["entail.json"]), "base": "/etc"}
    for files in (
        {"pytorch_model.bin": b"\x80", "config.json": b"{}"},
        {"README.md": b"hi"},
        {**pushed, "modules.json": json.dumps(code).encode()},
        {**pushed, "entail.json": json.dumps(elsewhere).encode()},
        {**pushed, "entail.json": b"[1]"},
    ):
        hub.put("team/bad", files)
        with pytest.raises((HubError, EncoderError)) as caught:
            pull_encoder("team/bad")
        assert getattr(caught.value, "reason", "unsafe") == "unsafe"
    assert {path.name for path in home.iterdir()} == {"tiny", "other", "mine"}


def test_a_model_placed_during_a_pull_is_kept(
    hub: Any, pushed: dict[str, bytes], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(*_: object) -> None:
        (home / "again").mkdir(exist_ok=True)
        (home / "again" / "entail.json").write_text('{"method": "aeenc"}', encoding="utf-8")

    monkeypatch.setattr("entail.hub.pull._verify", place)
    with pytest.raises(HubError) as caught:
        pull_encoder("team/mine", name="again")
    assert caught.value.reason == "place"
    assert [path.name for path in (home / "again").iterdir()] == ["entail.json"]


def test_only_whole_model_files_are_pulled(hub: Any, pushed: dict[str, bytes], home: Path) -> None:
    hub.put("team/mine", {**pushed, "pytorch_model.bin": b"\x80", "run.py": b"x", "../../up.json": b"{}"})
    sizes = pull_encoder("team/mine", name="again").files
    assert sizes.keys() == pushed.keys() - {".gitattributes"}
    assert not [path for path in home.parent.rglob("*") if path.name in ("up.json", "run.py")]
    hub.spoilt.add("adapter_model.safetensors")
    hub.put("team/mine", {**pushed, "README.md": b"new"})
    with pytest.raises(HubError, match=r"adapter_model\.safetensors differs"):
        pull_encoder("team/mine", name="again")
    assert {name: (home / "again" / name).stat().st_size for name in sizes} == sizes
    assert not [path for path in home.iterdir() if path.name.startswith(".")]


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
    tower = CrossTower(resolve("tiny"), lora=Lora(rank=2), device="cpu", max_length=32, outputs=3)
    _saved(tower, home / "weigh", {"method": "judge", "judge": JudgeForm(max_length=32).to_json()})
    assert run_json("push", "weigh", "team/judge")["private"]
    assert run_json("pull", "team/judge")["revision"] == cross_encoders()["judge"].revision
    pair = (["ba de"], ["ba"])
    assert np.array_equal(NliJudge("weigh").probabilities(*pair), NliJudge("judge").probabilities(*pair))


def test_a_scorer_that_others_could_not_load_is_refused(hub: Any, home: Path, scorer: Path) -> None:
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
