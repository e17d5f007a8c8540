"""Training data of the form: a team's decisions, gold trees, or the files of a method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from entail.aeenc.source import TreeSource
from entail.data.bundled import SAMPLE_NAME, sample_dir
from entail.data.corpora import corpus_name
from entail.errors import EntailError
from entail.jobs.record import Job
from entail.settings import load_settings
from entail.training.fields import Field
from entail.training.method import DECISIONS, Method
from entail.trees.review.decisions import count_decisions, describe_missing
from entail.trees.store.corpora import CorpusInfo
from entail.ui.components.elements import show_errors
from entail.ui.frame.author import lacks_name
from entail.ui.shared.form import draw_fields, setting_label, upload_limit
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label

_FOLDERS = ("splits", "worldtree", "passage-files")
"""Folders of the data folder whose files the pages offer."""

Offers = Mapping[str, Callable[[], Path]]
"""Available files: title -> function that returns the path."""

FromName = Callable[[str], Path]
"""Function from the name of a Hub data set to a field's value, see `entail.training.method.Source`."""

GOLD, SAME = "gold", "same"
_KINDS = {DECISIONS: "Our decisions", GOLD: "Reference trees"}
_WITH_WIDGET = ("from_log", "corpus", "trees", "hold_out")
_NONE, _UPLOAD = "None", "Upload a file …"
_HUB = "A data set on the Hub …"
_SAMPLE = "Trees of the bundled sample"


@dataclass(frozen=True)
class DataChoice:
    """Chosen training data: values of the fields of the method's source.

    `kind` is `decisions`, `gold`, `same` for the data of another job, or empty for a method's own fields.
    """

    kind: str
    values: dict[str, object]
    about: str | None = None
    """Description of the data; None for that of the source."""
    corpus: str | None = None
    """Name of the corpus, if it is one of the app's."""


def draw_data(shared: Workspace, method: Method, *, like: Job | None = None) -> DataChoice | None:
    """Draw the fields of the training data; return the choice, None while something is missing.

    The data of the job `like` may be used again.
    """
    of_trees = issubclass(method.source, TreeSource)
    kinds = dict(_KINDS) if of_trees else {}
    if like is not None:
        kinds = {SAME: f"As in {like.name}", **(kinds or {"": "Other data"})}
    elif of_trees and not any(
        count_decisions(shared.log, corpus_id=info.id).accepted for info in shared.corpora.corpora()
    ):
        kinds = {kind: kinds[kind] for kind in (GOLD, DECISIONS)}
    kind = ""
    if kinds:
        kind = st.segmented_control(
            "Learn from",
            list(kinds),
            default=next(iter(kinds)),
            format_func=kinds.__getitem__,
            required=True,
            key=f"data-kind-{method.name}-{like.id if like else ''}",
        )
    if like is not None and kind == SAME:
        st.caption(f"Data: {label(like.spec.about)}.")
        return DataChoice(SAME, dict(like.spec.source), like.spec.about)
    if not of_trees:
        return _draw_own(method)
    return _draw_decisions(shared, method) if kind == DECISIONS else _draw_gold(shared, method)


def _draw_own(method: Method) -> DataChoice | None:
    files = [field for field in method.source_fields if field.kind in ("file", "files")]
    from_name: FromName | None = getattr(method.source, "named", None)
    key = f"data-{method.name}"
    values: dict[str, object] = {}
    for start in range(0, len(files), 2):
        for cell, field in zip(st.columns(2), files[start : start + 2], strict=False):
            with cell:
                draw = draw_files if field.kind == "files" else draw_file
                values[field.name] = draw(
                    field, _data_files(), key=f"{key}-{field.name}", from_name=from_name
                )
    values |= draw_fields([field for field in method.source_fields if field not in files], {}, key=key)
    filled_values = {name: value for name, value in values.items() if value not in (None, ())}
    if files and not any(field.name in filled_values for field in files):
        try:
            method.make_source(filled_values)
        except EntailError:  # a first hint instead of an error about empty fields
            st.info("Choose the training data.", icon=":material/upload_file:")
            return None
    return DataChoice("", filled_values)


def _draw_decisions(shared: Workspace, method: Method) -> DataChoice | None:
    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("There is no corpus yet. Upload one on the Corpora page, and build trees over it.")
        return None
    counts = {corpus_id: count_decisions(shared.log, corpus_id=corpus_id) for corpus_id in infos}
    corpus_id = st.selectbox(
        "Corpus",
        sorted(infos, key=lambda corpus_id: -counts[corpus_id].accepted),
        format_func=lambda id_: infos[id_].name,
        key=f"data-log-{method.name}",
        help="Uses the team's trees and decisions, not examples and imported trees.",
    )
    info, count = infos[corpus_id], counts[corpus_id]
    if not count.accepted:
        st.info(
            "No premise is accepted on this corpus yet. Build a tree, or use reference trees.",
            icon=":material/park:",
        )
        return None
    st.caption(
        f"{count.accepted:,} accepted and {count.rejected:,} rejected premises of {count.nodes:,} nodes. The "
        "job keeps a copy."
    )
    if missing := describe_missing(count):
        st.warning(f"Too few decisions for good results. {missing}", icon=":material/hourglass_empty:")
    values: dict[str, object] = {"from_log": corpus_id}
    key, first = f"data-log-{method.name}", 1 if info.name == SAMPLE_NAME else 0
    values |= _draw_rest(method, info.name, key=key, first_dev=first)
    return DataChoice(DECISIONS, values, f"the decisions on {info.name}", info.name)


