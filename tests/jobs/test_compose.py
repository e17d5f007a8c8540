"""The services of docs/compose.yaml: their commands and settings, run on this machine without Docker."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from entail.errors import EntailError
from entail.jobs.jobs import Jobs
from entail.registry.models import active_name, promote
from entail.serving.client import Client
from tests.support.machine import free_port, until

ROOT = Path(__file__).parent.parent.parent
COMPOSE: Mapping[str, Any] = yaml.safe_load((ROOT / "docs" / "compose.yaml").read_text(encoding="utf-8"))
OWN = ("app-1", "app-2", "api", "worker")
TOKEN = "a-token-of-some-length"


@dataclass
class Stack:
    """Services that run: for each a port and a data folder of its own."""

    database: str
    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in (*OWN, "proxy")})

    def environment(self, name: str) -> dict[str, str]:
        """Return the settings of a service, with the places of this machine for those of the containers."""
        values = {key: str(value) for key, value in COMPOSE["services"][name]["environment"].items()}
        assert values["ENTAIL_DATABASE_URL"] == "postgresql://entail:${PASSWORD}@database/entail"
        assert values["ENTAIL_SERVE_TOKEN"] == "${TOKEN}"
        return values | {
            "ENTAIL_DATABASE_URL": self.database,
            "ENTAIL_ARTIFACTS": str(self.folder / "artifacts"),
            "ENTAIL_DATA_DIR": str(self.folder / name),
            "ENTAIL_SERVE_TOKEN": TOKEN,
            "ENTAIL_DEVICE": "cpu",
        }

    def on_ports(self, name: str, text: str) -> str:
        return re.sub(r"\b8[56]0[01]\b", str(self.ports[name]), text)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        program, *arguments = COMPOSE["services"][name]["command"]
        assert program == "entail"
        command = [sys.executable, "-m", "entail", *(self.on_ports(name, part) for part in arguments)]
        environment = {**os.environ, **self.environment(name)}
        with (self.folder / f"{name}.log").open("wb") as output:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)

    def is_healthy(self, name: str) -> bool:
        """Return whether the health check of a service passes."""
        kind, _, *arguments = COMPOSE["services"][name]["healthcheck"]["test"]
        assert kind == "CMD"
        check = [sys.executable, *(self.on_ports(name, part) for part in arguments)]
        return subprocess.run(check, stderr=subprocess.DEVNULL).returncode == 0

    def start_proxy(self) -> subprocess.Popen[bytes]:
        """Start nginx by the file's configuration, at this machine's ports."""
        text = COMPOSE["configs"]["nginx"]["content"].replace("$$", "$")
        for name in OWN:
            text = re.sub(rf"\b{name}:\d+", f"127.0.0.1:{self.ports[name]}", text)
        text = text.replace("listen 80;", f"listen 127.0.0.1:{self.ports['proxy']};")
        paths = (f"{kind}_temp_path {self.folder};" for kind in ("client_body", "proxy", "fastcgi"))
        paths = (*paths, *(f"{kind}_temp_path {self.folder};" for kind in ("uwsgi", "scgi")))
        file = self.folder / "nginx.conf"
        file.write_text(text.replace("http {", f"http {{ access_log off; {' '.join(paths)}", 1))
        options = f"daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;"
        return subprocess.Popen(["nginx", "-e", self.folder / "nginx.log", "-c", file, "-g", options])


@pytest.fixture
def stack(
    package: Path,
    tiny_home: Path,
    new_postgres_url: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    services = Stack(new_postgres_url(), tmp_path)
    monkeypatch.delenv("ENTAIL_MODELS_DIR")
    for name, value in services.environment("app-1").items():  # this process is a further machine
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "here"))
    with contextlib.ExitStack() as running:
        for name in OWN:
            process = services.start(name)
            running.callback(process.wait, 60)
            running.callback(process.terminate)
            if name == OWN[0]:
                until(lambda: services.is_healthy("app-1"))  # it makes the tables
        yield services


@pytest.mark.slow
@pytest.mark.postgres
def test_the_services_work_together(stack: Stack) -> None:
    for name in ("app-2", "api"):
        until(partial(stack.is_healthy, name))
    jobs = Jobs()
    job = jobs.submit("fifth", {}, {}, name="made", by="Ann")
    until(lambda: not jobs.job(job.id).open)
    assert jobs.job(job.id).state == "done"
    assert promote("made", by="Ann", anyway=True).encoder == "made"
    assert active_name("retriever", {"made": ""}) == "made"
    with Client(f"http://127.0.0.1:{stack.ports['api']}", token=TOKEN, attempts=60) as client:
        answer = client.search(
            ["the sun causes seasons"], corpus="EntailmentBank sample", retriever="minilm", k=3
        )
        assert len(answer.hits[0]) == 3
    with pytest.raises(EntailError), Client(f"http://127.0.0.1:{stack.ports['api']}", attempts=1) as client:
        client.info()

    if shutil.which("nginx") is None:
        pytest.skip("the proxy needs nginx: apt-get install nginx-light")
    proxy = stack.start_proxy()
    address = f"http://127.0.0.1:{stack.ports['proxy']}"

    def passes() -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health") as page:
            return bool(page.status == 200)
        return False

    try:
        until(passes)
        with Client(f"{address}/api", token=TOKEN) as client:
            assert client.health().ready
        with socket.create_connection(("127.0.0.1", stack.ports["proxy"]), 20) as socket_:
            socket_.sendall(
                f"GET /_stcore/stream HTTP/1.1\r\nHost: 127.0.0.1:{stack.ports['proxy']}\r\n"
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
            )
            assert socket_.recv(1000).startswith(b"HTTP/1.1 101")
    finally:
        proxy.terminate()
        proxy.wait(20)


def test_the_file_has_what_several_machines_need() -> None:
    services = COMPOSE["services"]
    assert set(services) == {*OWN, "proxy", "database"}
    for name in OWN:
        assert services[name]["environment"]["ENTAIL_DATABASE_URL"].startswith("postgresql://")
        assert "ENTAIL_ARTIFACTS" in services[name]["environment"]
    proxied = COMPOSE["configs"]["nginx"]["content"]
    assert "ip_hash" in proxied
    assert all(f"{name}:" in proxied for name in ("app-1", "app-2", "api"))
