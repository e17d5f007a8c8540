"""Hub models, fetched from a small server that speaks the Hub's protocol; nothing leaves this machine."""

import hashlib
import json
import shutil
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from entail.encoders.catalogue import fetch, resolve
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves one folder as `org/model`, at one commit, and notes what it is asked for."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        folder = self.server.folder
        files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
        if path.startswith("/api/models/org/model/tree/"):
            tree = [{"type": "file", "path": p.relative_to(folder).as_posix(), **_blob(p)} for p in files]
            self._send(json.dumps(tree).encode(), body=body)
        elif path.startswith("/api/models/org/model"):
            if path.endswith("/revision/gone"):
                self._send(b"{}", status=404, body=body, headers={"X-Error-Code": "RevisionNotFound"})
                return
            siblings = [{"rfilename": p.relative_to(folder).as_posix()} for p in files]
            info = {"id": "org/model", "modelId": "org/model", "sha": COMMIT, "siblings": siblings}
            self._send(json.dumps(info).encode(), body=body)
        elif path.startswith(f"/org/model/resolve/{COMMIT}/"):
            file = folder / path.removeprefix(f"/org/model/resolve/{COMMIT}/")
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            self._send(file.read_bytes(), body=body, headers={"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT})
        elif "gated" in path:
            self._send(b"{}", status=403, body=body, headers={"X-Error-Code": "GatedRepo"})
        else:
            self._send(b"{}", status=404, body=body, headers={"X-Error-Code": "RepoNotFound"})

    def _send(
        self, content: bytes, *, body: bool, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


def _blob(path: Path) -> dict[str, object]:
    return {"size": path.stat().st_size, "oid": hashlib.sha256(path.read_bytes()).hexdigest()[:40]}


@pytest.fixture
def hub(tiny: Path, tmp_path: Path, models_dir: Path, serve_hub: Callable[[Hub], None]) -> Hub:
    folder = Path(shutil.copytree(tiny, tmp_path / "served"))
    (folder / "pytorch_model.bin").write_bytes(b"never fetched")
    (folder / "modeling_code.py").write_text("raise SystemExit", encoding="utf-8")
    server = Hub(folder)
    serve_hub(server)
    return server


def test_a_name_alone_asks_the_hub_nothing(hub: Hub) -> None:
    entry = resolve("org/model")
    assert (entry.kind, entry.revision, entry.path) == ("hub", None, None)
    assert not BiEncoder("org/model").loaded
    assert hub.asked == []


def test_a_fetched_model_is_named_by_its_commit_and_encodes(
    hub: Hub, tiny: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    encoder = BiEncoder("org/model", device="cpu")
    assert encoder.revision == f"org/model@{COMMIT}"
    assert encoder.name == "org/model"
    assert encoder.dimension == 8
    assert encoder.symmetric
    expected = BiEncoder(tiny, device="cpu").encode_queries(["ice is cold"])
    assert encoder.encode_queries(["ice is cold"]).tolist() == expected.tolist()
    assert not [path for path in hub.asked if path.endswith((".bin", ".py"))]
    assert capfd.readouterr() == ("", "")


def test_without_network_the_cache_answers(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    first = fetch(resolve("org/model"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert fetch(resolve("org/model")) == first
    with pytest.raises(EncoderError, match=r"cannot be reached; connect once, or copy"):
        fetch(resolve("org/other"))


def test_pickles_on_the_hub_are_refused(hub: Hub) -> None:
    (hub.folder / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match=r"org/model: .* found no \.safetensors"):
        fetch(resolve("org/model"))


def test_code_on_the_hub_is_refused(hub: Hub) -> None:
    modules = json.loads((hub.folder / "modules.json").read_text(encoding="utf-8"))
    modules[0]["type"] = "modeling_code.Model"
    (hub.folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(EncoderError, match=r"org/model: .*modeling_code\.Model"):
        fetch(resolve("org/model"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("org/missing", "org/missing"),
        ("org/gated", "gated: accept its terms"),
        ("org/model@gone", "has no revision 'gone'"),
    ],
)
def test_what_the_hub_does_not_give_is_said(hub: Hub, name: str, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        fetch(resolve(name))


def test_an_adapter_on_a_hub_model_has_its_revision_when_the_base_is_here(
    hub: Hub, tiny_adapter: Path, models_dir: Path
) -> None:
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    (folder / "entail.json").write_text('{"base": "org/model"}', encoding="utf-8")
    entry = resolve("tuned")
    assert entry.revision is None
    encoder = BiEncoder(entry, device="cpu")
    assert encoder.revision.endswith(f"+org/model@{COMMIT}")
    expected = BiEncoder(tiny_adapter, device="cpu").encode_queries(["ice is cold"])
    assert encoder.encode_queries(["ice is cold"]).tolist() == expected.tolist()
