"""No output, log record, file or error contains the token, whatever a Hub does."""

from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.encoders.hub import ask, hub_api, scrub
from entail.errors import HubError
from entail.hub.pull import pull_encoder
from entail.hub.push import push_encoder


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client retries some requests


@pytest.mark.parametrize(
    "case",
    [
        ("POST", "/api/repos/create", 401, "Invalid credentials", {}, "bad_token"),
        ("POST", "/api/repos/create", 403, "no rights on team", {}, "forbidden"),
        ("POST", "/api/repos/create", 429, "slow down", {"Retry_After": "7"}, "rate_limit"),
        ("POST", "/commit/", 403, "Private repository storage limit reached", {}, "quota"),
        ("POST", "/commit/", 412, "a commit has happened since", {}, "conflict"),
        ("POST", "/preupload/", 500, "broken", {}, "server"),
        ("PUT", "/lfs/", 403, "expired", {}, "forbidden"),
        # A pull asks for the model alone.
        ("PULL", "/api/models/", 403, "no", {"X_Error_Code": "GatedRepo"}, "gated"),
        ("PULL", "/api/models/", 404, "no", {"X_Error_Code": "RepoNotFound"}, "not_found"),
        ("PULL", "/api/models/", 404, "no", {"X_Error_Code": "RevisionNotFound"}, "no_revision"),
    ],
)
def test_refusals(hub: Any, token: str, ready: Path, home: Path, output: Any, case: tuple[Any, ...]) -> None:
    method, path, status, message, headers, reason = case
    hub.refuse("GET" if method == "PULL" else method, path, status, message, **headers)
    pull = method == "PULL"
    with pytest.raises(HubError) as caught:
        _ = pull_encoder("team/gone", revision="v1") if pull else push_encoder("mine", "team/mine")
    assert caught.value.reason == reason
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    assert any(path in request for request in hub.asked)
    assert headers.get("Retry_After", "") in str(caught.value)
    assert {folder.name for folder in home.iterdir()} == {"tiny", "other", "mine"}
    output.add(caught.value)
    assert token not in output.everything()


def test_the_search_would_find_it(hub: Any, token: str, ready: Path, output: Any) -> None:
    """The client's own error does hold the token: the search is no empty one."""
    hub.refuse("POST", "/api/repos/create", 403)
    with pytest.raises(Exception, match="403") as caught:
        hub_api().create_repo("team/mine")
    output.add(caught.value)
    assert token in output.everything()


def test_push_and_pull(
    hub: Any, token: str, ready: Path, output: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["push", "mine", "team/mine", "--json", "--debug"]) == 0
    assert main(["push", "mine", "team/mine"]) == 0  # nothing changed: no empty commit
    assert main(["pull", "team/mine", "--name", "again", "--json", "--debug"]) == 0
    assert [line for line in hub.asked if "/commit/" in line] == ["POST /api/models/team/mine/commit/main"]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path
    monkeypatch.delenv("HF_TOKEN")
    hub.asked.clear()
    with pytest.raises(HubError) as caught:
        push_encoder("mine", "team/mine")
    assert (caught.value.reason, hub.asked) == ("no_token", [])
    (tmp_path / "token").write_text(token, encoding="utf-8")  # the client's own store
    assert push_encoder("mine", "team/other").commit
    assert token not in output.everything()


def test_without_a_network(
    hub: Any, token: str, ready: Path, home: Path, output: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    assert not constants.HF_HUB_DISABLE_XET
    hub_api()
    assert constants.HF_HUB_DISABLE_XET  # which stores files on the official Hub, whatever the endpoint
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for call in (lambda: push_encoder("mine", "team/mine"), lambda: pull_encoder("team/x")):
        with pytest.raises(HubError) as caught:
            call()
        assert caught.value.reason == "offline"
        output.add(caught.value)
    assert token not in output.everything()


def test_an_error_of_any_kind(token: str, output: Any) -> None:
    def failing() -> None:
        raise KeyError(f"Authorization: Bearer {token}")

    with pytest.raises(HubError, match="KeyError") as caught:
        ask(failing, repo="team/mine")
    assert caught.value.__context__ is None
    output.add(caught.value)
    assert token not in output.everything()
    assert scrub(f"a {token} b hf_other1234 c") == "a *** b *** c"