def _draw_gold(shared: Workspace, method: Method) -> DataChoice | None:
    infos = {info.name: info for info in shared.corpora.corpora()}
    source_fields = {field.name: field for field in method.source_fields}
    key = f"data-gold-{method.name}"
    first, second = st.columns(2)
    with first:
        stored = {name: partial(_store_corpus, shared, info) for name, info in infos.items()}
        corpus = draw_file(
            source_fields["corpus"],
            stored | _data_files(),
            key=f"{key}-corpus",
            title="Premises",
            required=True,
        )
    with second:
        trees = draw_file(
            source_fields["trees"], _offers(SAMPLE_NAME), key=f"{key}-trees", title="Trees", required=True
        )
    values: dict[str, object] = {"corpus": corpus, "trees": trees}
    values |= _draw_rest(method, SAMPLE_NAME, key=key)
    if corpus is None or trees is None:
        st.info("Choose premises, and reference trees over them.", icon=":material/upload_file:")
        return None
    if values.get("dev") is None and st.checkbox(
        "Hold every tenth tree out as a dev tree",
        value=True,
        key=f"{key}-hold_out",
        help="Dev trees select the weights, and compare the result with the active encoder.",
    ):
        values["hold_out"] = 10
    if values.get("dev") == trees:
        st.warning(
            "Dev and training trees are the same: dev figures will be optimistic.", icon=":material/warning:"
        )
    name = corpus_name(corpus.name)
    trees_name = "the bundled sample" if trees.parent == sample_dir() else trees.name
    return DataChoice(GOLD, values, f"{trees_name} over {name}", name if name in infos else None)


def _draw_rest(method: Method, corpus: str, *, key: str, first_dev: int = 0) -> dict[str, object]:
    """Draw the dev trees and the fields without a widget of their own; return the values that are set.

    `first_dev` is the number of the dev trees that are selected at first.
    """
    fields = {field.name: field for field in method.source_fields}
    dev = draw_file(fields.pop("dev"), _offers(corpus), key=f"{key}-dev", title="Dev trees", index=first_dev)
    rest = [field for name, field in fields.items() if name not in _WITH_WIDGET]
    values = {"dev": dev, **draw_fields(rest, {}, key=key)}
    return {name: value for name, value in values.items() if value is not None}


def draw_file(
    field: Field,
    offers: Offers,
    *,
    key: str,
    title: str | None = None,
    index: int = 0,
    required: bool = False,
    from_name: FromName | None = None,
) -> Path | None:
    """Draw a field for a file: an available one, an upload, or a Hub data set.

    A Hub data set is downloaded by the preview or the training, not here. `from_name` makes a path of its
    name, if the field takes one. Returns None while there is no file.
    """
    name = title or setting_label(field.name)
    options = [*([] if field.required or required else [_NONE]), *offers, _UPLOAD]
    options += [_HUB] if from_name is not None else []
    option = st.selectbox(
        name, options, index=min(index, len(options) - 1), key=f"{key}-how", help=field.help or None
    )
    with show_errors():
        if option == _UPLOAD:
            return _draw_upload(name, key=f"{key}-upload")
        if option == _HUB and from_name is not None:
            return _draw_hub_name(from_name, key=f"{key}-name")
        if option in offers:
            return offers[option]()
    return None


def draw_files(
    field: Field, offers: Offers, *, key: str, from_name: FromName | None = None
) -> tuple[Path, ...]:
    """Draw a field for several files: after each file the choice of one more; see `draw_file`."""
    files: list[Path] = []
    while True:
        number, name = len(files) + 1, setting_label(field.name)
        file = draw_file(
            field,
            offers,
            key=key if number == 1 else f"{key}-{number}",
            title=name if number == 1 else f"{name}, file {number}",
            from_name=from_name,
        )
        if file is None:
            return tuple(files)
        files.append(file)


def _draw_upload(name: str, *, key: str) -> Path | None:
    if lacks_name(key):  # it is kept on the server's disk
        return None
    file = st.file_uploader(name, key=key, max_upload_size=upload_limit(), label_visibility="collapsed")
    if file is None:
        return None
    stored: dict[str, Path] = st.session_state.setdefault("kept_files", {})
    if file.file_id not in stored or not stored[file.file_id].is_file():
        stored[file.file_id] = jobs().keep_file(file.name, file.getvalue())
    return stored[file.file_id]


def _draw_hub_name(from_name: FromName, *, key: str) -> Path | None:
    if lacks_name(key):  # the preview downloads it
        return None
    name = st.text_input(
        "Data set",
        key=key,
        placeholder="snli, organisation/name@revision:configuration",
        help="Add a revision to pin the data, and a configuration if there are several.",
    ).strip()
    if not name:
        return None
    path = from_name(name)
    st.caption(":material/cloud_download: Downloaded by the preview or the training.")
    return path


def _store_corpus(shared: Workspace, info: CorpusInfo) -> Path:
    """Return a new file with the present premises of one of the app's corpora."""
    corpus = shared.corpora.corpus(info.id, version=info.version)
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in corpus.texts)
    return jobs().keep_file(f"{info.name}.jsonl", "\n".join(lines).encode())


def _data_files() -> dict[str, Callable[[], Path]]:
    """Return the files, and the folders of fact tables, in the folders of the data folder that pages list."""
    home = load_settings().data_dir
    paths = [path for folder in _FOLDERS for depth in ("*", "*/*") for path in (home / folder).glob(depth)]
    return {
        str(path.relative_to(home)): partial(Path, path)
        for path in sorted(paths)
        if path.name[:1] != "." and (path.is_file() or path.name == "tables")
    }


def _offers(corpus: str) -> Offers:
    """Return the available trees: those of the sample for its corpus, and the files of the data folder."""
    sample = {_SAMPLE: lambda: sample_dir() / "trees.jsonl.gz"} if corpus == SAMPLE_NAME else {}
    return sample | _data_files()
