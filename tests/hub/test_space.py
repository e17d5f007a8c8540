"""A Space: its recipe, its README, how it starts, how it is put on the Hub; no Docker engine is needed."""

import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from entail.errors import DemoError, HubError, SettingsError
from entail.hub.space_start import (
    PORT,
    check_data_dir,
    main,
    prepare,
    secrets_toml,
    seed_models,
    write_secret,
)
from tests.conftest import script

deploy: Any = script("deploy_space")
Space, DATA = deploy.Space, deploy.DATA
ROOT = Path(__file__).parents[2]
TEAM = Space(repo="team/trees", bucket="team/trees-data", org="team", closed=True)
ALONE = Space(repo="team/trees", sign_in=False)
DEMO = Space(repo="team/demo", demo=True, sign_in=False)
SPACES = pytest.mark.parametrize("space", [TEAM, ALONE, DEMO], ids=["team", "alone", "demo"])
GIVEN = {
    "OAUTH_CLIENT_ID": "the-client",
    "OAUTH_CLIENT_SECRET": 'a "secret" \\ of\nlines',
    "OPENID_PROVIDER_URL": "https://huggingface.co/",
    "OAUTH_SCOPES": "openid profile email",
    "SPACE_HOST": "team-trees.hf.space",
}


def header(space: Any) -> dict[str, Any]:
    fields: dict[str, Any] = yaml.safe_load(deploy.readme(space).split("---\n")[1])
    return fields


def steps(recipe: str) -> list[tuple[str, str]]:
    """Return the instructions of a recipe, in order."""
    plain = re.sub(r"^#.*\n", "", recipe, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (line.split()[0], line.split(maxsplit=1)[1].strip()) for line in plain.splitlines() if line.strip()
    ]


@SPACES
def test_the_dockerfile_passes_hadolint(space: Any) -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed; tests/requirements.txt names it")
    process = subprocess.run(
        [hadolint, "-"], input=deploy.dockerfile(space).encode(), capture_output=True, check=False
    )
    assert (process.returncode, process.stdout + process.stderr) == (0, b"")


@SPACES
def test_recipe_and_readme_fit_each_other(space: Any) -> None:
    record, recipe = header(space), steps(deploy.dockerfile(space))
    assert "@" not in deploy.dockerfile(space)
    assert (record["sdk"], record["app_port"]) == ("docker", PORT)
    assert ("EXPOSE", str(PORT)) in recipe
    kinds = [kind for kind, _ in recipe]
    assert [value for kind, value in recipe if kind == "USER"] == ["1000"]
    assert "useradd --create-home --home-dir /srv/entail --uid 1000" in recipe[kinds.index("RUN")][1]
    # As who serves: everything after the user is, and nothing is handed on by root.
    assert kinds.index("USER") < kinds.index("COPY")
    assert all("--chown=1000:1000" in value for kind, value in recipe if kind == "COPY")
    assert "entail.hub.space_start" in recipe[kinds.index("HEALTHCHECK")][1]
    assert "-r requirements-cpu.txt" in recipe[kinds.index("RUN", kinds.index("USER"))][1]


def test_sign_in_and_storage_follow_the_configuration() -> None:
    assert (header(TEAM)["hf_oauth"], header(TEAM)["hf_oauth_authorized_org"]) == (True, "team")
    assert header(TEAM)["hf_oauth_scopes"] == ["email"]  # operators are named by their addresses
    assert "hf_oauth" not in header(ALONE)
    assert "hf_oauth" not in header(DEMO)
    team = deploy.settings_of(TEAM)
    assert (team["ENTAIL_SIGN_IN"], team["ENTAIL_DATA_DIR"]) == ("to-read", DATA)
    assert team["ENTAIL_MODELS_DIR"].startswith(f"{DATA}/")
    assert ("ENTAIL_DEMO" in team, deploy.settings_of(DEMO)["ENTAIL_DEMO"]) == (False, "1")
    assert "team/trees-data" in deploy.readme(TEAM)


