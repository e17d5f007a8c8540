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


@dataclass
class Fault:
    """Refusal of requests by method and part of the path."""

    method: str
    path: str
    status: int
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict)


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.buckets: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, list[dict[str, Any]]] = {}
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.spoilt: set[str] = set()  # files that are damaged on the way

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, repo: str, files: dict[str, bytes], *, private: bool = False) -> str:
        """Have a repository with these files at its head; `datasets/...` for a data set."""
        return self.repositories.setdefault(repo, Repository(private)).commit(dict(files))


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.body = self._read()
        self.server.asked.append(f"{self.command} {path}")
        for fault in self.server.faults:
            if fault.method == self.command and fault.path in path:
                self._refuse(fault.status, fault.message, fault.headers)
                return
        if path.startswith("/lfs/"):
            self._lfs_object(path.removeprefix("/lfs/"))
        elif path == "/api/validate-yaml":
            self._say({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._create()
        elif path.endswith("/info/lfs/objects/batch"):
            self._batch(path)
        elif path.startswith("/api/"):
            self._api(path.removeprefix("/api/"))
        elif "/resolve/" in path:
            self._resolve(path.removeprefix("/"))
        else:
            self._refuse(404, "no such address")

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
        if not self._may_write():
            return
        record = json.loads(self.body)
        prefix = {"dataset": "datasets/", "space": "spaces/"}.get(record.get("type"), "")
        assert prefix != "spaces/" or record["sdk"] == "docker"
        repo = f"{prefix}{record['organization']}/{record['name']}"
        present = repo in self.server.repositories
        if not present:
            repository = Repository(record.get("visibility") == "private" or bool(record.get("private")))
            repository.commit({".gitattributes": b"*.safetensors filter=lfs"})
            self.server.repositories[repo] = repository
        url = f"{self.server.address}/{repo}"
        self._say(
            {"url": url, "error": "exists"} if present else {"url": url}, status=409 if present else 200
        )

    def _api(self, rest: str) -> None:
        kind, owner, name, *parts = rest.split("/")
        if kind == "buckets":
            if self._may_write():
                self.server.buckets[f"{owner}/{name}"] = json.loads(self.body)
                self._say({"url": f"{self.server.address}/buckets/{owner}/{name}"})
            return
        repo = f"{kind}/{owner}/{name}" if kind in ("datasets", "spaces") else f"{owner}/{name}"
        repository = self._repository(repo)
        if repository is None:
            return
        if parts[:1] == ["preupload"]:
            paths = [file["path"] for file in json.loads(self.body)["files"]]
            modes = ["lfs" if path.endswith(".safetensors") else "regular" for path in paths]
            oids = [_oid(path, repository.files.get(path)) for path in paths]
            rows = zip(paths, modes, oids, strict=True)
            files = [
                {"path": p, "uploadMode": mode, "shouldIgnore": False, "oid": oid} for p, mode, oid in rows
            ]
            self._say({"files": files})
        elif parts[:1] == ["commit"]:
            self._commit(repo, repository)
        elif parts == ["volumes"]:
            if self._may_write():
                self.server.volumes[repo] = json.loads(self.body)["volumes"]
                self._say({})
        elif not parts or parts[0] in ("revision", "tree"):
            commit = self._revision(repository, parts[1] if parts else "main")
            if commit is None:
                return
            blobs = {path: _blob(path, content) for path, content in repository.commits[commit].items()}
            if parts[:1] == ["tree"]:
                self._say([{"type": "file", "path": path, **blob} for path, blob in sorted(blobs.items())])
                return
            siblings = [{"rfilename": path, **blob} for path, blob in sorted(blobs.items())]
            self._say({"id": repo, "sha": commit, "private": repository.private, "siblings": siblings})
        else:
            self._refuse(404, "no such address")

    def _commit(self, repo: str, repository: Repository) -> None:
        if not self._may_write():
            return
        lines = [json.loads(line) for line in self.body.splitlines() if line.strip()]
        files = dict(repository.files)
        for line in lines:
            value = line["value"]
            if line["key"] == "header" and value.get("parentCommit") not in (None, repository.head):
                self._refuse(412, "a commit has happened since")
                return
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = repository.commit(files)
        url = f"{self.server.address}/{repo}/commit/{commit}"
        self._say({"success": True, "commitUrl": url, "commitOid": commit, "hookOutput": ""})

    def _batch(self, path: str) -> None:
        if not self._may_write():
            return
        objects = []
        for entry in json.loads(self.body)["objects"]:
            href = f"{self.server.address}/lfs/{entry['oid']}"
            actions = {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}
            objects.append(
                {**entry, "actions": actions} if entry["oid"] not in self.server.objects else entry
            )
        self._say({"transfer": "basic", "objects": objects})

    def _lfs_object(self, oid: str) -> None:
        if self.command == "PUT":
            assert hashlib.sha256(self.body).hexdigest() == oid
            self.server.objects[oid] = self.body
        self._say({})

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
        if repository is None or (repository.private and not self._known()):
            self._refuse(404, "Repository not found", {"X-Error-Code": "RepoNotFound"})
            return None
        return repository

    def _revision(self, repository: Repository, revision: str) -> str | None:
        commit = repository.head if revision == "main" else revision
        if commit in repository.commits:
            return commit
        self._refuse(404, "Invalid rev id", {"X-Error-Code": "RevisionNotFound"})
        return None

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _may_write(self) -> bool:
        if not self._known():
            self._refuse(401, "Invalid username or password", {})
        return self._known()

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


def _oid(name: str, content: bytes | None) -> str | None:
    """Return what the client knows a file by that is there already."""
    if content is None:
        return None
    if name.endswith(".safetensors"):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()


def _blob(name: str, content: bytes) -> dict[str, Any]:
    record: dict[str, Any] = {"size": len(content), "oid": hashlib.sha1(content).hexdigest()}
    if name.endswith(".safetensors"):
        digest = hashlib.sha256(content).hexdigest()
        record["lfs"] = {"sha256": digest, "oid": digest, "size": len(content), "pointerSize": 134}
    return record


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home


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


@pytest.fixture
def fault(hub: Hub) -> Callable[..., None]:
    """Return what lets the Hub say something else from now on."""

    def add(method: str, path: str, status: int, message: str = "no", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        hub.faults.append(Fault(method, path, status, message, named))

    return add


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
