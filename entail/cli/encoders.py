"""``entail card``, ``export``, ``encode``, ``average``, ``push``, ``pull``, ``convert``."""

from __future__ import annotations

from collections.abc import Sized
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Device, active_or_packaged
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.hub.repository import PushResult

app = typer.Typer()

Repo = Annotated[str, typer.Argument(metavar="REPO", help="Name on the Hub, such as my-team/my-encoder.")]


@command(app)
def card(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Encoder folder, such as models/mine.")],
    *,
    results: Annotated[
        list[Path] | None,
        "Result file of `entail evaluate ... --out`; repeat for more.",
    ] = None,
    data: Annotated[
        list[str] | None,
        "Training data: entailment_bank, team_decisions or another name; repeat for more.",
        "NAME",
    ] = None,
    licence: Annotated[str | None, "Licence, as a Hub id.", "ID"] = None,
    note: Annotated[
        list[str] | None, "Note on how it was made; replaces earlier notes. Repeat for more."
    ] = None,
    show: Annotated[bool, "Print the card."] = False,
) -> Report:
    """Write the model card README.md from entail.json.

    The options are stored in entail.json.
    """
    from entail.training.cards.metadata import update_facts
    from entail.training.cards.template import write_card

    update_facts(folder, results=results or (), data=data or (), licence=licence, notes=note or ())
    written = write_card(folder)
    text = written.read_text(encoding="utf-8")
    printed = text.rstrip("\n") if show else f"wrote {written}"
    return Report(data={"file": str(written), "card": text}, text=printed)


@command(app)
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Encoder: a name, a folder or a Hub id.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New folder.")],
) -> Report:
    """Export an encoder as a folder that stock sentence-transformers loads.

    An adapter is merged into its base. An encoder with two towers becomes a Router: encode_query for claims,
    encode_document for premises. The export is loaded and compared before it is kept.
    """
    from entail.hub.export import export_encoder

    done = export_encoder(name, out)
    size = sum(done.files.values())
    data = {"folder": str(done.folder), "files": done.files, "bytes": size, "difference": done.difference}
    text = f"wrote {done.folder}: {_size(done.files, size)}; maximum difference of vectors "
    return Report(data=data, text=f"{text}{done.difference:.1e}")


@command(app)
def encode(
    corpus: Annotated[Path, typer.Option(metavar="FILE", help="Corpus: text, CSV, JSON lines ...")],
    out: Annotated[
        Path, typer.Option(metavar="STORE", help="Vector store, such as the folder vectors of a data folder.")
    ],
    encoder: Annotated[
        str | None, "Encoder: a name, a folder or a Hub id; default: the active one.", "NAME"
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], "local, or ray: the cluster of RAY_ADDRESS, else one started here."
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers of the cluster; default: all.", metavar="N")
    ] = None,
    device: Device = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of the corpus: cp1252, cp932 (Shift-JIS) ...")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the corpus that holds the texts.")
    ] = None,
) -> Report:
    """Encode the premises of a corpus that a vector store lacks.

    An encoding that was stopped goes on where it was. Entail finds the vectors where the store is the folder
    vectors of its data folder.
    """
    from entail.data.corpora import read_corpus
    from entail.index.encoding.encoding import encode_corpus

    name = encoder or active_or_packaged("retriever")
    with progress_bar() as progress:
        reading = read_corpus(corpus, column=column, encoding=encoding, skip_too_long=True, progress=progress)
        done = encode_corpus(
            reading.corpus, name, store=out, engine=engine, workers=workers, device=device, progress=progress
        )
    rate = done.encoded / done.seconds
    return Report(
        data={
            "folder": str(done.folder),
            "revision": done.revision,
            "premises": done.premises,
            "encoded": done.encoded,
            "seconds": done.seconds,
        },
        text=f"{reading}\nencoded {done.encoded:,} of {done.premises:,} premises into {done.folder} "
        f"({rate:,.0f}/s)",
    )


@command(app)
def average(
    folders: Annotated[
        list[Path],
        typer.Argument(help="LoRA encoders of one base.", metavar="FOLDER..."),
    ],
    *,
    out: Annotated[Path, "Folder of the new encoder.", "FOLDER"],
    rank: Annotated[int | None, "Rank of the new adapter.  [default: exact]"] = None,
) -> Report:
    """Average several encoders of one base.

    The mean of several seeds or losses ranks nearly as well as their ensemble, at the cost of one.
    """
    from entail.data.reading import size_of
    from entail.training.adapters.averaging import average_adapters

    lost = average_adapters(folders, out, rank=rank)
    size = size_of(out)
    return Report(
        data={"encoders": [f.name for f in folders], "name": out.name, "lost": lost, "bytes": size},
        text=f"wrote {out}: mean of {len(folders)}, {size / 1e6:.1f} MB; rank loses {lost:.2%}",
    )


