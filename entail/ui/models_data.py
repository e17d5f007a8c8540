"""What a training shall learn from: a team's decisions, gold trees, or whatever a method reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from entail.data.bundled import SAMPLE_NAME, sample_dir
from entail.data.corpora import corpus_name
from entail.errors import EntailError
from entail.jobs.fields import Field
from entail.jobs.method import Method
from entail.jobs.record import Job
from entail.jobs.source import TreeSource
from entail.trees.corpus_versions import CorpusInfo
from entail.trees.learning import ENOUGH, Decided
from entail.ui.compare_source import splits_dir
from entail.ui.exchange import upload_limit
from entail.ui.learning import decisions, still_missing
from entail.ui.models_form import draw_fields, spoken, typed_path
from entail.ui.resources import Workspace, jobs
from entail.ui.words import label

Offers = Mapping[str, Callable[[], Path]]
"""Files that are here already: how a person calls them -> what gives the place."""

Named = Callable[[str], Path]
"""From the typed name of what is fetched to a field's value, see `entail.jobs.source.Source`."""

DECISIONS, GOLD, SAME = "decisions", "gold", "same"
_KINDS = {DECISIONS: "Our own decisions", GOLD: "Gold trees"}
_NONE, _UPLOAD, _TYPED = "None", "Upload a file …", "A file on the server …"
_NAMED = "A data set on the Hub …"
_SAMPLE = "The bundled sample's trees"


@dataclass(frozen=True)
class Chosen:
    """What shall be learnt from.

    Attributes:
        kind: `decisions`, `gold`, or `same` for that of another job; empty for a method's own kind.
        values: The fields of the method's source, those that were filled in.
        about: The same in words; None: as the source says it.
        corpus: Name of the corpus, where it is one of the app's.
    """

    kind: str
    values: dict[str, object]
    about: str | None = None
    corpus: str | None = None


def draw_data(shared: Workspace, how: Method, *, like: Job | None = None) -> Chosen | None:
    """Draw the fields that say what to learn from; return what they say, None while something is missing."""
    trees = issubclass(how.source, TreeSource)
    kinds = dict(_KINDS) if trees else {}
    if like is not None:
        kinds = {SAME: f"As for {like.name}", **(kinds or {"": "Other data"})}
    kind = ""
    if trees and like is None and not _decided(shared):
        kinds = {kind: kinds[kind] for kind in (GOLD, DECISIONS)}
    if kinds:
        kind = st.segmented_control(
            "Learn from",
            list(kinds),
            default=next(iter(kinds)),
            format_func=kinds.__getitem__,
            required=True,
            key=f"data-kind-{how.name}-{like.id if like else ''}",
        )
    if like is not None and kind == SAME:
        st.caption(f"From {label(like.spec.about)}.")
        return Chosen(SAME, dict(like.spec.source), like.spec.about)
    if not trees:
        return _draw_own(how)
    return _draw_decisions(shared, how) if kind == DECISIONS else _draw_gold(shared, how)


def _decided(shared: Workspace) -> bool:
    """Say whether anything was accepted on any corpus."""
    return any(decisions(shared, info.id).accepted for info in shared.corpora.corpora())


def _draw_own(how: Method) -> Chosen | None:
    files = [field for field in how.source_fields if field.kind == "file"]
    values: dict[str, object] = {}
    named: Named | None = getattr(how.source, "named", None)
    for field in files:
        values[field.name] = draw_file(field, {}, key=f"data-{how.name}-{field.name}", named=named)
    others = [field for field in how.source_fields if field.kind != "file"]
    values |= draw_fields(others, {}, key=f"data-{how.name}")
    given = {name: value for name, value in values.items() if value is not None}
    if files and not any(field.name in given for field in files):
        try:
            how.reading(given)
        except EntailError:  # who has not begun is told what comes first, not what is wrong
            st.info("Choose what it shall learn from.", icon=":material/upload_file:")
            return None
    return Chosen("", given)


def _draw_decisions(shared: Workspace, how: Method) -> Chosen | None:
    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("There is no corpus yet: bring one on the Corpora page, and build trees over it.")
        return None
    said = {corpus_id: decisions(shared, corpus_id) for corpus_id in infos}
    # First where most was decided.
    ids = sorted(infos, key=lambda corpus_id: -said[corpus_id].accepted)
    corpus_id = st.selectbox(
        "Corpus",
        ids,
        format_func=lambda one: f"{infos[one].name} ({said[one].accepted:,} accepted)",
        key=f"data-log-{how.name}",
        help="Whose trees and decisions are learnt from; examples and imported trees are not.",
    )
    info, count = infos[corpus_id], said[corpus_id]
    if not count.accepted:
        st.info(
            "Nothing was accepted on this corpus yet: build a tree on the Trees page, or take gold trees.",
            icon=":material/park:",
        )
        return None
    st.caption(
        f"{count.accepted:,} accepted and {count.rejected:,} rejected premises below {count.nodes:,} "
        "sentences; a job keeps them as they are when it begins."
    )
    if (lacking := count.lacking(ENOUGH)) != Decided():
        st.warning(
            f"That is little to learn from. {still_missing(lacking)}", icon=":material/hourglass_empty:"
        )
    values: dict[str, object] = {"from_log": corpus_id}
    values |= _draw_rest(how, ("dev", "extend"), _offers(info.name), corpus=info, key=f"data-log-{how.name}")
    return Chosen(DECISIONS, values, f"the decisions on {info.name}", info.name)