@pytest.mark.parametrize(
    "space",
    [
        Space(repo="no-slash"),
        Space(repo="a/b", bucket="../c"),
        Space(repo="a/b", org="x/y"),
        Space(repo="a/b", demo=True, bucket="a/c", sign_in=False),
        Space(repo="a/b", demo=True),
        Space(repo="a/b", sign_in=False, closed=True),
        Space(repo="a/b", encoders=("../entail",)),
    ],
)
def test_contradicting_options_are_refused(space: Any, tmp_path: Path) -> None:
    with pytest.raises(HubError) as caught:
        deploy.stage_space(ROOT, tmp_path, space)
    assert caught.value.reason == "place"


def test_only_tracked_files_of_a_checkout_are_deployed(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    with pytest.raises(HubError, match="git checkout"):
        deploy.stage_space(tmp_path / "bare", tmp_path / "none", ALONE)
    out = tmp_path / "out"
    out.mkdir()
    deploy.stage_space(ROOT, out, TEAM)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {
        "Dockerfile",
        "README.md",
        "streamlit_app.py",
        ".streamlit/config.toml",
        "pages/Trees.py",
    } <= files
    assert {"entail/py.typed", "streamlit_app.py", "models/aeenc-minilm/entail.json"} <= files
    assert not [name for name in files if name.startswith(("tests/", "docs/", ".git"))]
    assert not [name for name in files if name.endswith((".db", ".pyc", "secrets.toml"))]


def test_the_image_serves_a_healthy_page(tmp_path: Path) -> None:
    """Every step but what needs root or the network is done in a plain folder, then the command is run."""
    context, image = tmp_path / "context", tmp_path / "image"
    deploy.stage_space(ROOT, context, Space(repo="team/trees", bucket="team/data"))
    recipe = (context / "Dockerfile").read_text(encoding="utf-8")
    environment = {"PATH": os.environ["PATH"]}
    folder, command, check = image, [""], [""]
    for kind, value in steps(recipe):
        if kind == "ENV":
            for part in shlex.split(value):
                name, _, setting = part.partition("=")
                environment[name] = setting.replace("$PATH", environment["PATH"])
        elif kind == "WORKDIR":
            folder = image / value.lstrip("/")
            folder.mkdir(parents=True)
        elif kind == "COPY":
            source, target = value.split()[-2:]
            assert target == "./"
            if (context / source).is_dir():
                shutil.copytree(context / source, folder, dirs_exist_ok=True)
            else:
                shutil.copy(context / source, folder)
        elif kind == "RUN":
            assert all((folder / name).is_file() for name in re.findall(r"-r (\S+)", value))
            (image / "data").mkdir(parents=True, exist_ok=True)
        elif kind == "HEALTHCHECK":
            check = yaml.safe_load(value.partition("CMD ")[2])
        elif kind == "CMD":
            command = yaml.safe_load(value)
    for name in ("ENTAIL_DATA_DIR", "ENTAIL_MODELS_DIR", "PYTHONPATH", "HOME"):
        environment[name] = f"{image}{environment[name]}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        environment |= {"PORT": str(free.getsockname()[1]), **GIVEN}
    run = {"cwd": folder, "env": environment}
    with (tmp_path / "log").open("wb") as log:
        served = subprocess.Popen([sys.executable, *command[1:]], stdout=log, stderr=log, **run)
        try:
            deadline = time.monotonic() + 120
            while subprocess.run([sys.executable, *check[1:]], check=False, **run).returncode:
                assert served.poll() is None, (tmp_path / "log").read_text(errors="replace")
                assert time.monotonic() < deadline, (tmp_path / "log").read_text(errors="replace")
                time.sleep(0.5)
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait(30)
    secrets = image / "srv/entail/.streamlit/secrets.toml"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert (image / "data/models/aeenc-minilm/adapter_model.safetensors").is_file()
    assert "secret" not in (tmp_path / "log").read_text(errors="replace")


def test_the_secrets_of_sign_in(tmp_path: Path) -> None:
    record = tomllib.loads(secrets_toml(GIVEN) or "")
    auth = record["auth"]
    assert auth["redirect_uri"] == "https://team-trees.hf.space/oauth2callback"
    assert len(auth["cookie_secret"]) == 64
    assert auth["huggingface"] == {
        "client_id": "the-client",
        "client_secret": GIVEN["OAUTH_CLIENT_SECRET"],
        "server_metadata_url": "https://huggingface.co/.well-known/openid-configuration",
        "client_kwargs": {"scope": "openid profile email"},
    }
    again = tomllib.loads(secrets_toml(GIVEN) or "")
    assert again["auth"]["cookie_secret"] == auth["cookie_secret"]
    own = tomllib.loads(secrets_toml({**GIVEN, "ENTAIL_COOKIE_SECRET": "x" * 40}) or "")
    assert own["auth"]["cookie_secret"] == "x" * 40
    for missing in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OPENID_PROVIDER_URL", "SPACE_HOST"):
        assert secrets_toml({name: value for name, value in GIVEN.items() if name != missing}) is None


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "data" / "models"))
    return tmp_path


