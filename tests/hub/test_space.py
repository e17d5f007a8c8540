"""A Space: its recipe, its README, how it starts, how it is put on the Hub; no Docker engine is needed."""

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from entail.errors import EntailError, HubError
from entail.hub.space_start import PORT, main, prepare, secrets_toml
from tests.conftest import script
from tests.support.machine import free_port, until

deploy: Any = script("deploy_space")
DATA = deploy.DATA
TEAM = ["team/trees", "--bucket", "team/trees-data", "--org", "team", "--closed"]
ALONE = ["team/trees", "--ephemeral", "--no-sign-in"]
DEMO = ["team/demo", "--demo"]
GIVEN = {
    "OAUTH_CLIENT_ID": "the-client",
    "OAUTH_CLIENT_SECRET": 'a "secret" \\ of\nlines',
    "OPENID_PROVIDER_URL": "https://huggingface.co/",
    "OAUTH_SCOPES": "openid profile email",
    "SPACE_HOST": "team-trees.hf.space",
}


def header(space: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = yaml.safe_load(deploy.readme(deploy.read_options(space)).split("---\n")[1])
    return fields


def recipe_of(space: list[str]) -> str:
    text: str = deploy.dockerfile(deploy.read_options(space))
    return text


def steps(recipe: str) -> list[tuple[str, str]]:
    """Return the instructions of a recipe, in order."""
    plain = re.sub(r"^#.*\n", "", recipe, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (line.split()[0], line.split(maxsplit=1)[1].strip()) for line in plain.splitlines() if line.strip()
    ]


@pytest.mark.parametrize("space", [TEAM, ALONE, DEMO, [*TEAM, "--gpu"]], ids=" ".join)
def test_recipe_and_readme_fit_each_other(space: list[str]) -> None:
    record, recipe = header(space), steps(recipe_of(space))
    assert (record["sdk"], record["app_port"]) == ("docker", PORT)
    assert ("EXPOSE", str(PORT)) in recipe
    kinds = [kind for kind, _ in recipe]
    # As who serves: everything after the user is, and nothing is handed on by root.
    assert [value for kind, value in recipe if kind == "USER"] == ["1000"]
    assert kinds.index("USER") < kinds.index("COPY")
    assert all("--chown=1000:1000" in value for kind, value in recipe if kind == "COPY")


def test_sign_in_and_storage_follow_the_configuration() -> None:
    assert (header(TEAM)["hf_oauth"], header(TEAM)["hf_oauth_authorized_org"]) == (True, "team")
    assert header(TEAM)["hf_oauth_scopes"] == ["email"]  # operators are named by their addresses
    assert "hf_oauth" not in header(ALONE)
    assert "hf_oauth" not in header(DEMO)
    assert {"ENTAIL_SIGN_IN=to-read", f"ENTAIL_DATA_DIR={DATA}"} <= set(recipe_of(TEAM).split())
    assert ["ENTAIL_DEMO=1" in recipe_of(space) for space in (TEAM, ALONE, DEMO)] == [False, False, True]
    for wrong in (["no-slash", "--ephemeral"], ["a/b", "--bucket", "../c"], ["a/b", "--demo", "--closed"]):
        with pytest.raises(HubError):
            deploy.read_options(wrong)


@pytest.mark.parametrize(
    ("more", "hardware", "requirements"),
    [
        ([], None, "requirements-cpu.txt"),
        (["--gpu"], "t4-small", "requirements.txt"),
        (["--gpu", "a10g-large"], "a10g-large", "requirements.txt"),
    ],
)
def test_with_a_gpu_it_has_cuda_and_suggests_the_hardware(
    tmp_path: Path, more: list[str], hardware: str | None, requirements: str
) -> None:
    space = [*TEAM, *more]
    deploy.stage_space(tmp_path, deploy.read_options(space))
    recipe = (tmp_path / "Dockerfile").read_text(encoding="utf-8")
    assert header(space).get("suggested_hardware") == hardware
    assert [path.name for path in tmp_path.glob("requirements*")] == [requirements]
    assert ("COPY", f"--chown=1000:1000 {requirements} ./") in steps(recipe)
    (install,) = [value for kind, value in steps(recipe) if kind == "RUN" and "pip install" in value]
    assert install.endswith(f"-r {requirements}")
    assert ("whl/cpu" in install) == (hardware is None) == ("NVIDIA_VISIBLE_DEVICES=all" not in recipe)
    assert not re.search("@[A-Z]+@", recipe)
    with pytest.raises(SystemExit):
        deploy.read_options([*TEAM, "--gpu", "cpu-basic"])


def test_the_image_serves_a_healthy_page(tmp_path: Path) -> None:
    """Every step but what needs root or the network is done in a plain folder, then the command is run."""
    context, image = tmp_path / "context", tmp_path / "image"
    deploy.stage_space(context, deploy.read_options(["team/trees", "--bucket", "team/data"]))
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
    for name in ("ENTAIL_DATA_DIR", "PYTHONPATH", "HOME"):
        environment[name] = f"{image}{environment[name]}"
    environment |= {"PORT": str(free_port()), **GIVEN}
    run = {"cwd": folder, "env": environment}
    with (tmp_path / "log").open("wb") as log:
        served = subprocess.Popen([sys.executable, *command[1:]], stdout=log, stderr=log, **run)
        try:
            probe = [sys.executable, *check[1:]]
            until(lambda: served.poll() is not None or not subprocess.run(probe, **run).returncode)
            assert served.poll() is None, (tmp_path / "log").read_text(errors="replace")
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait(30)
    secrets = image / "srv/entail/.streamlit/secrets.toml"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert (folder / "models/aeenc-minilm/adapter_model.safetensors").is_file()
    assert not [path for path in context.rglob("*") if path.suffix in (".db", ".pyc")]
    assert {path.name for path in context.iterdir()}.isdisjoint({"tests", "docs", "scripts", ".git"})
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
    own = tomllib.loads(secrets_toml({**GIVEN, "ENTAIL_COOKIE_SECRET": "x" * 40}) or "")
    assert own["auth"]["cookie_secret"] == "x" * 40
    for missing in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OPENID_PROVIDER_URL", "SPACE_HOST"):
        assert secrets_toml({name: value for name, value in GIVEN.items() if name != missing}) is None


def test_a_start_prepares_and_passes_no_secret_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = os.umask(0)
    try:
        for _ in range(2):
            environment = prepare({**os.environ, **GIVEN}, home=tmp_path / "home")
    finally:
        os.umask(old)
    assert "OAUTH_CLIENT_SECRET" not in environment
    assert environment["STREAMLIT_BROWSER_SERVER_ADDRESS"] == "team-trees.hf.space"
    secrets = tmp_path / "home" / ".streamlit" / "secrets.toml"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert not list((tmp_path / "data").iterdir())
    (tmp_path / "data").rmdir()
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(SystemExit, match="can write a database"):
        main()
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    assert prepare(dict(os.environ), home=tmp_path)["ENTAIL_DEMO"] == "1"


def test_a_space_is_private_and_its_bucket_is_mounted(
    hub: Any, token: str, output: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deploy.main([*TEAM, "--dry-run"]) == 0
    assert hub.asked == []
    options = deploy.read_options(TEAM)
    hub.put(
        "spaces/team/trees", {"gone.py": b"x", ".gitattributes": b"*.safetensors filter=lfs"}, private=True
    )
    done = deploy.deploy_space(options)
    repository = hub.repositories["spaces/team/trees"]
    assert (done.private, repository.private, done.removed) == (True, True, ("gone.py",))
    assert {name for name in repository.files if name != ".gitattributes"} == set(done.files)
    assert repository.files["Dockerfile"].decode() == recipe_of(TEAM)
    assert hub.settings == {
        "buckets/team/trees-data": {"visibility": "private"},
        "spaces/team/trees/volumes": {
            "volumes": [{"type": "bucket", "source": "team/trees-data", "mountPath": DATA}]
        },
    }
    assert token not in output.everything() + str(vars(done))
    hub.refuse("PUT", "/volumes", 403)
    with pytest.raises(HubError) as caught:
        deploy.deploy_space(options)
    assert caught.value.reason == "forbidden"
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(EntailError, match="demo"):
        deploy.deploy_space(options)
