"""Access to pages, messages, media, API and metrics, for each way of sign-in, over a real server."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from entail.trees.installation.seed import SAMPLE_ID, seed_sample
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.attack.conftest import Tally
from tests.attack.visitor import USER_COOKIE, XSRF_COOKIE, Answer, Visitor, ask
from tests.support.machine import free_port

HYPOTHESIS = "the sun is a secret hypothesis"
SECRET = "a-secret-that-signs-cookies-of-the-app"
TOKEN = "a-token-of-some-length"
AUTH = f"""[auth]
redirect_uri = "http://127.0.0.1:PORT/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "entail"
client_secret = "a-client-secret"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""
ADA = {
    "sub": "1",
    "iss": "https://id.example",
    "name": "Ada",
    "email": "ada@uni.example",
    "email_verified": True,
}
OPE = {**ADA, "sub": "2", "name": "Ope", "email": "ope@uni.example"}
MODES: dict[str, dict[str, str]] = {
    "open": {},
    "to-write": {"ENTAIL_SIGN_IN": "to-write"},
    "to-read": {"ENTAIL_SIGN_IN": "to-read"},
    "demo": {"ENTAIL_DEMO": "1"},
}
HOSTILE: list[tuple[Any, Any]] = [("select", "no"), ("open", "../../x"), ("toggle", 1), (["select"], "h")]
USERS: dict[str, dict[str, Any] | None] = {"anonymous": None, "author": ADA, "operator": OPE}

pytestmark = pytest.mark.attack


