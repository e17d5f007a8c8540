"""Deploy the committed app as a Docker Space of the Hugging Face Hub; see docs/publish.md.

    python scripts/deploy_space.py my-team/trees --bucket my-team/trees-data --dry-run

The token comes from HF_TOKEN or `hf auth login`; a dry run needs none. In the image `entail.hub.space_start`
starts the app.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from huggingface_hub import SpaceHardware

from entail.encoders.hub import ask, hub_api
from entail.errors import EntailError, HubError
from entail.hub.repository import PushResult, check_repo, push_folder
from entail.hub.space_start import PORT
from entail.training.cards.template import CARD
from entail.version import __version__

ROOT = Path(__file__).resolve().parents[1]

DATA = "/data"
"""Data folder of a Space, the mount point of its bucket."""

SHIPPED = (
    *(".streamlit/config.toml", "LICENSE", "entail", "models", "pages", "pyproject.toml"),
    "streamlit_app.py",
)
"""Files and folders of the last commit that the image contains, with its requirements."""

CPU_INDEX = "--extra-index-url https://download.pytorch.org/whl/cpu "
"""Option of pip for torch without CUDA, which is several GB smaller."""


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of a deployment.

    Raises:
        HubError: If a name is invalid or options contradict each other.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("repo", help="name of the Space on the Hub, such as my-team/trees")
    storage = parser.add_mutually_exclusive_group(required=True)
    storage.add_argument("--bucket", help="storage bucket for all data, such as my-team/trees-data")
    storage.add_argument("--ephemeral", action="store_true", help="no bucket: a restart deletes all data")
    storage.add_argument("--demo", action="store_true", help="a visitor's trees are deleted when they leave")
    add("--title", default="entail", help="title of the Space (entail)")
    add("--no-sign-in", action="store_true", help="authors enter a name without signing in")
    add("--org", help="organisation whose members alone may sign in")
    add("--closed", action="store_true", help="show nothing to visitors who are not signed in")
    add(
        "--gpu",
        nargs="?",
        const="t4-small",
        choices=[kind.value for kind in SpaceHardware if not kind.value.startswith(("cpu", "zero"))],
        help="with CUDA, to train there; suggests this hardware (t4-small), which its owner then selects",
    )
    add("--public", action="store_true", help="visible to everyone (default: to its owners)")
    add("--dry-run", action="store_true", help="list files and the Dockerfile, send nothing")
    options = parser.parse_args(arguments)
    options.sign_in = not (options.no_sign_in or options.demo)
    for repo in (options.repo, options.bucket, options.org and f"{options.org}/x"):
        if repo is not None:
            check_repo(repo)
    if not options.sign_in and (options.org or options.closed):
        raise HubError("--org and --closed need sign-in, which a demo has not", reason="place")
    return options


def dockerfile(options: argparse.Namespace) -> str:
    """Return the Dockerfile, with the environment variables of the image."""
    settings = {
        "ENTAIL_DATA_DIR": DATA,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": "/srv/entail/app",
        "PYTHONUNBUFFERED": "1",
    }
    # Streamlit's check against forged requests needs a cookie, which browsers drop in the Hub's frame unless
    # it is meant for frames. Without sign-in there is nothing that a forged request could use.
    if options.sign_in:
        settings["STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE"] = "none"
    else:
        settings["STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION"] = "false"
    if options.demo:
        settings["ENTAIL_DEMO"] = "1"
    if options.closed:
        settings["ENTAIL_SIGN_IN"] = "to-read"
    if options.gpu:
        # The image is not NVIDIA's: its driver is put in only where these are set.
        settings |= {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    recipe = Path(__file__).with_name("space.Dockerfile").read_text(encoding="utf-8")
    recipe = recipe.replace("@REQUIREMENTS@", requirements(options))
    recipe = recipe.replace("@INDEX@", "" if options.gpu else CPU_INDEX)
    return recipe.replace("@SETTINGS@", " ".join(f"{name}={value}" for name, value in settings.items()))


def requirements(options: argparse.Namespace) -> str:
    """Return the name of the file of the image's packages."""
    return "requirements.txt" if options.gpu else "requirements-cpu.txt"