@command(app)
def push(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Model: a name under models/, or a folder; or corpus, project."),
    ],
    repo: Repo,
    *,
    public: Annotated[bool, "Visible to everyone.  [default: only to its owners]"] = False,
    merged: Annotated[bool, "Merge an adapter into its base.  [default: the adapter alone]"] = False,
    trees: Annotated[bool, "Push the team's trees and decisions over corpus NAME as a data set."] = False,
    project: Annotated[bool, "Push the project NAME as a data set."] = False,
    names: Annotated[
        bool, "With --trees, --project: include people's names.  [default: they are numbered]"
    ] = False,
    licence: Annotated[str | None, "With --trees, --project: licence, as a Hub id.", "ID"] = None,
    dry_run: Annotated[bool, "Show files and card, send nothing; needs no token."] = False,
) -> Report:
    """Push a model with its card, trees, or a project to the Hugging Face Hub; private without --public.

    The token comes from HF_TOKEN or `hf auth login`. Set HF_ENDPOINT for another Hub.
    """
    is_data = trees or project
    if (trees and project) or (merged and is_data) or ((names or licence) and not is_data):
        raise SettingsError(
            "expected --merged, --trees or --project; --names and --licence with the last two"
        )
    if not is_data:
        from entail.hub.push import push_encoder

        return _report(push_encoder(name, repo, merged=merged, private=not public, dry_run=dry_run))
    from entail.hub.trees import push_project, push_trees
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.corpora import CorpusStore
    from entail.trees.store.database import open_database

    with closing(open_database()) as database:
        options: dict[str, Any] = {"private": not public, "dry_run": dry_run}
        options |= {"names": names, "licence": licence, "log": TreeLog(database)}
        if project:
            return _report(push_project(name, repo, database=database, actor="", **options))
        return _report(push_trees(name, repo, store=CorpusStore(database), **options))


@command(app)
def pull(
    repo: Repo,
    *,
    revision: Annotated[str | None, "Branch, tag or commit.  [default: main]"] = None,
    name: Annotated[str | None, "Name under models/.  [default: the second part of REPO]"] = None,
) -> Report:
    """Pull an encoder, scorer or judge from the Hub into models/; safetensors only, every file verified."""
    from entail.hub.pull import pull_encoder

    with progress_bar() as progress:
        done = pull_encoder(repo, revision=revision, name=name, progress=progress)
    text = f"pulled {done.repo} at {done.commit[:12]} as {done.name}: "
    return Report(data=done.to_json(), text=f"{text}{_size(done.files, sum(done.files.values()))}")


def _report(done: PushResult) -> Report:
    sent = f"{_size(done.files, done.size)}, to {done.repo} ({'private' if done.private else 'public'})"
    if done.url is None:
        files = table(["file", "bytes"], list(done.files.items()))
        text = f"{done.card}\n{files}\n\nwould push {sent}; nothing was sent"
    else:
        gone = f"; removed: {', '.join(done.removed)}" if done.removed else ""
        text = f"pushed {sent}: {done.url}{gone}"
    return Report(data=done.to_json(), text=text)


def _size(files: Sized, size: int) -> str:
    return f"{len(files)} files, {size / 1e6:.1f} MB"


@command(app)
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Trees: .jsonl or .jsonl.gz; claims: .txt.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help=".jsonl, .graphml, .dot, .svg, .html or .csv (pairs).")
    ],
    row: Annotated[int | None, "Convert only this row of IN, counted from 1."] = None,
) -> Report:
    """Convert trees between formats; the suffixes decide.

    If the format of OUT holds one tree, each tree gets its own file: out-001.svg, out-002.svg ...
    """
    from entail.trees.formats.convert import convert

    done = convert(source, target, row=row)
    files = [str(file) for file in done.files]
    destination = files[0] if len(files) == 1 else f"{len(files):,} files, {files[0]} to {files[-1]}"
    return Report(
        data={"trees": done.trees, "files": files},
        text=f"wrote {done.trees:,} tree{'' if done.trees == 1 else 's'} to {destination}",
    )
