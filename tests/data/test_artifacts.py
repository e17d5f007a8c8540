"""Artifacts in a folder, in memory and in an S3-compatible store."""

from collections.abc import Callable
from pathlib import Path

import pytest

from entail.data.artifacts import Artifacts, pull_folder
from entail.errors import DataError


@pytest.fixture(params=["folder", "memory", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        return request.getfixturevalue("s3_url")()
    return str(tmp_path / "store") if request.param == "folder" else f"memory://{tmp_path.name}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "adapter").mkdir(parents=True)
    (folder / "card.json").write_text("{}")
    (folder / "adapter" / "weights").write_bytes(bytes(range(256)) * 1000)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_what_is_pushed_is_pulled_elsewhere(url: str, model: Path, tmp_path: Path) -> None:
    Artifacts(url).push([model, model / "card.json"], "models/mine/1.tar")
    store = Artifacts(url)
    assert store.names("models/mine") == ["models/mine/1.tar"]
    store.pull("models/mine/1.tar", tmp_path / "here")
    assert contents(tmp_path / "here" / "mine") == contents(model)
    assert (tmp_path / "here" / "card.json").read_text() == "{}"
    (model / "card.json").write_text("[]")
    store.push([model], "models/mine/1.tar")
    store.push([model], "models/mine/2.tar")
    target = tmp_path / "models" / "mine"
    assert pull_folder(store, "models/mine/1.tar", target)
    assert not pull_folder(store, "models/mine/1.tar", target), "it is there"
    assert (target / "card.json").read_text() == "[]"
    assert [path.name for path in target.parent.iterdir()] == ["mine"]
    assert store.names("models/mine") == ["models/mine/1.tar", "models/mine/2.tar"]
    store.remove("models/mine/1.tar")
    assert store.names("models/mine") == ["models/mine/2.tar"]
    store.remove("models")
    assert store.names("models/mine") == store.names("nothing") == []
    store.remove("models")


def test_a_missing_or_damaged_artifact_leaves_nothing(url: str, model: Path, tmp_path: Path) -> None:
    store = Artifacts(url)
    with pytest.raises(DataError):
        pull_folder(store, "models/mine/1.tar", tmp_path / "models" / "mine")
    store.push([model], "models/mine/1.tar")
    with store._files.open(f"{store._root}/models/mine/1.tar", "rb") as stored:
        half = stored.read()[:50_000]
    with store._files.open(f"{store._root}/models/mine/1.tar", "wb") as damaged:
        damaged.write(half)
    with pytest.raises(DataError):
        pull_folder(store, "models/mine/1.tar", tmp_path / "models" / "mine")
    assert list((tmp_path / "models").glob("*")) == []


def test_a_killed_push_is_not_listed(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Artifacts(str(tmp_path / "store"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda self, target: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(DataError):
            store.push([model], "models/mine/1.tar")
    assert store.names("models/mine") == []


@pytest.mark.parametrize("address", ["nosuch://x", "s3://nobucket/x"])
def test_a_store_that_does_not_answer(
    address: str,
    model: Path,
    s3_url: Callable[[], str],
) -> None:
    s3_url()
    with pytest.raises(DataError, match="ENTAIL_ARTIFACTS"):
        Artifacts(address).push([model], "models/mine/1.tar")
