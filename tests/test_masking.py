"""Secrets in messages: of the environment, of URLs also when malformed, and of texts that look like one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import EntailError, SettingsError
from entail.jobs.queue import JobQueue
from entail.masking import mask_secrets, mask_url
from entail.settings import load_settings
from entail.trees.store.database import open_database, parse_url, shown_url

SECRETS = [
    ("postgresql://ann:p%40ssw0rd@db.example/entail", "p%40ssw0rd"),
    ("https://user:hunter22@proxy.example:3128/", "hunter22"),
    ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
    ("authorization: Basic YW5uOnBhc3M=", "YW5uOnBhc3M"),
    ("HF_TOKEN=hf_abcdefghijklmnop", "hf_"),
    ("loaded with hf_abcdefghijklmnop today", "hf_"),
    ("{'client_secret': 'GOCSPX-abcdef', 'client_id': 'public'}", "GOCSPX"),
    ('"cookie_secret": "0123456789abcdef"', "0123456789abcdef"),
    ("password = correct-horse", "correct-horse"),
    ("id eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123 came", "eyJ"),
    ("GET /oauth2callback?code=4/0AbCdEf&state=xYz123 302", "AbCdEf"),
    ("GET /oauth2callback?code=4/0AbCdEf&state=xYz123 302", "xYz123"),
    ("/auth/login?provider=eyJhbGciOi.J9", "eyJ"),
    ("api_key: sk-1234567890", "sk-1234567890"),
    ("ENTAIL_QUEUE_URL is redis://:hunter22@queue.example/0", "hunter22"),
    ('password="two words hunter22"', "hunter22"),
    ("token: 'it is \\'hunter22\\' here'", "hunter22"),
    ('{"secret": "one, two; \\"hunter22\\"", "id": 1}', "hunter22"),
    ("password = 'never closed hunter22", "hunter22"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_what_looks_like_a_secret_is_masked(line: str, secret: str) -> None:
    text = mask_secrets(line)
    assert "***" in text
    assert secret not in text


@pytest.mark.parametrize(
    "line",
    [
        "17 tokens a sentence, 3 secrets of nature",
        "trained on 16,472 premises; loss 0.31; lr 0.001",
        "https://example.org/a?b=c: 404",
        "2026-11-21 04:02:59.861 WARNING entail.serving: the token is missing",
        "user:password@ is a form",
    ],
)
def test_what_is_none_is_left_alone(line: str) -> None:
    assert mask_secrets(line) == line


def test_what_follows_a_quoted_secret_stays() -> None:
    text = "token: 'a b', user: 'ann'\npassword=\"c d\" at ann"
    assert mask_secrets(text) == "token: '***', user: 'ann'\npassword=\"***\" at ann"


def test_values_of_the_environment_and_given_ones_are_masked_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_KEY", "swordfish")
    monkeypatch.setenv("ENTAIL_SERVE_TOKEN", "a-token-of-some-length")
    monkeypatch.setenv("ENTAIL_DATABASE_URL", "postgresql://ann:p%40ssw0rd@h/x")
    monkeypatch.setenv("ENTAIL_QUEUE_URL", "redis://:open-sesame@h")
    text = "swordfish a-token-of-some-length p@ssw0rd open-sesame given-one abc"
    assert mask_secrets(text, secrets=["given-one", "abc"]) == "*** *** *** *** *** abc"


QUEUE_URLS = [
    "redis://:open sesame@host/0",
    "redis://:open-sesame@host:port/0",
    "redis://:open-sesame@[host/0",
    "postgresql://ann:open sesame@host/queue",
    "redis:open-sesame@host",
    "amqp://ann:open-sesame@host",
    "open-sesame",
]


@pytest.mark.parametrize("url", QUEUE_URLS)
def test_malformed_queue_url_is_refused_unseen(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_QUEUE_URL", url)
    with pytest.raises(SettingsError, match="ENTAIL_QUEUE_URL") as caught:
        load_settings()
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "is_queue"),
    [
        ("postgresql://ann:open sesame@127.0.0.1:1/q", True),
        ("postgresql://ann:open-sesame@127.0.0.1:1/q?sslpassword=open-sesame", True),
        ("postgresql://ann@127.0.0.1:1/q?password=open-sesame&nosuch=1", True),
        ("redis://:open-sesame@127.0.0.1:1/0", True),
        ("postgresql://ann:open sesame@127.0.0.1:1/trees", False),
        ("postgresql://ann:open-sesame@127.0.0.1:port/trees", False),
        ("postgresql://ann@127.0.0.1:1/trees?sslpassword=open-sesame&sslkey=/open-sesame", False),
        ("open-sesame", False),
    ],
)
def test_a_server_that_cannot_be_reached_names_no_password(url: str, is_queue: bool, tmp_path: Path) -> None:
    with pytest.raises(EntailError) as caught:
        _ = JobQueue(tmp_path, url).put("a") if is_queue else open_database(url, wait_seconds=0.1)
    assert "sesame" not in str(caught.value)
    cause = caught.value.__cause__
    assert is_queue or cause is None or "sesame" not in mask_secrets(str(cause))


@pytest.mark.parametrize("name", ["password", "sslpassword", "sslkey", "passfile", "access_token", "api_key"])
def test_credentials_of_a_query_are_not_shown(name: str) -> None:
    url = shown_url(parse_url(f"postgresql://ann@host/trees?{name}=open-sesame&sslmode=require"))
    assert "sesame" not in url
    assert "sslmode=require" in url


@given(
    st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"), min_size=1, max_size=20
    ),
    st.sampled_from(["redis://:{}@h/0", "postgresql://a:{}@h/x", "postgresql://a@h/x?password={}"]),
)
def test_no_password_survives_in_a_message(password: str, form: str) -> None:
    url = form.format(password)
    if "?" in form and set(password) & set("&#;+%="):
        return  # it ends the parameter
    assert password not in mask_url(f"cannot read <{password}> in {url}", url)