def _draw_gold(shared: Workspace, how: Method) -> Chosen | None:
    infos = {info.name: info for info in shared.corpora.corpora()}
    known = {field.name: field for field in how.source_fields}
    corpora = {name: partial(stored_corpus, shared, info) for name, info in infos.items()}
    key = f"data-gold-{how.name}"
    first, second = st.columns(2)
    with first:
        corpus = draw_file(known["corpus"], corpora, key=f"{key}-corpus", label_="Premises")
    with second:
        trees = draw_file(known["trees"], _offers(SAMPLE_NAME), key=f"{key}-trees", label_="Trees")
    values: dict[str, object] = {"corpus": corpus, "trees": trees}
    values |= _draw_rest(how, ("dev", "extend", "limit"), _offers(SAMPLE_NAME), key=key)
    if corpus is None or trees is None:
        st.info("Choose premises, and trees whose premises are among them.", icon=":material/upload_file:")
        return None
    if values.get("dev") == trees:
        st.warning(
            "The dev trees are the very trees that it learns from: their figures will say nothing about "
            "other sentences.",
            icon=":material/warning:",
        )
    name = corpus_name(corpus.name)
    trees_name = "the bundled sample" if trees.parent == sample_dir() else trees.name
    return Chosen(GOLD, values, f"{trees_name} over {name}", name if name in infos else None)


def _draw_rest(
    how: Method, names: tuple[str, ...], offers: Offers, *, key: str, corpus: CorpusInfo | None = None
) -> dict[str, object]:
    """Draw the dev trees, and what else there is, also what a method's source has beyond the others'."""
    handled = {"from_log", "corpus", "trees", "dev", "extend", "limit"} - {*names}
    fields = [field for field in how.source_fields if field.name not in handled]
    values: dict[str, object] = {}
    for field in fields:
        if field.name == "dev":
            begin = 1 if corpus is not None and corpus.name == SAMPLE_NAME else 0
            values["dev"] = draw_file(field, offers, key=f"{key}-dev", label_="Dev trees", begin=begin)
    values |= draw_fields([field for field in fields if field.name != "dev"], {}, key=key)
    return {name: value for name, value in values.items() if value is not None}


def draw_file(
    field: Field,
    offers: Offers,
    *,
    key: str,
    label_: str | None = None,
    begin: int = 0,
    named: Named | None = None,
) -> Path | None:
    """Draw a field for a file: one that is here, an upload, or a path; return its place, None while none is.

    Nothing is fetched: what is named is when a person asks for a preview, or trains.

    Args:
        field: The field.
        offers: Files that are here.
        key: Of the widgets.
        label_: What the field is called; default: by its name.
        begin: Which of the options it begins with.
        named: Makes a value of the name of what is fetched, where the field takes such names.
    """
    name = label_ or spoken(field.name)
    options = [*([_NONE] if not field.required and not _needed(field) else []), *offers, _UPLOAD, _TYPED]
    if named is not None:
        options.append(_NAMED)
    how = st.selectbox(
        name, options, index=min(begin, len(options) - 1), key=f"{key}-how", help=field.help or None
    )
    try:
        if how == _UPLOAD:
            return _uploaded(name, key=f"{key}-upload")
        if how == _TYPED:
            path = typed_path(
                st.text_input("Its path", key=f"{key}-path", placeholder="/data/trees.jsonl.gz")
            )
            if path is not None and not _is_there(path):
                st.error(label(f"There is no file {path} on the server."), icon=":material/error:")
                return None
            return path
        if how == _NAMED:
            return _drawn_name(named, key=f"{key}-name")
        return offers[how]() if how in offers else None
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return None


def _is_there(path: Path) -> bool:
    """Whether a file or a folder is at a typed path, of which the system may say that it cannot be one."""
    try:
        return path.exists()
    except OSError:
        return False


def _drawn_name(named: Named | None, *, key: str) -> Path | None:
    name = st.text_input(
        "Its name",
        key=key,
        placeholder="snli, organisation/name@revision:configuration",
        help="A revision pins what is read; a configuration has to be named where there are several. Which "
        "part of it is read stands in the fields for splits.",
    ).strip()
    if not name or named is None:
        return None
    place = named(name)
    st.caption(":material/cloud_download: Fetched when you preview it, or when the training begins.")
    return place


def stored_corpus(shared: Workspace, info: CorpusInfo) -> Path:
    """Return a file with the premises of one of the app's corpora, as they are now."""
    corpus = shared.corpora.corpus(info.id, version=info.version)
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in corpus.texts)
    return jobs().keep_file(f"{info.name}.jsonl", "\n".join(lines).encode())


def _needed(field: Field) -> bool:
    return field.name in ("corpus", "trees")


def _offers(corpus: str) -> dict[str, Callable[[], Path]]:
    """Return trees that are here: the sample's, and what lies in the folder of splits."""
    found: dict[str, Callable[[], Path]] = {}
    if corpus == SAMPLE_NAME:
        found[_SAMPLE] = lambda: sample_dir() / "trees.jsonl.gz"
    for path in sorted(splits_dir().glob("*.jsonl*")):
        found[path.name] = partial(Path, path)
    return found


def _uploaded(name: str, *, key: str) -> Path | None:
    file = st.file_uploader(name, key=key, max_upload_size=upload_limit(), label_visibility="collapsed")
    if file is None:
        return None
    kept: dict[str, Path] = st.session_state.setdefault("kept_files", {})
    if file.file_id not in kept or not kept[file.file_id].is_file():
        kept[file.file_id] = jobs().keep_file(file.name, file.getvalue())
    return kept[file.file_id]