class Installation:
    """A running app with a tree, in one mode."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode, self.folder = mode, folder
        self.url = f"sqlite:///{folder / 'data' / 'entail.db'}"
        database = open_database(self.url)
        seed_sample(database)
        self.tree = TreeLog(database).create(Create(hypothesis=HYPOTHESIS), author="Bob", corpus_id=SAMPLE_ID)
        database.close()
        self.port = free_port()
        environment = {
            **os.environ,
            **MODES[mode],
            "ENTAIL_DATA_DIR": str(folder / "data"),
            "ENTAIL_SERVE_TOKEN": TOKEN,
            "OMP_WAIT_POLICY": "PASSIVE",
        }
        if mode.startswith("to-"):
            (folder / "secrets.toml").write_text(AUTH.replace("PORT", str(self.port)))
            environment |= {
                "STREAMLIT_SECRETS_FILES": str(folder / "secrets.toml"),
                "ENTAIL_OPERATORS": OPE["email"],
            }
        command = ["-m", "entail", "app", "--api", "--port", str(self.port), "--address", "127.0.0.1"]
        self.log = folder / "log.txt"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen([sys.executable, *command], env=environment, stderr=out)
        for _ in range(600):
            try:
                if ask(self.port, "GET", "/_stcore/health")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.2)
        raise AssertionError("the app does not start")

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        assert "Traceback" not in self.log.read_text()

    def visit(self, user: dict[str, Any] | None, **options: Any) -> Visitor:
        return Visitor(self.port, user=user, secret=SECRET, **options)

    def ranked(self, visitor: Visitor) -> Answer:
        """Open the tree until its candidates are there, or it cannot be read."""
        for _ in range(2_000):  # a busy machine may take minutes to load the encoder
            page = visitor.open("Trees", f"tree={self.tree}")
            if HYPOTHESIS not in page or any("reject-" in button for button in page.ids("button")):
                return page
            time.sleep(0.1)
        raise AssertionError("no candidates")

    def events(self) -> list[Any]:
        """Return all that was ever written about trees."""
        database = open_database(self.url)
        with database.engine.connect() as connection:
            rows = connection.execute(text("SELECT * FROM events ORDER BY 1, 2")).all()
        database.close()
        return [tuple(row) for row in rows]


@pytest.fixture(scope="module", params=list(MODES))
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    running = Installation(request.param, tmp_path_factory.mktemp(request.param))
    yield running
    running.close()


def may_read(mode: str, user: str) -> bool:
    return mode != "to-read" or user != "anonymous"


@pytest.mark.parametrize("user", USERS)
def test_pages(app: Installation, user: str) -> None:
    with app.visit(USERS[user]) as visitor:
        tree = visitor.open("Trees", f"tree={app.tree}")
        operator = visitor.open("Operator")
    assert (HYPOTHESIS in tree) == may_read(app.mode, user)
    signs_in = app.mode.startswith("to-")
    assert ("operator_view" in operator) == (user == "operator" if signs_in else app.mode == "open")


def test_buttons_pressed_by_hand(app: Installation, tally: Tally) -> None:
    """A message can press each button of a page, also one that is disabled."""
    for user in (None, ADA):
        before = app.events()
        with app.visit(user) as visitor:
            page = app.ranked(visitor)
            buttons = [*page.ids("button"), *page.ids("form_submit_button")]
            for button in sorted(buttons, key=lambda id: "accept-" not in id):  # others leave the page
                visitor.open("Trees", f"tree={app.tree}", id=button, trigger_value=True)
        assert (app.events() != before) == (app.mode.startswith("to-") and user is not None)
        tally(attempts=len(buttons), failures=0)


def test_component_messages(app: Installation, tally: Tally) -> None:
    """Messages of the keys of the authoring screen, and some that no component sends."""
    keys = [{"number": number, "key": key, "stamp": ""} for number, key in enumerate("123urxme", start=1)]
    sent: list[Any] = [
        *({"mount": "m", "messages": messages} for messages in (keys, None, [None], [[]], [{"number": "1"}])),
        *({"mount": "n", "messages": [{"number": 1, "kind": kind, "node": node}]} for kind, node in HOSTILE),
        [],
        "x" * 10_000,
    ]
    before = app.events()
    with app.visit(None) as visitor:
        page = app.ranked(visitor)
        components = list(page.ids("bidi_component"))
        for component in components:
            for message in sent:
                state = json.dumps({"sent": message})
                answer = visitor.open("Trees", f"tree={app.tree}", id=component, json_value=state)
                assert "Traceback" not in answer
    assert app.events() == before
    tally(attempts=len(components) * len(sent), failures=0)


def test_media(app: Installation, tally: Tally) -> None:
    """A file's address is a hash of its content: only who sees the page can name it."""
    with app.visit(ADA) as visitor:
        page = visitor.open("Trees", f"tree={app.tree}")
    paths = re.findall(r"/media/[0-9a-f]{32,}[.\w]*", str(page))
    assert paths
    for path in paths:
        assert ask(app.port, "GET", path[:15] + "0" * 8 + path[23:])[0] == 404
    tally(attempts=len(paths), failures=0)


FORGERIES: dict[str, Callable[[Installation], Visitor]] = {
    "signed with another secret": lambda app: Visitor(app.port, user=ADA, secret="another-secret-of-length"),
    "signed with none": lambda app: Visitor(app.port, user=ADA, secret=""),
    "user in a header": lambda app: app.visit(
        None, headers={"X-Forwarded-User": "Ada", "X-Forwarded-Email": OPE["email"], "Remote-User": "Ada"}
    ),
    "cookie of another host": lambda app: app.visit({**ADA, "origin": "http://elsewhere.example"}),
    "not signed in": lambda app: app.visit({**ADA, "is_logged_in": False}),
}


@pytest.mark.parametrize("app", ["to-read"], indirect=True)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries(app: Installation, forgery: str) -> None:
    with FORGERIES[forgery](app) as visitor:
        assert HYPOTHESIS not in visitor.open("Trees", f"tree={app.tree}")


@pytest.mark.parametrize("app", ["to-read"], indirect=True)
def test_replayed_cookie_without_its_token(app: Installation) -> None:
    """A cookie sent from another site comes without the token against forged requests."""
    with app.visit(ADA) as ada:
        cookie = ada.cookies[USER_COOKIE]
    with app.visit(None, headers={"Cookie": f"{USER_COOKIE}={cookie}; {XSRF_COOKIE}=2|00|00|1"}) as visitor:
        assert HYPOTHESIS not in visitor.open("Trees", f"tree={app.tree}")
