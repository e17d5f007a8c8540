"""What the server answers besides pages: read-only links, and headers; what sign-in closes."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus, Premise
from entail.evaluation.retrieval.comparison import from_json
from entail.trees.log.acts import Accept, Create, Edit, Reject
from entail.trees.store import schema
from entail.trees.store.shares import TOKEN_LENGTH, Share, Shares
from entail.ui.frame import sign_in
from entail.ui.links import route
from entail.ui.links.control import address_of
from entail.ui.server import METRICS, ProtectionMiddleware, security_headers
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import buttons, by, keys, on_tree, opened

HOSTILE = "ice <script>alert(1)</script> & <b>snow</b>"
CORPUS = Corpus.of("four", ["ice is cold", "snow is ice", "fire is hot", HOSTILE])


@pytest.fixture
def served() -> Iterator[None]:
    """Serve links in this process, as `entail app` does."""
    route.share_routes()
    yield
    route._served.clear()


@pytest.fixture
def visitor(shared: Workspace) -> TestClient:
    """Return a client without a session, behind the app's own middleware."""
    app = Starlette(routes=route.share_routes())
    return TestClient(ProtectionMiddleware(app, token=None))


@pytest.fixture
def tree(shared: Workspace) -> str:
    info = shared.corpora.add_corpus(CORPUS, author="Ada")
    tree = shared.log.create(Create(hypothesis="snow is cold"), author="Ada", corpus_id=info.id)
    shared.log.act(tree, Accept(node="n1", premise=Premise(HOSTILE)), author="Ada", base=1)
    shared.log.act(tree, Reject(node="n1", premise=Premise("fire is hot")), author="Ada", base=2)
    return tree


def path(share: Share) -> str:
    return f"/shared/{share.token}"


def test_links_answer_below_the_path_of_the_app(
    shared: Workspace, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route.st, "get_option", {"server.baseUrlPath": "/tools/entail/"}.__getitem__)
    share = Shares(shared.database).share_tree(tree, author="Ada")
    visitor = TestClient(Starlette(routes=route.share_routes()))
    assert urlsplit(address_of(share)).path == f"/tools/entail{path(share)}"
    assert visitor.get(f"/tools/entail{path(share)}").status_code == 200
    assert visitor.get(path(share)).status_code == 404


def test_a_tree_link_shows_its_newest_version_without_sign_in_until_it_is_revoked(
    visitor: TestClient, shared: Workspace, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_SIGN_IN", "to-read")
    monkeypatch.setattr(sign_in, "is_configured", lambda: True)
    shares = Shares(shared.database)
    share = shares.share_tree(tree, author="Ada")
    answer = visitor.get(path(share))
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "allow-same-origin" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "snow is cold" in answer.text
    assert "<script>alert(1)" not in answer.text
    assert "fire is hot" not in answer.text
    shared.log.act(tree, Edit(node="n1", text="snow feels cold"), author="Ada", base=3)
    assert "snow feels cold" in visitor.get(path(share)).text
    assert visitor.post(path(share)).status_code == 405
    shares.revoke(share.token, author="Ada")
    for address in (path(share), f"/shared/{'a' * TOKEN_LENGTH}", f"/shared/{tree}"):
        answer = visitor.get(address)
        assert (answer.status_code, answer.text) == (404, route.GONE)


def test_a_damaged_comparison_says_so_without_a_trace(visitor: TestClient, shared: Workspace) -> None:
    share = Shares(shared.database).share_comparison({"query": 1}, author="Ada")
    answer = visitor.get(path(share))
    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    assert "query" not in answer.text


def test_the_owner_makes_and_revokes_a_tree_link(
    app: AppTest, shared: Workspace, tree: str, served: None
) -> None:
    shares = Shares(shared.database)
    route._served.clear()
    assert "share" not in keys(on_tree(app, tree)), "nothing would answer it"
    route.share_routes()
    app = app.run().button(key="share").click().run()
    share = shares.of_tree(tree, viewer="Ada")
    assert share is not None
    assert share.author == "Ada"
    assert any(share.token in str(code.value) for code in app.code)
    assert "share" not in keys(app)
    (revoke,) = buttons(app, "revoke-")
    app = revoke.click().run()
    assert shares.of_tree(tree, viewer="Ada") is None
    assert not app.code


def test_a_comparison_is_shared_as_it_is_on_the_screen(
    app: AppTest, shared: Workspace, served: None, visitor: TestClient
) -> None:
    info = shared.corpora.add_corpus(CORPUS, author="Ada")
    address = {"mode": "query", "corpus": info.id, "left": "tfidf", "right": "bm25", "query": "snow is cold"}
    app = opened(by(app), "Compare", **address)
    app = app.button(key="share").click().run()
    (share,) = Shares(shared.database).comparisons()
    record = from_json(json.dumps(share.comparison))
    assert (record.query, record.corpus, record.count) == ("snow is cold", "four", 4)
    assert {premise.text for premise in record.premises} == set(CORPUS.texts)
    page = visitor.get(path(share)).text
    assert "ice is cold" in page
    assert "<script" not in page
    (revoke,) = buttons(app, "revoke-")
    revoke.click().run()
    assert Shares(shared.database).comparisons() == []


def test_a_demo_makes_no_links(
    app: AppTest, shared: Workspace, tree: str, served: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    app = on_tree(app, tree)
    assert "share" not in keys(app)
    with shared.database.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.shares)) == 0


# --- headers, and what sign-in closes ---

TOKEN = "a-token-of-some-length"


def client(token: str | None) -> TestClient:
    def answer(_: object) -> PlainTextResponse:
        return PlainTextResponse("content")

    inner = Starlette(routes=[Route("/{path:path}", answer)])
    return TestClient(ProtectionMiddleware(inner, token=token))


@pytest.mark.parametrize("path", ["/", METRICS, "/api/search"])
def test_everything_answers_without_sign_in(path: str) -> None:
    response = client(None).get(path)
    assert (response.status_code, response.text) == (200, "content")
    assert response.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize("path", [METRICS, METRICS + "/", "/base" + METRICS])
@pytest.mark.parametrize(
    ("token", "sent", "status"),
    [
        (TOKEN, f"Bearer {TOKEN}", 200),
        (TOKEN, "Bearer other", 401),
        (TOKEN, "", 401),
        (None, "Bearer None", 401),
    ],
)
def test_metrics_need_the_token_where_reading_needs_sign_in(
    path: str, token: str | None, sent: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_SIGN_IN", "to-read")
    response = client(token).get(path, headers={"Authorization": sent})
    assert response.status_code == status
    assert ("content" in response.text) == (status == 200)


@pytest.mark.parametrize("base", ["", "/tools/entail"])
@pytest.mark.parametrize(("token", "status"), [(None, 401), (TOKEN, 200)])
def test_api_without_a_token_closes_with_sign_in(
    token: str | None, status: int, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "is_configured", lambda: True)
    monkeypatch.setattr(route.st, "get_option", {"server.baseUrlPath": base}.__getitem__)
    # With a token, the API checks it itself.
    assert client(token).get(f"{base}/api/search").status_code == status
    assert client(token).get(f"{base}/apiary").status_code == 200


def test_only_the_hub_frames_a_space() -> None:
    headers = security_headers({"SPACE_HOST": "ada-demo.hf.space"})
    assert headers["Content-Security-Policy"].endswith("'self' https://huggingface.co https://*.hf.space")
    assert "X-Frame-Options" not in headers
