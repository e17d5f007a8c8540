"""Push of a team's trees and decisions, over a corpus or of a project, to the Hub as a data set."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from entail.data.spreadsheets import to_csv
from entail.errors import CorpusError
from entail.hub.repository import PushResult, check_repo, push_folder
from entail.teams.exchange.export import export_project, is_exported, write_files
from entail.teams.projects import Projects
from entail.training.cards.template import CARD, data_card
from entail.trees.formats.entailment_bank import to_jsonl
from entail.trees.formats.tables import JUDGED_COLUMNS, judged_rows, to_pairs_csv
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database

FILES = ("trees.jsonl", "pairs.csv", "judged.csv")


def push_trees(
    corpus: str,
    repo: str,
    *,
    log: TreeLog,
    store: CorpusStore,
    private: bool = True,
    dry_run: bool = False,
    names: bool = False,
    licence: str | None = None,
) -> PushResult:
    """Push the trees and decisions of a corpus.

    Example trees, archived trees, hidden copies, and projects that the log's viewer may not export are left
    out. `trees.jsonl` contains only trees with a proof. Authors are numbered, unless `names`. `licence`
    replaces the corpus's. A dry run returns the plan without contacting the Hub and needs no token.

    Raises:
        CorpusError: If the corpus is unknown, or has no trees and decisions.
        HubError: If there is no token, or the Hub refuses or cannot be reached.
        ProofError: If a text cannot be written in the proof language.
    """
    check_repo(repo)
    info, log = store.find(corpus), log.exportable()
    ids = [summary.id for summary in log.trees(corpus_id=info.id) if not summary.example]
    reviews = {id: log.review(id) for id in ids}
    histories = {id: log.history(id) for id in ids}
    people = [judgement.author for h in histories.values() for judgement in h.tree.judgements.values()]
    people += [name for review in reviews.values() if review for name in (review.annotator, review.by)]
    authors = tuple(dict.fromkeys(people))
    aliases = {name: name if names else f"author {at}" for at, name in enumerate(authors, start=1)}
    for id, review in reviews.items():
        if review is not None:
            review = replace(review, annotator=aliases[review.annotator], by=aliases[review.by])
        histories[id] = histories[id].marked(review)
    proved = [history.tree for history in histories.values() if history.tree.root.children]
    rows = list(judged_rows({id: (history, log.evidence(id)) for id, history in histories.items()}))
    verdicts = [row["verdict"] for row in rows]
    rows = [{**row, "author": aliases[row["author"]]} for row in rows]
    if not proved and not rows:
        raise CorpusError(
            f"{info.name}: expected trees or decisions of your own, found none; examples are not pushed"
        )
    judged = to_csv([JUDGED_COLUMNS, *rows])
    pairs = to_pairs_csv({id: history.tree for id, history in histories.items()})
    card = data_card(
        "data_card.md",
        configs={name.partition(".")[0]: name for name in reversed(FILES)},
        repo=repo,
        corpus=info.name,
        source=info.source,
        corpus_licence=info.licence,
        licence=licence,
        trees=len(proved),
        pairs=len(pairs.splitlines()) - 1,
        accepted=verdicts.count("accepted"),
        rejected=verdicts.count("rejected"),
        authors=len(authors),
        named=names,
    )
    texts = dict(zip((CARD, *FILES), (card, to_jsonl(proved), pairs, judged), strict=True))
    done = _push(
        {name: text.encode() for name, text in texts.items()},
        repo,
        message=f"Push the trees and decisions of {info.name}",
        private=private,
        is_own=lambda name: name in FILES,
        dry_run=dry_run,
    )
    return replace(done, people=authors if names else ())


def push_project(
    project: str,
    repo: str,
    *,
    database: Database,
    log: TreeLog,
    actor: str,
    private: bool = True,
    dry_run: bool = False,
    names: bool = False,
    licence: str | None = None,
) -> PushResult:
    """Push a project, by id or name, with the configurations of `entail.teams.exchange.export`.

    Hidden copies are left out, whoever pushes. People are numbered, unless `names`. `licence` replaces that
    of the corpus. A dry run returns the plan without contacting the Hub and needs no token.

    Raises:
        TeamError: If there is no such project, or the actor may not export it.
        HubError: If there is no token, or the Hub refuses or cannot be reached.
    """
    check_repo(repo)
    project_id = Projects(database).project(project, actor=actor).id
    export = export_project(
        database, log, project_id, actor=actor, names=names, public=True, repo=repo, licence=licence
    )
    done = _push(
        export.files,
        repo,
        message=f"Push the project {export.name}",
        private=private,
        is_own=is_exported,
        dry_run=dry_run,
    )
    return replace(done, people=tuple(export.people) if names else ())


def _push(
    files: Mapping[str, bytes],
    repo: str,
    *,
    message: str,
    private: bool,
    is_own: Callable[[str], bool],
    dry_run: bool,
) -> PushResult:
    with tempfile.TemporaryDirectory(prefix="entail-push-") as scratch:
        folder = Path(scratch)
        write_files(files, folder)
        return push_folder(
            folder,
            repo,
            kind="dataset",
            private=private,
            message=message,
            is_own=is_own,
            dry_run=dry_run,
        )
