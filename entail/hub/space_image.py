"""The app as a Docker Space of the Hub: its files, its recipe, its README; put there in one commit."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.cards.model_card import CARD
from entail.encoders.hub import ask, hub_api
from entail.errors import HubError
from entail.hub.expected import files_to_push
from entail.hub.names import check_repo
from entail.hub.repository import Pushed, push_folder
from entail.hub.space_start import PORT
from entail.settings import refuse_in_demo
from entail.version import __version__

DATA = "/data"
"""Where everything that is written goes: the mount point of the bucket."""

APP = "/srv/entail/app"
"""Where the checkout's files are."""

SHIPPED = (
    ".streamlit/config.toml",
    "LICENSE",
    "entail",
    "models",
    "pages",
    "pyproject.toml",
    "requirements-cpu.txt",
    "streamlit_app.py",
)
"""What of a checkout goes into the image; of folders what git tracks."""

MODULES = ("entail/**.py", "pages/**.py")
"""What goes there, too, before it is committed."""

DOCKERFILE = "Dockerfile"

_RECIPE = Path(__file__).parent / "space" / DOCKERFILE


@dataclass(frozen=True, kw_only=True)
class Space:
    """What is to be deployed.

    Attributes:
        repo: The Hub id, `name/of-it`.
        title: What the Space is called on its page.
        bucket: Storage bucket that is mounted where data is kept, `name/of-it`; None for no such thing.
        demo: Whether visitors look and change nothing (`ENTAIL_DEMO`).
        sign_in: Whether authors sign in with Hugging Face.
        org: Organisation whose members alone may sign in.
        closed: Whether one has to sign in to see anything.
        encoders: Further encoders of `models/` to ship, by name.
    """

    repo: str
    title: str = "entail"
    bucket: str | None = None
    demo: bool = False
    sign_in: bool = True
    org: str | None = None
    closed: bool = False
    encoders: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that it makes sense, before anything is done.

        Raises:
            HubError: If not.
        """
        check_repo(self.repo)
        if self.bucket is not None:
            check_repo(self.bucket)
        if self.org is not None:
            check_repo(f"{self.org}/x")
        if self.demo and (self.bucket or self.sign_in):
            raise HubError(
                "a demo keeps nothing and nobody signs in to it; leave out the bucket and signing in",
                reason="place",
            )
        if not self.sign_in and (self.org or self.closed):
            raise HubError("who may sign in is only said where one signs in", reason="place")


def settings_of(space: Space) -> dict[str, str]:
    """Return the environment that the image sets."""
    found = {
        "ENTAIL_DATA_DIR": DATA,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": APP,
        "PYTHONUNBUFFERED": "1",
        # In the Hub's frame no cookie of the app's own is kept, which the check against forged uploads needs.
        "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false",
    }
    if space.demo:
        return found | {"ENTAIL_DEMO": "1"}
    found |= {"ENTAIL_MODELS_DIR": f"{DATA}/models"}
    return found | {"ENTAIL_SIGN_IN": "to-read"} if space.closed else found


def dockerfile(space: Space) -> str:
    """Return the recipe of the image."""
    settings = [f"{name}={value}" for name, value in sorted(settings_of(space).items())]
    return _RECIPE.read_text(encoding="utf-8").replace("@SETTINGS@", " \\\n    ".join(settings))


def readme(space: Space) -> str:
    """Return the README, whose header is the Space's configuration."""
    from huggingface_hub import SpaceCardData

    more: dict[str, Any] = {"hf_oauth": True, "hf_oauth_expiration_minutes": 480} if space.sign_in else {}
    if space.org:
        more["hf_oauth_authorized_org"] = space.org
    header = SpaceCardData(
        title=space.title,
        sdk="docker",
        app_port=PORT,
        license="apache-2.0",
        emoji="🌳",
        colorFrom="green",
        colorTo="blue",
        pinned=False,
        short_description="Explanation trees over your own corpus",
        startup_duration_timeout="1h",
        **more,
    )
    if space.demo:
        about = "This is a demo: everything can be looked at, each visitor's own trees go when they leave."
    elif space.bucket:
        about = f"All that is written is kept in the storage bucket `{space.bucket}`, mounted at `{DATA}`."
    else:
        about = (
            "**What is written goes when this Space restarts**, unless the secret `ENTAIL_DATABASE_URL` "
            "names a PostgreSQL, which then keeps trees and corpora."
        )
    signing = (
        "Sign in on the Space's own address (its direct URL): in the frame of the Hub's page a browser keeps "
        "no cookie of it."
    )
    parts = (
        f"# {space.title}",
        f"entail {__version__}: explanation trees that a team writes over a corpus of facts.",
        about,
        signing if space.sign_in else "",
        "The example trees and facts are of EntailmentBank (Apache-2.0) and WorldTree (CC BY-SA 4.0); see "
        "`entail/data/sample/`.",
    )
    told = header.to_yaml(line_break="\n").rstrip()
    return f"---\n{told}\n---\n" + "\n\n".join(part for part in parts if part) + "\n"


