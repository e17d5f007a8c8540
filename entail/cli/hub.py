"""``entail push``, ``entail pull``, ``entail push-trees``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table

if TYPE_CHECKING:
    from entail.hub.repository import Pushed

app = typer.Typer()

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Its name on the Hub, such as my-team/my-encoder.")]
Public = Annotated[bool, typer.Option("--public", help="Everybody may see it.  [default: only its owners]")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List the files, show the card, send nothing; needs no token."),
]


@app.command()
@reports
def push(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What was trained: under models/, or a folder.")
    ],
    repo: Repo,
    *,
    public: Public = False,
    merged: Annotated[bool, typer.Option("--merged", help="The whole model, an adapter merged.")] = False,
    both: Annotated[bool, typer.Option("--both", help="The whole model, the adapter in adapter/.")] = False,
    dry_run: DryRun = False,
) -> Report:
    """Push an encoder, or a scorer or judge, with its card to the Hugging Face Hub; private without --public.

    The token is read from HF_TOKEN, or from where `hf auth login` keeps it. Another Hub: HF_ENDPOINT.
    """
    from entail.hub.push import push_encoder

    if merged and both:
        raise typer.BadParameter("say either --merged or --both")
    done = push_encoder(
        name,
        repo,
        form="both" if both else "merged" if merged else None,
        private=not public,
        dry_run=dry_run,
    )
    return _report(done)


@app.command("push-trees")
@reports
def push_trees(
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="The corpus that the trees are over.")],
    repo: Repo,
    *,
    public: Public = False,
    names: Annotated[
        bool, typer.Option("--names", help="With the authors' names.  [default: they are numbered]")
    ] = False,
    licence: Annotated[
        str | None, typer.Option(help="As its publisher decides, in the Hub's words.", metavar="ID")
    ] = None,
    dry_run: DryRun = False,
) -> Report:
    """Push a team's trees and decisions as a data set, private unless --public is said."""
    from entail.hub.trees import push_trees
    from entail.trees.corpora import CorpusStore
    from entail.trees.database import open_database
    from entail.trees.log import TreeLog

    database = open_database()
    done = push_trees(
        corpus,
        repo,
        log=TreeLog(database),
        store=CorpusStore(database),
        private=not public,
        dry_run=dry_run,
        names=names,
        licence=licence,
    )
    return _report(done)


@app.command()
@reports
def pull(
    repo: Repo,
    *,
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit.  [default: main]", show_default=False)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="What to call it here.  [default: the second half of REPO]", show_default=False),
    ] = None,
    merged: Annotated[
        bool, typer.Option("--merged", help="The whole model, where the adapter is there, too.")
    ] = False,
) -> Report:
    """Bring an encoder, a scorer or a judge of the Hub into models/: safetensors only, every file checked."""
    from entail.hub.pull import pull_encoder

    with progress_bar() as progress:
        done = pull_encoder(
            repo, revision=revision, name=name, form="merged" if merged else None, progress=progress
        )
    size = sum(done.files.values())
    left = f"; not taken: {', '.join(done.left_out)}" if done.left_out else ""
    return Report(
        data={
            "name": done.name,
            "revision": done.revision,
            "repo": done.repo,
            "commit": done.commit,
            "files": done.files,
            "left_out": list(done.left_out),
        },
        text=f"pulled {done.repo} at {done.commit[:12]} as {done.name}: {len(done.files)} files, "
        f"{size / 1e6:.1f} MB{left}",
    )


def _report(done: Pushed) -> Report:
    data: dict[str, Any] = {
        "repo": done.repo,
        "kind": done.kind,
        "private": done.private,
        "files": done.files,
        "bytes": done.size,
        "card": done.card,
        "removed": list(done.removed),
        "url": done.url,
        "commit": done.commit,
    }
    seen = "private" if done.private else "public"
    if done.url is None:
        files = table(["file", "bytes"], [[name, size] for name, size in done.files.items()])
        return Report(
            data=data,
            text=f"{done.card}\n{files}\n\nwould push {len(done.files)} files, {done.size / 1e6:.1f} MB, to "
            f"{done.repo} ({seen}); nothing was sent",
        )
    gone = f"; taken away: {', '.join(done.removed)}" if done.removed else ""
    return Report(
        data=data,
        text=f"pushed {len(done.files)} files, {done.size / 1e6:.1f} MB, to {done.repo} ({seen}): "
        f"{done.url}{gone}",
    )
