"""Resources shared by all sessions: database, encoders, indexes, jobs; each loaded once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from entail.data.text import fold
from entail.encoders.catalogue import catalogue
from entail.errors import EntailError
from entail.index.factory import LEXICAL, retriever_names
from entail.registry.pointers import list_pointers
from entail.settings import is_demo
from entail.teams.comments import Comments
from entail.teams.curation import Curation
from entail.teams.projects import Projects
from entail.teams.versions import Versions
from entail.teams.work import Work
from entail.trees.installation.demo import open_shown
from entail.trees.installation.seed import seed_sample
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import CREATED
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.ui.shared.demo import visitor_log

if TYPE_CHECKING:
    from entail.jobs.jobs import Jobs


@dataclass(frozen=True)
class Workspace:
    """Stores of one database; in a demo with the trees of one visitor in its log.

    Attributes:
        owner: Object that must live as long as the stores, such as a temporary folder.
    """

    database: Database
    log: TreeLog
    corpora: CorpusStore
    authors: Authors
    owner: object = None

    @property
    def viewer(self) -> str:
        """Author who looks, `SignedIn("")` for a visitor where others sign in; `author or ""` is not that."""
        return "" if self.log.viewer is None else self.log.viewer

    @cached_property
    def projects(self) -> Projects:
        """Projects of the team."""
        return Projects(self.database)

    @cached_property
    def work(self) -> Work:
        """Pieces of the projects."""
        return Work(self.database)

    @cached_property
    def comments(self) -> Comments:
        """Comments on trees."""
        return Comments(self.database)

    @cached_property
    def curation(self) -> Curation:
        """Agreed trees, as the viewer of the log may make them."""
        return Curation(self.database, self.log)

    @cached_property
    def versions(self) -> Versions:
        """Named versions of trees."""
        return Versions(self.database, self.log)

    @property
    def accepts_trees(self) -> bool:
        """Whether trees can be started here; in a demo, the visitor's own."""
        return self.log.writable


def workspace() -> Workspace:
    """Return the stores; open, migrate and seed the database at the first call."""
    shared = team_stores()
    if not is_demo():
        return shared
    return replace(shared, log=visitor_log(shared.log, shared.corpora))


@st.cache_resource(show_spinner="Opening the database …")
def team_stores() -> Workspace:
    """Return the stores of the team, in a demo read-only and without a visitor's trees."""
    database, owner = open_shown() if is_demo() else (open_database(), None)
    if not database.read_only:
        seed_sample(database)
    return Workspace(database, TreeLog(database), CorpusStore(database), Authors(database), owner)


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Return the installation's jobs: one object, which reads each job event once for all sessions."""
    from entail.jobs.jobs import Jobs

    return Jobs()


def retrievers() -> list[str]:
    """Return the available retrievers: the packaged encoder, the lexical ones, those under `models/`."""
    return sorted(retriever_names(), key=lambda name: name != "minilm")


def revisions() -> dict[str, str | None]:
    """Return the revisions of the available retrievers and scorers, None for lexical ones."""
    from entail.arcf.scoring.scorer import list_scorers  # loads SciPy

    try:
        promoted = {pointer.encoder: pointer.revision for pointer in list_pointers() if pointer.encoder}
    except EntailError:  # the field "Ranked by" shows the error
        promoted = {}
    listed = {entry.name: entry.revision for entry in catalogue()}
    listed |= {scorer.name: scorer.revision for scorer in list_scorers() if scorer.problem is None}
    return dict.fromkeys(LEXICAL) | {name: at for name, at in promoted.items() if "/" in name} | listed


@st.cache_data(show_spinner=False, ttl=60)
def reference_premises(corpus_id: str | None) -> dict[str, dict[str, str]]:
    """Return the premises in a corpus's example trees: folded node text -> folded premise -> premise.

    The trees count as they came: an author's edit of an example changes no figure.
    """
    log = workspace().log
    premises: dict[str, dict[str, str]] = {}
    examples = (summary.id for summary in log.trees(corpus_id=corpus_id) if summary.example)
    for _, history in log.histories(examples):
        tree = history.at(CREATED).tree
        for node in tree.nodes.values():
            if node.children:
                children = premises.setdefault(fold(node.text), {})
                children.update({fold(tree.nodes[c].text): tree.nodes[c].text for c in node.children})
    return premises