def readme(options: argparse.Namespace) -> str:
    """Return the README, whose header is the Space's configuration."""
    from huggingface_hub import SpaceCardData

    more: dict[str, Any] = {}
    if options.sign_in:
        more = {"hf_oauth": True, "hf_oauth_expiration_minutes": 480, "hf_oauth_scopes": ["email"]}
    if options.org:
        more["hf_oauth_authorized_org"] = options.org
    if options.gpu:
        more["suggested_hardware"] = options.gpu
    header = SpaceCardData(
        title=options.title,
        sdk="docker",
        app_port=PORT,
        license="apache-2.0",
        emoji="🌳",
        short_description="Explanation trees over your own corpus",
        startup_duration_timeout="1h",
        **more,
    )
    storage = (
        "Each visitor's own trees are deleted when they leave."
        if options.demo
        else f"All data is in the storage bucket `{options.bucket}`, mounted at `{DATA}`."
        if options.bucket
        else "**A restart deletes all data**, unless the secret `ENTAIL_DATABASE_URL` names a PostgreSQL "
        "server, which then keeps trees and corpora."
    )
    sign_in = "Sign in at its direct URL: browsers keep no cookie of it in the frame of the Hub's page.\n\n"
    return (
        f"---\n{header.to_yaml(line_break=chr(10)).rstrip()}\n---\n# {options.title}\n\n"
        f"entail {__version__}: explanation trees that a team writes over a corpus of facts. {storage}\n\n"
        f"{sign_in if options.sign_in else ''}The example trees and facts are of EntailmentBank (Apache-2.0) "
        "and WorldTree (CC BY-SA 4.0); see `entail/data/sample/`.\n"
    )


def stage_space(scratch: Path, options: argparse.Namespace, *, root: Path = ROOT) -> None:
    """Write the files of a Space's repository, those of the last commit of a checkout, into a folder.

    Raises:
        HubError: If `root` is no checkout of the project, or a file cannot be written.
    """
    try:
        archive = subprocess.run(
            ["git", "archive", "HEAD", "--", *SHIPPED, requirements(options)],
            cwd=root,
            capture_output=True,
            check=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as opened:
            opened.extractall(scratch, filter="data")
        (scratch / "Dockerfile").write_text(dockerfile(options), encoding="utf-8")
        (scratch / CARD).write_text(readme(options), encoding="utf-8")
    except (OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
        raise HubError(
            f"expected a git checkout of the project with {', '.join(SHIPPED)}, and a disk to copy it to: "
            f"{error}",
            reason="place",
        ) from error


def deploy_space(options: argparse.Namespace) -> PushResult:
    """Push a Space and mount its bucket; see `push_folder`."""
    with tempfile.TemporaryDirectory(prefix="entail-space-") as scratch:
        stage_space(Path(scratch), options)
        done = push_folder(
            Path(scratch),
            options.repo,
            kind="space",
            private=not options.public,
            message=f"Deploy entail {__version__}",
            # The push replaces the whole repository: a deleted module must not stay.
            is_own=lambda name: name != ".gitattributes",
            dry_run=options.dry_run,
        )
    if options.bucket and not options.dry_run:
        from huggingface_hub import Volume

        api = hub_api()
        ask(lambda: api.create_bucket(options.bucket, private=True, exist_ok=True), repo=options.bucket)
        volume = Volume(type="bucket", source=options.bucket, mount_path=DATA)
        ask(lambda: api.set_space_volumes(options.repo, volumes=[volume]), repo=options.repo)
    return done


def main(arguments: list[str] | None = None) -> int:
    """Deploy, or show what would be deployed; return the exit code."""
    try:
        options = read_options(arguments)
        done = deploy_space(options)
    except EntailError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.dry_run:
        print(*(f"{count:>10,}  {name}" for name, count in done.files.items()), sep="\n")
        print(f"\n--- Dockerfile\n{dockerfile(options)}\n--- README.md\n{done.card}")
    size = f"{len(done.files)} files, {done.size / 1e6:.1f} MB"
    target = f"{done.repo} ({'private' if done.private else 'public'})"
    print(f"pushed {size}, to {target}: {done.url}" if done.url else f"would push {size}, to {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
