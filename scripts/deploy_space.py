"""Deploys the app as a Docker Space of the Hugging Face Hub; see docs/hub.md.

    python scripts/deploy_space.py my-team/trees --bucket my-team/trees-data --dry-run

The token is read from HF_TOKEN, or from where `hf auth login` keeps it; a dry run needs none.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from entail.errors import EntailError
from entail.hub.space_image import DOCKERFILE, Space, deploy_space, dockerfile

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Deploy, or show what would be deployed; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repo", help="name on the Hub, such as my-team/trees")
    keeps = parser.add_mutually_exclusive_group(required=True)
    keeps.add_argument(
        "--bucket", help="storage bucket that keeps what is written, such as my-team/trees-data"
    )
    keeps.add_argument("--ephemeral", action="store_true", help="what is written goes at each restart")
    keeps.add_argument("--demo", action="store_true", help="visitors look, and change nothing but their own")
    parser.add_argument("--title", default="entail", help="what it is called on its page")
    parser.add_argument("--no-sign-in", action="store_true", help="authors say their name, nobody checks it")
    parser.add_argument("--org", help="only members of this organisation may sign in")
    parser.add_argument("--closed", action="store_true", help="who has not signed in sees nothing")
    parser.add_argument("--encoder", action="append", default=[], help="also ship this one of models/")
    parser.add_argument("--public", action="store_true", help="everybody may see it (default: its owners)")
    parser.add_argument("--dry-run", action="store_true", help="list files, show the recipe, send nothing")
    said = parser.parse_args(arguments)
    space = Space(
        repo=said.repo,
        title=said.title,
        bucket=said.bucket,
        demo=said.demo,
        sign_in=not (said.no_sign_in or said.demo),
        org=said.org,
        closed=said.closed,
        encoders=tuple(said.encoder),
    )
    try:
        done = deploy_space(ROOT, space, private=not said.public, dry_run=said.dry_run)
    except EntailError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    seen = "private" if done.private else "public"
    size = f"{len(done.files)} files, {done.size / 1e6:.1f} MB"
    if done.url is None:
        width = max(map(len, done.files))
        for name, count in done.files.items():
            print(f"{name:{width}}  {count:>10,}")
        print(f"\n--- {DOCKERFILE}\n{dockerfile(space)}\n--- README.md\n{done.card}")
        mount = f"; the bucket {space.bucket} would be mounted" if space.bucket else ""
        print(f"would push {size}, to {done.repo} ({seen}){mount}; nothing was sent")
    else:
        gone = f"; taken away: {', '.join(done.removed)}" if done.removed else ""
        print(f"pushed {size}, to {done.repo} ({seen}): {done.url}{gone}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
