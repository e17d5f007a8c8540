"""Who is at work, where authors sign in: what a page asks, writes and shows."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.errors import SettingsError
from entail.settings import load_settings
from entail.trees.log.acts import Create, Write
from entail.trees.store.seed import SAMPLE_ID
from entail.ui.frame import sign_in
from entail.ui.frame.author import DIALOG
from entail.ui.shared.resources import Workspace

ROOT = Path(__file__).parents[2]
AUTH = {
    "redirect_uri": "http://localhost:8501/oauth2callback",
    "cookie_secret": "a-cookie-secret-of-some-length",
    "client_id": "c",
    "client_secret": "a-client-secret",
    "server_metadata_url": "http://127.0.0.1:9/.well-known/openid-configuration",
}


def words(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.title)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the provider says of who signed in; nobody has while it is empty."""
    told: dict[str, Any] = {}
    monkeypatch.setattr(sign_in, "provider_claims", lambda: told or None)
    return told


@pytest.fixture
def home(shared: Workspace, claims: dict[str, Any]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60)
    app.secrets["auth"] = dict(AUTH)
    return app


def ada(subject: str = "1", name: str = "Ada") -> dict[str, Any]:
    return {"iss": "https://id.example", "sub": subject, "name": name}


def start_tree(app: AppTest) -> AppTest:
    app = app.text_input(key="start_text").set_value("ice floats").run()
    return app.button(key="start").click().run()


def own_trees(shared: Workspace) -> list[Any]:
    return [tree for tree in shared.log.trees() if not tree.example]


def test_nothing_is_written_before_somebody_signed_in(home: AppTest, shared: Workspace) -> None:
    app = home.run()
    assert not app.exception
    assert "Sign in" in labels(app)
    assert not [field for field in app.text_input if field.label == "Your name"]
    app = start_tree(app)
    assert "Sign in first" in words(app)
    assert not own_trees(shared)


def test_a_name_that_is_still_in_a_field_is_not_believed(shared: Workspace, claims: dict[str, Any]) -> None:
    def asks() -> None:
        import streamlit as st

        from entail.ui.frame.author import answered
        from entail.ui.shared.resources import workspace

        st.text(answered(workspace().authors) or "nobody")

    app = AppTest.from_function(asks)
    app.secrets["auth"] = dict(AUTH)
    app.session_state[DIALOG] = "Ada"
    assert app.run().text[0].value == "nobody"


def test_who_signed_in_is_the_author_and_vouched_for(
    home: AppTest, shared: Workspace, claims: dict[str, Any]
) -> None:
    claims.update(ada())
    app = start_tree(home.run())
    (tree,) = own_trees(shared)
    assert tree.created_by == "Ada"
    assert shared.log.history(tree.id).events[0].verified
    assert "Sign out" in labels(app)
    claims.clear()
    app = app.run()
    assert "Sign in" in labels(app)
    assert app.session_state["author"] is None
    assert app.session_state["visitor"].name is None


def test_a_name_typed_before_is_asked_about_once(
    home: AppTest, shared: Workspace, claims: dict[str, Any]
) -> None:
    shared.authors.enter("Ada")
    claims.update(ada())
    app = home.run()
    assert "Was that you?" in words(app)
    app = start_tree(app)
    assert not own_trees(shared)
    app = app.button(key="adopts-True").click().run()
    assert app.session_state["author"] == "Ada"
    assert "Was that you?" not in words(app)
    claims.update(ada("2"))
    app = app.run()
    assert app.session_state["author"] == "Ada (2)"


def test_who_says_no_is_another_author(home: AppTest, shared: Workspace, claims: dict[str, Any]) -> None:
    shared.authors.enter("Ada")
    claims.update(ada())
    app = home.run().button(key="adopts-False").click().run()
    assert app.session_state["author"] == "Ada (2)"


def test_a_provider_that_does_not_say_who_is_explained(home: AppTest, claims: dict[str, Any]) -> None:
    claims.update({"name": "Ada"})
    app = home.run()
    assert not app.exception
    assert "iss and sub" in words(app)
    assert app.session_state["author"] is None


def test_several_providers_are_several_buttons(home: AppTest) -> None:
    keys = ("client_id", "client_secret", "server_metadata_url")
    section = {name: AUTH[name] for name in keys}
    home.secrets["auth"] = {
        **{name: value for name, value in AUTH.items() if name not in keys},
        "google": section,
        "ours": section,
    }
    app = home.run()
    assert {"Sign in with Google", "Sign in with ours"} <= set(labels(app))
    assert "Sign in" not in labels(app)


def test_a_section_that_lacks_something_says_so_and_shows_no_secret(home: AppTest) -> None:
    home.secrets["auth"] = {name: value for name, value in AUTH.items() if name != "cookie_secret"}
    app = home.run()
    app = next(button for button in app.button if button.label == "Sign in").click().run()
    assert not app.exception
    assert "not configured correctly" in words(app)
    assert AUTH["client_secret"] not in words(app)


def test_secrets_that_cannot_be_read_let_nobody_type_a_name(
    shared: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "secrets.toml"
    broken.write_text("[auth\n")
    import streamlit

    monkeypatch.setattr(streamlit, "get_option", lambda name: [str(broken)])
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    assert "cannot be read" in words(app)
    assert not [field for field in app.text_input if field.label == "Your name"]


def test_nothing_is_shown_where_one_signs_in_to_read(
    home: AppTest, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_SIGN_IN", "to-read")
    app = home.run()
    assert "Sign in to view" in words(app)
    assert "Start" not in labels(app)
    claims.update(ada())
    assert "Start" in labels(app.run())
    monkeypatch.setenv("ENTAIL_SIGN_IN", "never")
    with pytest.raises(SettingsError, match="to-write or to-read"):
        load_settings()


def test_a_typed_name_is_marked_as_one_and_a_vouched_one_as_that(
    app: AppTest, shared: Workspace, claims: dict[str, Any]
) -> None:
    app = app.text_input(key="sidebar_name").set_value("Bob").run()
    assert "**Bob** :gray[unverified]" in words(app)
    name = shared.authors.sign_in(sign_in.identity_of(ada(name="Ada Byron")))
    tree = shared.log.create(Create(hypothesis="h"), author="Bob", corpus_id=SAMPLE_ID)
    shared.log.act(tree, Write(node="n1", text="t"), author=name, base=1)
    shared.authors.sign_in(sign_in.identity_of(ada(name="Ada Lovelace")))
    sign_in._called.clear()
    shared.authors.seen(tree, name, "n1")
    assert "**Ada Lovelace** :material/verified_user: on h" in words(app.run())
    app.session_state["tree"], app.session_state["retriever"] = tree, "tfidf"
    app.session_state["view"] = "History"
    app = app.switch_page("pages/Trees.py").run()
    assert not app.exception
    shown = words(app)
    assert "**Bob** :gray[unverified]  started the tree" in shown
    assert "**Ada Lovelace** :material/verified_user:  wrote" in shown


def test_a_name_that_was_vouched_for_is_gone_where_nobody_signs_in_any_more(
    home: AppTest, claims: dict[str, Any]
) -> None:
    claims.update(ada())
    app = home.run()
    assert app.session_state["author"] == "Ada"
    del app.secrets["auth"]
    app = app.run()
    assert "author" not in app.session_state
    assert [field.label for field in app.text_input if field.key == "sidebar_name"] == ["Your name"]
