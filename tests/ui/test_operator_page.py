"""Operator page: access and views."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.memory import CACHE
from entail.ui.frame import sign_in
from entail.ui.operator.views import CHECKS
from entail.ui.shared.resources import Workspace, jobs
from tests.operations.conftest import add_job
from tests.ui.conftest import metrics, new_app, said


@pytest.fixture
def show(shared: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what shows a view of the page."""
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    (tmp_path / "models").mkdir()

    def page(view: str, **secrets: Any) -> AppTest:
        app = new_app()
        app.secrets.update(secrets)
        app.session_state["operator_view"] = view
        return app.switch_page("pages/Operator.py").run()

    return page


def finished(app: AppTest, button: str, name: str) -> AppTest:
    """Return the page after the check that a button starts."""
    app = app.button(key=button).click().run()
    task = CHECKS.peek(name)
    assert task is not None
    assert task.done.wait(60)
    return app.run()


def test_the_machine_and_the_check_of_the_doctor(show: Any, shared: Workspace) -> None:
    assert shared.log.history(shared.log.trees(examples=True)[0].id)
    app = show("Machine")
    disk, memory, versions = (table.value for table in app.dataframe)
    assert "can be rebuilt" in disk
    assert {"kind", "bytes", "entries", "hits", "misses"} <= set(memory)
    assert CACHE.usage()[0].kind in set(memory["kind"])
    assert {"entail", "python", "streamlit", "torch"} <= set(versions["package"])
    app = finished(app, "check_health", "health")
    assert [len(app.success), len(app.error)] == [1, 0]


def test_the_queue_and_its_worker(show: Any) -> None:
    add_job(jobs(), 1, "queued")
    app = show("Jobs")
    assert metrics(app)["Queued"] == "1"
    assert "ENTAIL_WORKER=none" in said(app)


def test_the_database_and_its_backup(show: Any, shared: Workspace) -> None:
    app = show("Database")
    assert (metrics(app)["Kind"], metrics(app)["Trees"]) == ("SQLite", "180")
    app = finished(app, "back_up", "backup")
    assert "Wrote entail" in said(app)
    assert len(list((shared.database.file or Path()).parent.glob("backups/*.zip"))) == 1
    assert [element.proto.label for element in app.get("download_button")] == ["Download"]


def test_access_is_limited_to_operators(show: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_OPERATORS", "Ada@uni.example, bob@uni.example")
    assert not show("Database").metric
    claims: dict[str, Any] = {"iss": "i", "sub": "1", "name": "Eve", "email": "eve@uni.example"}
    monkeypatch.setattr(sign_in, "provider_claims", lambda: claims)
    auth = {"auth": {"client_id": "c", "redirect_uri": "x"}}
    assert not show("Database", **auth).metric
    claims |= {"email": "ada@uni.example", "email_verified": False}
    assert not show("Database", **auth).metric
    claims |= {"email_verified": True}
    assert metrics(show("Database", **auth))["Kind"] == "SQLite"
    monkeypatch.delenv("ENTAIL_OPERATORS")
    assert show("Database", **auth).metric
    monkeypatch.setenv("SPACE_HOST", "team-space.hf.space")  # anybody with an account signs in
    assert not show("Database", **auth).metric
