"""Secrets in messages: of the environment, of URLs also when malformed, and of texts that look like one."""

import pytest

from entail.errors import EntailError
from entail.masking import mask_secrets
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
    ("the queue is redis://:hunter22@queue.example/0", "hunter22"),
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
    text = "swordfish a-token-of-some-length p@ssw0rd given-one abc"
    assert mask_secrets(text, secrets=["given-one", "abc"]) == "*** *** *** *** abc"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:open sesame@127.0.0.1:1/trees",
        "postgresql://ann:open-sesame@127.0.0.1:port/trees",
        "postgresql://ann@127.0.0.1:1/trees?sslpassword=open-sesame&sslkey=/open-sesame",
        "open-sesame",
    ],
)
def test_a_server_that_cannot_be_reached_names_no_password(url: str) -> None:
    with pytest.raises(EntailError) as caught:
        open_database(url, wait_seconds=0.1)
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None or "sesame" not in mask_secrets(str(caught.value.__cause__))


@pytest.mark.parametrize("name", ["password", "sslpassword", "sslkey", "passfile", "access_token", "api_key"])
def test_credentials_of_a_query_are_not_shown(name: str) -> None:
    url = shown_url(parse_url(f"postgresql://ann@host/trees?{name}=open-sesame&sslmode=require"))
    assert "sesame" not in url
    assert "sslmode=require" in url