def test_a_start_makes_ready_and_hands_no_secret_on(installed: Path) -> None:
    old = os.umask(0)
    try:
        environment = prepare({**os.environ, **GIVEN}, home=installed / "home")
    finally:
        os.umask(old)
    assert "OAUTH_CLIENT_SECRET" not in environment
    assert environment["STREAMLIT_BROWSER_SERVER_ADDRESS"] == "team-trees.hf.space"
    secrets = installed / "home" / ".streamlit" / "secrets.toml"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert (installed / "data" / "models" / "aeenc-minilm" / "entail.json").is_file()
    assert not list((installed / "data").glob(".*"))


def test_an_unwritable_data_folder_stops_the_start(
    installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (installed / "data").write_text("in the way")
    monkeypatch.setattr(sys, "argv", ["space_start"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert "can write a database" in str(caught.value.code)
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    assert prepare(dict(os.environ), home=installed)["ENTAIL_DEMO"] == "1"


def test_a_folder_without_databases_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    check_data_dir(tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(SettingsError, match="disk I/O error"):
        check_data_dir(tmp_path)


def test_models_and_secrets_are_written_once(tmp_path: Path) -> None:
    shipped, models = tmp_path / "shipped", tmp_path / "models"
    for folder, text in ((shipped / "one", "new"), (shipped / "two", "new"), (models / "one", "ours")):
        folder.mkdir(parents=True)
        (folder / "entail.json").write_text(text)
    seed_models(shipped, models)
    assert [(models / name / "entail.json").read_text() for name in ("one", "two")] == ["ours", "new"]
    write_secret(tmp_path / "there", "a")
    write_secret(tmp_path / "there", "b")
    assert (tmp_path / "there").read_text() == "b"
    with pytest.raises(SettingsError):
        write_secret(tmp_path / "there" / "below", "c")


def test_a_dry_run_asks_nobody(hub: Any) -> None:
    plan = deploy.deploy_space(ROOT, TEAM, dry_run=True)
    assert hub.asked == []
    assert plan.url is None
    assert {"Dockerfile", "README.md", "requirements-cpu.txt"} <= set(plan.files)
    assert plan.card == deploy.readme(TEAM)


def test_a_space_is_private_and_its_bucket_is_mounted(hub: Any, token: str, output: Any) -> None:
    hub.put(
        "spaces/team/trees", {"gone.py": b"x", ".gitattributes": b"*.safetensors filter=lfs"}, private=True
    )
    done = deploy.deploy_space(ROOT, TEAM)
    repository = hub.repositories["spaces/team/trees"]
    assert (done.private, repository.private, done.removed) == (True, True, ("gone.py",))
    assert {name for name in repository.files if name != ".gitattributes"} == set(done.files)
    assert repository.files["Dockerfile"].decode() == deploy.dockerfile(TEAM)
    assert hub.buckets == {"team/trees-data": {"visibility": "private"}}
    assert hub.volumes == {
        "spaces/team/trees": [{"type": "bucket", "source": "team/trees-data", "mountPath": DATA}]
    }
    assert token not in output.everything() + str(vars(done))


def test_refusals_of_the_hub_have_a_reason(
    hub: Any, token: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault("PUT", "/volumes", 403, "no rights")
    with pytest.raises(HubError) as caught:
        deploy.deploy_space(ROOT, TEAM)
    assert caught.value.reason == "forbidden"
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError, match="nothing can be deployed"):
        deploy.deploy_space(ROOT, TEAM)
