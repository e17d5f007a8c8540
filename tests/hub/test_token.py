"""The token stands nowhere: in no output, log record, file or error, however a Hub behaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.encoders.encoder import BiEncoder
from entail.encoders.hub import ask, hub_api, scrub
from entail.errors import EncoderError, EntailError, HubError
from entail.hub.pull import pull_encoder
from entail.hub.push import push_encoder

Write = Callable[..., Path]
Fail = Callable[..., Any]


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client retries some requests


@pytest.mark.parametrize(
    ("method", "path", "status", "message", "headers", "reason"),
    [
        ("POST", "/api/repos/create", 401, "Invalid credentials", {}, "bad_token"),
        ("POST", "/api/repos/create", 403, "no rights on team", {}, "forbidden"),
        ("POST", "/api/repos/create", 429, "slow down", {"Retry_After": "7"}, "rate_limit"),
        ("POST", "/commit/", 403, "Private repository storage limit reached", {}, "quota"),
        ("POST", "/commit/", 413, "too large", {}, "quota"),
        ("POST", "/commit/", 412, "a commit has happened since", {}, "conflict"),
        ("POST", "/commit/", 418, "teapot", {}, "unexpected"),
        ("POST", "/preupload/", 500, "broken", {}, "server"),
        ("PUT", "/lfs/", 403, "expired", {}, "forbidden"),
        ("GET", "/api/models/", 404, "gone", {"X_Error_Code": "RepoNotFound"}, "not_found"),
    ],
)
def test_refused_pushes(
    hub: Any,
    token: str,
    ready: Path,
    fault: Fail,
    output: Any,
    method: str,
    path: str,
    status: int,
    message: str,
    headers: dict[str, str],
    reason: str,
) -> None:
    fault(method, path, status, message, **headers)
    with pytest.raises(HubError) as caught:
        push_encoder("mine", "team/mine")
    assert caught.value.reason == reason
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    assert any(request.startswith(f"{method} ") and path in request for request in hub.asked)
    output.add(caught.value)
    everything = output.everything()
    assert headers.get("Retry_After", "") in str(caught.value)
    assert str(caught.value) in everything
    assert token not in everything


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (403, {"X_Error_Code": "GatedRepo"}, "gated"),
        (404, {"X_Error_Code": "RepoNotFound"}, "not_found"),
        (404, {"X_Error_Code": "RevisionNotFound"}, "no_revision"),
        (429, {}, "rate_limit"),
        (503, {}, "server"),
    ],
)
def test_refused_pulls(
    hub: Any,
    token: str,
    home: Path,
    fault: Fail,
    output: Any,
    status: int,
    headers: dict[str, str],
    reason: str,
) -> None:
    fault("GET", "/api/models/", status, **headers)
    with pytest.raises(HubError) as caught:
        pull_encoder("team/mine", revision="v1")
    assert caught.value.reason == reason
    output.add(caught.value)
    assert token not in output.everything()
    assert {path.name for path in home.iterdir()} == {"tiny", "other"}


def test_the_search_would_find_it(hub: Any, token: str, ready: Path, fault: Fail, output: Any) -> None:
    """The client's own error does hold the token: the search is no empty one."""
    fault("POST", "/api/repos/create", 403, "no")
    with pytest.raises(Exception, match="403") as caught:
        hub_api().create_repo("team/mine")
    output.add(caught.value)
    assert token in output.everything()


def test_a_refused_download_of_an_encoder(hub: Any, token: str, home: Path, fault: Fail, output: Any) -> None:
    fault("GET", "/api/models/", 403, X_Error_Code="GatedRepo")
    with pytest.raises(EncoderError, match="gated") as caught:
        BiEncoder("team/gated").load()
    output.add(caught.value)
    assert token not in output.everything()


def test_a_push_and_a_pull_say_nothing_of_it_either(
    hub: Any, token: str, ready: Path, home: Path, output: Any, tmp_path: Path
) -> None:
    assert main(["push", "mine", "team/mine", "--json", "--debug"]) == 0
    assert main(["push", "mine", "team/mine"]) == 0  # nothing changed: no empty commit
    assert main(["pull", "team/mine", "--name", "again", "--json", "--debug"]) == 0
    assert [line for line in hub.asked if "/commit/" in line] == ["POST /api/models/team/mine/commit/main"]
    everything = output.everything()
    assert '"private": true' in everything
    assert token not in everything
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


def test_without_a_token_nothing_is_sent(hub: Any, ready: Path) -> None:
    with pytest.raises(HubError) as caught:
        push_encoder("mine", "team/mine")
    assert caught.value.reason == "no_token"
    assert hub.asked == []


def test_the_clients_own_store_is_read_too(
    hub: Any, token: str, ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: Any
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(token, encoding="utf-8")
    assert push_encoder("mine", "team/mine").commit
    assert token not in output.everything()


def test_without_a_network_it_is_said(
    hub: Any, token: str, ready: Path, home: Path, output: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for call in (lambda: push_encoder("mine", "team/mine"), lambda: pull_encoder("team/x")):
        with pytest.raises(HubError) as caught:
            call()
        assert caught.value.reason == "offline"
        output.add(caught.value)
    assert token not in output.everything()


def test_xet_is_off_where_the_endpoint_is_another(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    assert not constants.HF_HUB_DISABLE_XET
    hub_api()
    assert constants.HF_HUB_DISABLE_XET
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://huggingface.co")
    hub_api()
    assert not constants.HF_HUB_DISABLE_XET


def test_an_error_of_any_kind_is_put_into_words(token: str, output: Any) -> None:
    def failing() -> None:
        raise KeyError(f"Authorization: Bearer {token}")

    with pytest.raises(HubError, match=r"failed, KeyError: .*\*\*\*") as caught:
        ask(failing, repo="team/mine")
    assert caught.value.__context__ is None
    output.add(caught.value)
    assert token not in output.everything()
    assert scrub(f"a {token} b hf_other1234 c") == "a *** b *** c"
    with pytest.raises(EntailError, match="ours"):
        ask(lambda: (_ for _ in ()).throw(EncoderError("ours")), repo="x")