def stage_space(root: Path, place: Path, space: Space) -> None:
    """Lay a checkout's files out as they will lie in the Space's repository.

    Args:
        root: The checkout.
        place: An empty folder.
        space: What is to be deployed.

    Raises:
        HubError: If it is no checkout, an encoder is not there, or something cannot be read or written.
    """
    space.check()
    tracked = _tracked(root)
    try:
        for name in tracked:
            _copy(root / name, place / name)
        for encoder in space.encoders:
            folder = root / "models" / encoder
            if "/" in encoder or not folder.is_dir():
                raise HubError(
                    f"expected an encoder below models/, found none called {encoder!r}", reason="place"
                )
            for file in files_to_push(folder, encoder):
                _copy(file, place / file.relative_to(root))
        (place / DOCKERFILE).write_text(dockerfile(space), encoding="utf-8")
        (place / CARD).write_text(readme(space), encoding="utf-8")
    except OSError as error:
        raise HubError(f"the Space could not be laid out: {error}", reason="disk") from error


def deploy_space(root: Path, space: Space, *, private: bool = True, dry_run: bool = False) -> Pushed:
    """Push a Space, and mount its bucket.

    Args:
        root: A checkout of the project.
        space: What is to be deployed.
        private: Whether only its owners see it, where it is new. One that is public already is refused.
        dry_run: Only say what would be pushed: the Hub is not asked, no token is needed.

    Raises:
        HubError: If there is no token, or the Hub refuses or cannot be reached.
    """
    if not dry_run:
        refuse_in_demo("nothing can be deployed")
    with tempfile.TemporaryDirectory(prefix="entail-space-") as scratch:
        place = Path(scratch)
        stage_space(root, place, space)
        done = push_folder(
            place,
            space.repo,
            kind="space",
            private=private,
            message=f"Deploy entail {__version__}, {_commit(root)}",
            # The whole repository is made here: a module that went must not stay.
            ours=lambda name: name != ".gitattributes",
            dry_run=dry_run,
        )
    if not dry_run and space.bucket is not None:
        _mount(space.repo, space.bucket)
    return done


def _mount(repo: str, bucket: str) -> None:
    from huggingface_hub import Volume

    api = hub_api()
    ask(lambda: api.create_bucket(bucket, private=True, exist_ok=True), repo=bucket)
    volume = Volume(type="bucket", source=bucket, mount_path=DATA)
    ask(lambda: api.set_space_volumes(repo, volumes=[volume]), repo=repo)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        raise HubError(f"expected files, found the link {source.name}", reason="unsafe")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _tracked(root: Path) -> list[str]:
    """Return what git tracks of what ships, and modules that are new: nothing else that lies about leaves."""
    told = _git(root, "ls-files", "-z", "--", *SHIPPED) or ""
    # Without a module that another one imports already, the Space would not start.
    told += _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *MODULES) or ""
    found = sorted({name for name in told.split("\0") if name and (root / name).exists()})
    missing = [
        name for name in SHIPPED if not any(one == name or one.startswith(f"{name}/") for one in found)
    ]
    if missing:
        raise HubError(
            f"expected a git checkout of the project, found none of {', '.join(missing)} tracked in "
            f"{root.name!r}",
            reason="place",
        )
    return found


def _commit(root: Path) -> str:
    commit = (_git(root, "rev-parse", "--short=12", "HEAD") or "").strip() or "of no commit"
    return f"{commit} with changes" if _git(root, "status", "--porcelain", "--", *SHIPPED) else commit


def _git(root: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")
