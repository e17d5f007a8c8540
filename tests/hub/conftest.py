"""A stand-in for the Hub: as much of its protocol as the real client needs to push and to pull."""

import base64
import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from entail.encoders import catalogue
from entail.encoders.catalogue import EncoderEntry

TOKEN = "hf_" + "S3cret" * 5


@dataclass
class Repository:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    head: str = ""

    def commit(self, files: dict[str, bytes]) -> str:
        self.head = hashlib.sha1(repr((self.head, sorted(files.items()))).encode()).hexdigest()
        self.commits[self.head] = files
        return self.head

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.settings: dict[str, Any] = {}  # of buckets and volumes, by path
        self.faults: list[tuple[str, str, int, str, dict[str, str]]] = []
        self.asked: list[str] = []
        self.spoilt: set[str] = set()  # files that are damaged on the way

    def put(self, repo: str, files: dict[str, bytes], *, private: bool = False) -> str:
        """Have a repository with these files at its head; `datasets/...` for a data set."""
        return self.repositories.setdefault(repo, Repository(private)).commit(dict(files))

    def refuse(self, method: str, path: str, status: int, message: str = "no", **headers: str) -> None:
        """Refuse requests from now on, by method and part of the path."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append((method, path, status, message, fields))


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.body = self._read()
        self.server.asked.append(f"{self.command} {path}")
        for method, part, status, message, headers in self.server.faults:
            if method == self.command and part in path:
                self._refuse(status, message, headers)
                return
        if path.startswith("/lfs/"):  # an address that is signed
            assert hashlib.sha256(self.body).hexdigest() == path.removeprefix("/lfs/")
            self.server.objects[path.removeprefix("/lfs/")] = self.body
            self._say({})
        elif path == "/api/validate-yaml":
            self._say({"errors": [], "warnings": []})
        elif "/resolve/" in path:
            self._resolve(path.removeprefix("/"))
        elif self.command in ("POST", "PUT") and not self._is_signed_in():
            self._refuse(401, "Invalid username or password")
        elif path == "/api/repos/create":
            self._create()
        elif path.endswith("/info/lfs/objects/batch"):
            href, entries = f"{self.server.address}/lfs/", json.loads(self.body)["objects"]
            objects = [{**entry, "actions": {"upload": {"href": href + entry["oid"]}}} for entry in entries]
            self._say({"transfer": "basic", "objects": objects})
        else:
            self._api(path.removeprefix("/api/"))

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - names of the base class

    def _read(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _create(self) -> None:
        record = json.loads(self.body)
        prefix = {"dataset": "datasets/", "space": "spaces/"}.get(record["type"], "")
        assert prefix != "spaces/" or record["sdk"] == "docker"
        repo = f"{prefix}{record['organization']}/{record['name']}"
        status = 409 if repo in self.server.repositories else 200
        if status == 200:
            private = record["visibility"] == "private"
            self.server.put(repo, {".gitattributes": b"*.safetensors filter=lfs"}, private=private)
        self._say({"url": f"{self.server.address}/{repo}", "error": "exists"}, status=status)

    def _api(self, path: str) -> None:
        kind, owner, name, *parts = path.split("/")
        if kind == "buckets" or parts == ["volumes"]:
            self.server.settings[path] = json.loads(self.body)
            self._say({"url": f"{self.server.address}/{path}"})
            return
        repo = f"{owner}/{name}" if kind == "models" else f"{kind}/{owner}/{name}"
        repository = self._repository(repo)
        if repository is None:
            return
        if parts[:1] == ["preupload"]:
            paths = [file["path"] for file in json.loads(self.body)["files"]]
            self._say({"files": [_upload(path, repository.files.get(path)) for path in paths]})
        elif parts[:1] == ["commit"]:
            self._commit(repo, repository)
        elif commit := self._revision(repository, parts[1] if parts else "main"):
            files = [
                {"type": "file", "path": file, "rfilename": file, **_blob(file, content)}
                for file, content in sorted(repository.commits[commit].items())
            ]
            about = {"id": repo, "sha": commit, "private": repository.private, "siblings": files}
            self._say(files if parts[:1] == ["tree"] else about)

    def _commit(self, repo: str, repository: Repository) -> None:
        files = dict(repository.files)
        for line in map(json.loads, self.body.splitlines()):
            key, value = line["key"], line["value"]
            if key == "header" and value.get("parentCommit") not in (None, repository.head):
                self._refuse(412, "a commit has happened since")
                return
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
        commit = repository.commit(files)
        url = f"{self.server.address}/{repo}/commit/{commit}"
        self._say({"success": True, "commitUrl": url, "commitOid": commit, "hookOutput": ""})

    def _resolve(self, path: str) -> None:
        repo, _, rest = path.partition("/resolve/")
        revision, _, name = rest.partition("/")
        repository = self._repository(repo)
        commit = self._revision(repository, revision) if repository else None
        if repository is None or commit is None:
            return
        if name not in repository.commits[commit]:
            self._refuse(404, "no such file", {"X-Error-Code": "EntryNotFound"})
            return
        content = repository.commits[commit][name]
        etag = hashlib.sha256(content).hexdigest()
        if name in self.server.spoilt:
            content = content[:-1] + bytes([content[-1] ^ 1])
        self._send(content, headers={"ETag": f'"{etag}"', "X-Repo-Commit": commit})

    def _repository(self, repo: str) -> Repository | None:
        repository = self.server.repositories.get(repo)
        if repository is None or (repository.private and not self._is_signed_in()):
            self._refuse(404, "Repository not found", {"X-Error-Code": "RepoNotFound"})
            return None
        return repository

    def _revision(self, repository: Repository, revision: str) -> str | None:
        commit = repository.head if revision == "main" else revision
        if commit in repository.commits:
            return commit
        self._refuse(404, "Invalid rev id", {"X-Error-Code": "RevisionNotFound"})
        return None

    def _is_signed_in(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        # As badly as a server may behave: what it was sent stands in what it says.
        text = f"{message}; you sent {self.headers.get('Authorization')}"
        self._send(json.dumps({"error": text}).encode(), status=status, headers=headers)

    def _say(self, record: Any, *, status: int = 200) -> None:
        self._send(json.dumps(record).encode(), status=status)

    def _send(self, content: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _blob(name: str, content: bytes) -> dict[str, Any]:
    oid = hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()
    record: dict[str, Any] = {"size": len(content), "oid": oid}
    if name.endswith(".safetensors"):
        digest = hashlib.sha256(content).hexdigest()
        record["lfs"] = {"sha256": digest, "oid": digest, "size": len(content), "pointerSize": 134}
    return record


def _upload(path: str, content: bytes | None) -> dict[str, Any]:
    """Return how a file is sent, and the digest of the one that is there already."""
    mode = "lfs" if path.endswith(".safetensors") else "regular"
    blob = {} if content is None else _blob(path, content)
    oid = blob.get("lfs", blob).get("oid")
    return {"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid}


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, as a repository has them."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def write_own(home: Path) -> Callable[..., Any]:
    """Return what writes an adapter on `tiny` without entail, as sentence-transformers saves it."""

    def write(folder: Path, **options: Any) -> Any:
        from peft import LoraConfig
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        modules: list[Any] = [Transformer(str(home / "tiny"), max_seq_length=8), Pooling(16, "cls")]
        model = SentenceTransformer(modules=modules, device="cpu", **options)
        model.add_adapter(LoraConfig(r=2, init_lora_weights=False, target_modules=["query", "value"]))
        model.save_pretrained(str(folder), create_model_card=False)
        return model

    return write


@pytest.fixture
def hub(serve_hub: Callable[[Hub], None]) -> Hub:
    """The stand-in, at which the client looks, and no token."""
    server = Hub()
    serve_hub(server)
    return server


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return TOKEN


@pytest.fixture
def ready(trained: Callable[..., Path], home: Path) -> Path:
    """An encoder that can be pushed as it is, on the packaged base."""
    return trained(base="minilm", base_revision=None)


class Output:
    """All output, log records and errors, which must not contain a token."""

    def __init__(self, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
        self._capfd, self._caplog = capfd, caplog
        self.texts: list[str] = []

    def add(self, error: BaseException | None) -> None:
        """Add an error with all that it refers to."""
        waiting: list[Any] = [error]
        seen_ids: set[int] = set()
        while waiting:
            part = waiting.pop()
            if part is None or id(part) in seen_ids:
                continue
            seen_ids.add(id(part))
            self.texts += [str(part), repr(part), repr(getattr(part, "headers", ""))]
            if isinstance(part, BaseException):
                waiting += [part.__cause__, part.__context__, *part.args, *vars(part).values()]
            else:
                waiting.append(getattr(part, "request", None))

    def everything(self) -> str:
        self.texts += self._capfd.readouterr()
        for record in self._caplog.records:
            self.texts += [record.getMessage(), repr(record.args)]
            self.add(record.exc_info[1] if record.exc_info else None)
        return "\n".join(self.texts)


@pytest.fixture
def output(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Output:
    caplog.set_level(logging.DEBUG)
    for name in ("huggingface_hub", "httpx2", "httpcore2", "filelock"):
        caplog.set_level(logging.DEBUG, logger=name)
    return Output(capfd, caplog)


@pytest.fixture
def on_hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let the tiny base be known as a model of the Hub, which is here."""
    locate = catalogue._locate

    def packaged() -> EncoderEntry:
        whole = catalogue._folder_entry(home / "tiny", "tiny")
        return EncoderEntry(**{**vars(whole), "kind": "packaged", "licence": "apache-2.0"})

    def locate_tiny(name: Any, **options: Any) -> Any:
        return "packaged" if name == "tiny" else locate(name, **options)

    monkeypatch.setattr(catalogue, "_locate", locate_tiny)
    monkeypatch.setattr(catalogue, "_packaged_entry", packaged)
    monkeypatch.setattr(catalogue, "verify", lambda _: None)
    for module in ("encoder", "stock"):
        monkeypatch.setattr(f"entail.encoders.{module}.verify", lambda _: None)
