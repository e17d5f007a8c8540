"""Fields of the Compare page with their link, and what they choose: two retrievers, and trees."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from entail.data.entailment_bank.trees import read_trees
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import count_of, fold
from entail.encoders.catalogue import SHIPPED
from entail.encoders.training_queries import has_training_record, training_queries_of
from entail.errors import EntailError
from entail.evaluation.retrieval.comparison import Comparison, compare
from entail.index.protocol import PremiseIndex
from entail.memory import Cache
from entail.registry.models import active
from entail.runtime.models import model_cache
from entail.settings import load_settings
from entail.trees.formats.entailment_bank import refold
from entail.trees.installation.seed import HELD_OUT_ID
from entail.trees.log.replay import CREATED
from entail.trees.review.decisions import judgements_of
from entail.trees.store.corpora import CorpusInfo
from entail.ui.components.elements import pick_view
from entail.ui.shared.form import upload_limit
from entail.ui.shared.link import Link, draw_example_link
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import Workspace, reference_premises, retrievers
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress

T = TypeVar("T")

QUERY, TREE, SPLIT, BIAS = "query", "tree", "split", "bias"
MODES = {QUERY: "A claim", TREE: "A tree", SPLIT: "Many trees", BIAS: "Similarity bias"}

_ALWAYS = ("mode", "corpus", "left", "right", "depth")
_BY_MODE = {
    QUERY: ("pick", "query"),
    TREE: ("tree",),
    SPLIT: ("trees", "file"),
    BIAS: ("trees", "file"),
}
LINK = Link(
    "compare",
    (*_ALWAYS, *dict.fromkeys(part for parts in _BY_MODE.values() for part in parts)),
    called={"left": "retriever", "right": "retriever", "pick": "claim", "trees": "kind of trees"},
)

EXAMPLES, TEAM, FILE = "examples", "team", "file"
KINDS = {EXAMPLES: "Example trees", TEAM: "Your team's trees", FILE: "An EntailmentBank file"}
_UPLOAD = "Upload one …"
_READ: Cache[Hashable, Any] = Cache("trees of comparisons")


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of the fields: one of `MODES`, the candidates, two retrievers, the ranks to compare."""

    mode: str
    corpus: CorpusInfo
    left: str
    right: str
    depth: int


def default_pair(names: Sequence[str], preferred: Sequence[str] = ()) -> tuple[str, str]:
    """Return the retrievers of a first visit: a baseline, and the first preferred one that is another.

    >>> default_pair(["minilm", "bm25", "tfidf"])
    ('tfidf', 'minilm')
    >>> default_pair(["minilm", "tfidf", "aeenc-minilm"], ["aeenc-minilm"])
    ('minilm', 'aeenc-minilm')
    """
    if "minilm" not in names:
        return names[0], names[-1]
    better = next((name for name in preferred if name in names and name != "minilm"), None)
    return ("minilm", better) if better is not None else ("tfidf", "minilm")


def draw_fields(corpora: Sequence[CorpusInfo]) -> Choice:
    """Draw the fields and return their values; there must be a corpus."""
    names, ids = retrievers(), {corpus.id: corpus for corpus in corpora}
    mode = LINK.pick("mode", "Compare over", MODES, QUERY, draw=pick_view)
    largest = max(corpora, key=lambda corpus: corpus.count).id
    cells = st.columns([3, 2, 2, 1])
    titles = {id_: f"{info.name} ({count_of(info.count, 'premise')})" for id_, info in ids.items()}
    corpus = LINK.pick("corpus", "Corpus", titles, largest, draw=cells[0].selectbox)
    preferred = [SHIPPED]  # never one without measured figures
    with suppress(EntailError):  # the Models page says what is wrong
        preferred.insert(0, active(ids[corpus].name).encoder)
    usual = default_pair(names, preferred)
    first, second = (
        cell.selectbox(
            part.capitalize(), names, key=LINK.init_widget(part, names, name), format_func=model_label
        )
        for cell, part, name in zip(cells[1:], ("left", "right"), usual, strict=False)
    )
    depth = 20
    if mode != BIAS:
        depth = LINK.pick("depth", "Ranks shown", (10, 20, 50, 100), depth, draw=cells[3].selectbox)
    if first == second:
        st.info(f"Both sides are {label(model_label(first))}. Choose another retriever on one side.")
    return Choice(mode, ids[corpus], first, second, depth)


def offer_example(mode: str) -> None:
    """Draw a link that opens a mode over the held-out examples."""
    draw_example_link("pages/Compare.py", mode=mode, trees=EXAMPLES, corpus=HELD_OUT_ID)


def save_link(mode: str) -> None:
    """Write the parts of a mode into the address."""
    LINK.save_to_url((*_ALWAYS, *_BY_MODE[mode]))


@dataclass(frozen=True)
class Source:
    """Trees with the corpus in which their premises are looked for; `stamp` changes when a tree does."""

    name: str
    stamp: Hashable
    trees: tuple[ExplanationTree, ...]
    corpus: Corpus


