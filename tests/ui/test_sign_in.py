"""Authors who sign in: what a page asks, writes and shows."""

from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from entail.errors import SettingsError
from entail.settings import load_settings
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Create, Write
from entail.ui.frame import sign_in
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import by, named, on_tree, opens, own_trees, said

AUTH = {
    "redirect_uri": "http://localhost:8501/oauth2callback",
    "cookie_secret": "a-cookie-secret-of-some-length",
    "client_id": "c",
    "client_secret": "a-client-secret",
    "server_metadata_url": "http://127.0.0.1:9/.well-known/openid-configuration",
}


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def fields(app: AppTest) -> list[str]:
    return [field.label for field in app.text_input]


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the provider says of who signed in; nobody has while it is empty."""
    provider_claims: dict[str, Any] = {}
    monkeypatch.setattr(sign_in, "provider_claims", lambda: provider_claims or None)
    return provider_claims


@pytest.fixture
def home(app: AppTest, claims: dict[str, Any]) -> AppTest:
    app.secrets["auth"] = dict(AUTH)
    return app


def ada(subject: str = "1", name: str = "Ada") -> dict[str, Any]:
    return {"iss": "https://id.example", "sub": subject, "name": name}


def start_tree(app: AppTest) -> AppTest:
    app.text_input(key="start_text").set_value("ice floats")
    return app.button(key="start").click().run()


def test_only_a_signed_in_user_writes_until_they_sign_out_or_the_section_is_removed(
    home: AppTest, shared: Workspace, claims: dict[str, Any]
) -> None:
    home.session_state["author_name-dialog"] = "Ada"  # a typed name is ignored
    app = home.run()
    assert "Sign in" in labels(app)
    assert "Your name" not in fields(app)
    app = start_tree(app)
    assert "Sign in first" in said(app)
    claims.update({"name": "Ada"})
    app = app.run()
    assert "iss and sub" in said(app), "the provider names no user"
    assert app.session_state["author"] is None
    assert not own_trees(shared)
    claims.update(ada())
    app = app.run()  # the start has waited for it
    (tree,) = own_trees(shared)
    assert tree.created_by == "Ada"
    assert shared.log.history(tree.id).events[0].verified
    assert "Sign out" in labels(app)
    del app.secrets["auth"]
    claims.clear()
    app = app.run()
    assert app.session_state["author"] is None
    assert app.session_state["visitor"].name is None
    assert "[auth]" in said(app)
    assert "Your name" not in fields(app)


def test_without_its_section_reading_stays_closed(
    app: AppTest, shared: Workspace, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_SIGN_IN", "to-read")
    monkeypatch.setattr("entail.ui.frame.author._remember", lambda name, forget: "Mallory")
    shared.log.create(Create(hypothesis="a secret claim"), author="Ada", corpus_id=SAMPLE_ID)
    app = by(app, "Mallory").run()
    assert app.session_state["author"] is None
    assert "[auth]" in said(app)
    assert "a secret claim" not in said(app)
    assert not opens(app)
    monkeypatch.setenv("ENTAIL_SIGN_IN", "never")
    with pytest.raises(SettingsError):
        load_settings()


def test_signing_in_and_out_is_repeated_until_the_page_is_left(
    home: AppTest, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    redirects: list[str | None] = []

    def logout() -> None:
        redirects.append("logout")
        claims.clear()

    monkeypatch.setattr("streamlit.login", redirects.append)
    monkeypatch.setattr("streamlit.logout", logout)
    app = home.run()
    named(app.button, "Sign in").click().run()
    app.run()  # drops what the run before sent to the browser
    assert redirects == [None, None]
    provider, pressed = app.session_state["signing_in"]
    app.session_state["signing_in"] = provider, pressed - sign_in.LEAVING
    claims.update(ada())
    app.run()  # who came back by the Back button stays
    assert len(redirects) == 2
    app = app.button(key="sign_out").click().run()
    assert "Sign in" in labels(app)
    assert app.session_state["author"] is None
    app.run()
    assert redirects[2:] == ["logout", "logout"]


@pytest.mark.parametrize(("adopts", "name"), [(True, "Ada"), (False, "Ada (2)")])
def test_an_earlier_typed_name_is_adopted_if_confirmed(
    home: AppTest, shared: Workspace, claims: dict[str, Any], adopts: bool, name: str
) -> None:
    shared.authors.enter("Ada")
    claims.update(ada())
    app = start_tree(home.run())
    assert not own_trees(shared)
    app = app.button(key=f"adopts-{adopts}").click().run()
    assert app.session_state["author"] == name
    assert not [button for button in app.button if str(button.key).startswith("adopts-")]
    claims.update(ada("2"))
    assert app.run().session_state["author"] == ("Ada (2)" if adopts else "Ada (3)")


def test_several_providers_are_several_buttons_and_an_incomplete_one_an_error_without_secrets(
    home: AppTest,
) -> None:
    section = {name: AUTH[name] for name in ("client_id", "client_secret", "server_metadata_url")}
    home.secrets["auth"] = {"cookie_secret": AUTH["cookie_secret"], "google": section, "ours": section}
    app = home.run()
    assert {"Sign in with Google", "Sign in with ours"} <= set(labels(app))
    assert "Sign in" not in labels(app)
    app = named(app.button, "Sign in with ours").click().run()
    assert "not configured correctly" in said(app)
    assert AUTH["client_secret"] not in said(app)


@pytest.mark.parametrize("content", [b"[auth\n", b'x = "\xff"\n', None])
@pytest.mark.parametrize("defined", ["<default>", "environment variable"])
def test_unreadable_secrets_allow_no_typed_name(
    app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, defined: str
) -> None:
    broken = tmp_path / "secrets.toml"
    if content is None:
        broken.symlink_to(tmp_path / "nothing")
    else:
        broken.write_bytes(content)
    option = config.get_config_options()["secrets.files"]
    monkeypatch.setattr(option, "_get_val_func", lambda: [str(broken)])
    monkeypatch.setattr(option, "where_defined", defined)
    app = app.run()
    assert "Sign-in is unavailable" in said(app)
    assert str(tmp_path) not in said(app)
    assert "Your name" not in fields(app)
    with pytest.raises(SettingsError):
        sign_in.check_secrets()


@pytest.mark.parametrize(
    "entries",
    [
        *({name: AUTH} for name in ("Auth", "AUTH")),
        *(
            {"auth": value}
            for value in ({}, "", "x", [AUTH], {"google": AUTH}, {**AUTH, "cookie_secret": ""})
        ),
        {"auth": AUTH, "Auth": {}},
    ],
)
def test_a_section_that_cannot_be_used_lets_nobody_in(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, entries: dict[str, Any]
) -> None:
    monkeypatch.setattr("entail.ui.frame.author._remember", lambda name, forget: "Mallory")
    for name, value in entries.items():
        app.secrets[name] = value
    app.run()
    assert app.session_state["author"] is None
    assert "Sign-in is unavailable" in said(app)
    assert "Sign in" not in labels(app)
    assert "Your name" not in fields(app)
    assert AUTH["client_secret"] not in said(app)


def test_names_are_marked_as_typed_or_signed_in(
    app: AppTest, shared: Workspace, claims: dict[str, Any]
) -> None:
    app.secrets["other"] = {"key": "x"}  # secrets without sign-in are no mistake
    app = by(app.run(), "Bob").run()
    assert "**Bob**" in said(app)
    assert "unverified" not in said(app), "where every name is typed, the mark says nothing"
    name = shared.authors.sign_in(sign_in.identity_of(ada(name="Ada Byron")))
    tree = shared.log.create(Create(hypothesis="h"), author="Bob", corpus_id=SAMPLE_ID)
    shared.log.act(tree, Write(node="n1", text="t"), author=name, base=1)
    shared.authors.sign_in(sign_in.identity_of(ada(name="Ada Lovelace")))
    sign_in._current_names.clear()
    shared.authors.record_presence(tree, name, "n1")
    assert "**Ada Lovelace** :material/verified_user: on h" in said(app.run())
    app = on_tree(app, tree, author="")
    app = app.segmented_control(key="view").set_value("History").run()
    text = said(app)
    assert "**Bob**  started the tree" in text
    assert "**Ada Lovelace** :material/verified_user:  wrote" in text
    app.secrets["auth"] = AUTH
    assert "**Bob** :gray[unverified]  started the tree" in said(app.run())