def pick_source(shared: Workspace, info: CorpusInfo) -> Source | None:
    """Draw the fields for the trees, and return them; None, explained, while there are none."""
    columns = st.columns([2, 3])
    kind = LINK.pick("trees", "Trees", KINDS, EXAMPLES, draw=columns[0].selectbox)
    corpus = shared.corpora.corpus(info.id, version=info.version)
    if kind == FILE:
        with columns[1]:
            return _pick_file(corpus)
    # An example counts as it came: an author's edit of it changes no figure.
    tree_versions = tuple(
        (tree.id, CREATED if tree.example else tree.seq)
        for tree in shared.log.trees(corpus_id=info.id)
        if tree.example == (kind == EXAMPLES) and tree.steps
    )
    if not tree_versions:
        st.info(
            "No tree over this corpus has premises yet: accept some on the Trees page, or take a file."
            if kind == TEAM
            else "No example tree is built from this corpus: take a file, or another corpus.",
            icon=":material/park:",
        )
        offer_example(SPLIT)
        return None
    columns[1].caption(
        f"{count_of(len(tree_versions), 'tree')} with premises, over {count_of(info.count, 'premise')}."
    )
    return Source(KINDS[kind], tree_versions, stored_trees(shared, tree_versions), corpus)


def stored_trees(shared: Workspace, trees: tuple[tuple[str, int], ...]) -> tuple[ExplanationTree, ...]:
    """Return trees of the database as of their seqs, named by id and seq, as official rows."""
    seqs, log = dict(trees), shared.log

    def read() -> tuple[ExplanationTree, ...]:
        return tuple(refold(history.at(seqs[id]).tree) for id, history in log.histories(seqs))

    return _read_once((shared.database.url, trees), read)


def _read_once(key: Hashable, read: Callable[[], T]) -> T:
    value: T | None = _READ.get(key)
    if value is None:
        with st.spinner("Reading the trees …"):
            value = read()
        _READ.put(key, value)
    return value


def _pick_file(corpus: Corpus) -> Source | None:
    folder = load_settings().data_dir / "splits"
    names = sorted(path.name for path in folder.glob("*") if path.name.endswith((".jsonl", ".jsonl.gz")))
    name = LINK.pick("file", "File", [*names, _UPLOAD], names[0]) if names else _UPLOAD
    if name == _UPLOAD:
        file = st.file_uploader(
            "EntailmentBank JSONL (.jsonl, .jsonl.gz)",
            key="compare_upload",
            max_upload_size=upload_limit(),
            help=f"Files in the folder {folder.name} of the data folder can be picked without an upload.",
        )
        if file is None:
            st.info(
                "Upload a split, such as task_2/dev.jsonl, to compare the two on all of its trees.",
                icon=":material/upload_file:",
            )
            return None
        name, content = file.name, file.getvalue()
    else:
        content = (folder / name).read_bytes()
    stamp = hashlib.sha256(content).hexdigest()
    return Source(name, stamp, _read_once(stamp, lambda: tuple(read_trees(content, name=name))), corpus)


@dataclass(frozen=True)
class Pair:
    """Two retrievers to compare.

    Attributes:
        corpus: The candidates.
        indexes: The retrievers, left and right.
        references: Folded text of a parent -> its reference premises, by folded text.
        judgements: Premises that authors accepted and rejected.
    """

    corpus: Corpus
    indexes: tuple[PremiseIndex, PremiseIndex]
    references: Mapping[str, Mapping[str, str]]
    judgements: Judgements

    @property
    def names(self) -> tuple[str, str]:
        """Display names of the two, for sentences."""
        return model_name(self.indexes[0].name), model_name(self.indexes[1].name)

    @property
    def key(self) -> Hashable:
        """Cache key of a comparison: both revisions and the corpus."""
        return tuple((index.name, index.manifest.revision) for index in self.indexes), self.corpus.hash

    def compare(self, query: str, *, k: int, gold: Mapping[str, str] | None = None) -> Comparison:
        """Compare the two on one query to depth k.

        `gold` are its reference premises, folded text -> text; by default those of the example trees.
        """
        text = fold(query)
        decisions = dict.fromkeys(self.judgements.rejected.get(text, ()), False)
        decisions |= dict.fromkeys(self.judgements.accepted.get(text, ()), True)
        return compare(
            query,
            self.corpus,
            self.indexes,
            k=k,
            gold=self.references.get(text, {}) if gold is None else gold,
            decisions=decisions,
        )


def take_pair(shared: Workspace, corpus: Corpus, choice: Choice) -> Pair | None:
    """Return the two retrievers over a corpus; draw the progress and return None while one is built."""
    indexes: list[PremiseIndex] = []
    for task in [model_cache().get_or_start(name, corpus) for name in (choice.left, choice.right)]:
        if task.value is None:
            draw_progress(task)
            st.caption("Premise vectors are computed once and cached.")
            return None
        indexes.append(task.value)
    log = shared.log.exportable()
    trees = log.trees(corpus_id=choice.corpus.id, archived=None, examples=False)
    key = (shared.database.url, choice.corpus.id, *((tree.id, tree.seq) for tree in trees))
    judgements = _read_once(key, lambda: judgements_of(log, corpus_id=choice.corpus.id))
    return Pair(corpus, (indexes[0], indexes[1]), reference_premises(choice.corpus.id), judgements)


def draw_training_notice(queries: Sequence[str], names: Iterable[str]) -> None:
    """Draw for each retriever with a record of its training queries whether some of these are among them."""
    for name in names:
        if overlap := len(training_queries_of(name, queries)):
            subject = (
                "Training example"
                if len(queries) == 1
                else f"Training examples: {overlap:,} of {len(queries):,} claims"
            )
            st.caption(f":material/school: {label(model_label(name))}: {subject}; scores are optimistic.")
        elif has_training_record(name):
            subject = "this claim" if len(queries) == 1 else f"any of the {len(queries):,} claims"
            st.caption(f":material/verified: {label(model_label(name))}: held out, not trained on {subject}.")
