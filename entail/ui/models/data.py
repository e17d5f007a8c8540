"""Training data of the form: a team's decisions, reference trees, or the files of a method."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from entail.aeenc.source import TreeSource
from entail.data.bundled import SAMPLE_NAME, sample_dir
from entail.data.corpora import corpus_name
from entail.data.text import count_of
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

REFERENCE, SAME, SAMPLE = "reference", "same", "sample"
_KINDS = {SAMPLE: "Bundled sample", DECISIONS: "Our decisions", REFERENCE: "Reference trees"}
_NONE, _UPLOAD = "None", "Upload a file …"
_HUB = "A data set on the Hub …"
_SAMPLE = "Trees of the bundled sample"
_HELD_OUT = 10
"""Without dev trees, every tenth tree is one."""


@dataclass(frozen=True)
class DataChoice:
    """Chosen training data: values of the fields of the method's source.

    `kind` is `sample`, `decisions`, `reference`, `same` for the data of another job, or empty for a method's
    own fields.
    `about` describes the data, where the source does not; `corpus` names the one that was decided on.
    """

    kind: str
    values: dict[str, object]
    about: str | None = None
    corpus: str | None = None


def draw_data(shared: Workspace, method: Method, *, like: Job | None = None) -> DataChoice | None:
    """Draw the fields of the training data; return the choice, None while something is missing.

    The data of the job `like` may be used again.
    """
    of_trees = issubclass(method.source, TreeSource)
    kinds = dict(_KINDS) if of_trees else {SAMPLE: _KINDS[SAMPLE], "": "Files"}
    if not method.sample:
        del kinds[SAMPLE]
    if like is not None:
        kinds = {SAME: f"As in {like.name}", **kinds}
    elif of_trees and any(
        count_decisions(shared.log, corpus_id=info.id).accepted for info in shared.corpora.corpora()
    ):
        kinds = {DECISIONS: kinds[DECISIONS], **kinds}
    kind = next(iter(kinds))
    if len(kinds) > 1:
        kind = st.segmented_control(
            "Learn from",
            list(kinds),
            default=kind,
            format_func=kinds.__getitem__,
            required=True,
            key=f"data-kind-{method.name}-{like.id if like else ''}",
        )
    if like is not None and kind == SAME:
        st.caption(f"Data: {label(like.spec.about)}.")
        return DataChoice(SAME, dict(like.spec.source), like.spec.about)
    if kind == SAMPLE:
        return _draw_sample(method)
    if kind == DECISIONS:
        return _draw_decisions(shared, method)
    return _draw_reference(shared, method) if of_trees else _draw_own(method)


def _draw_sample(method: Method) -> DataChoice:
    """Draw the sample's files for download: they show the format, and can be filled with other data."""
    sample = method.sample_values()
    values = [path for value in sample.values() for path in (value if isinstance(value, tuple) else [value])]
    files = [path for path in values if isinstance(path, Path)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("A small data set to try the training; it takes a few minutes.", width="content")
        st.download_button(
            "Download as a template",
            partial(_zip, files),
            file_name=f"{method.name}-sample.zip",
            icon=":material/download:",
            type="tertiary",
            key=f"data-template-{method.name}",
        )
    return DataChoice(SAMPLE, sample, "the bundled sample")


def _zip(files: Sequence[Path]) -> bytes:
    """Return files as a ZIP archive, those that are gzipped unpacked."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            content = file.read_bytes()
            packed = file.suffix == ".gz"
            archive.writestr(file.name.removesuffix(".gz"), gzip.decompress(content) if packed else content)
    return buffer.getvalue()


def _draw_own(method: Method) -> DataChoice | None:
    values = _draw_source(method, method.source_fields, key=f"data-{method.name}")
    files = [field.name for field in method.source_fields if field.kind in ("file", "files")]
    if files and not values.keys() & set(files):
        try:
            method.make_source(values)
        except EntailError:  # a first hint instead of an error about empty fields
            st.info("Choose the training data.", icon=":material/upload_file:")
            return None
    return DataChoice("", values)


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
        f"{count.accepted:,} accepted and {count.rejected:,} rejected premises of "
        f"{count_of(count.nodes, 'sentence')}. The job keeps a copy."
    )
    if missing := describe_missing(count):
        st.warning(f"Too few decisions for good results. {missing}", icon=":material/hourglass_empty:")
    fields = [f for f in method.source_fields if f.name in ("dev", "extend", "votes", "hold_out")]
    offers = {"dev": _tree_offers(info.name)}
    values = _draw_source(method, fields, key=f"data-log-{method.name}", offers=offers)
    return DataChoice(
        DECISIONS, {"from_log": corpus_id, **values}, f"the decisions on {info.name}", info.name
    )


def _draw_reference(shared: Workspace, method: Method) -> DataChoice | None:
    stored = {info.name: partial(_store_corpus, shared, info) for info in shared.corpora.corpora()}
    trees = _tree_offers(SAMPLE_NAME)
    fields = [f for f in method.source_fields if f.name not in ("from_log", "hold_out", "votes")]
    offers = {"corpus": stored | _data_files(), "trees": trees, "dev": trees}
    values = _draw_source(method, fields, key=f"data-reference-{method.name}", offers=offers)
    corpus, trees_file = values.get("corpus"), values.get("trees")
    if not isinstance(corpus, Path) or not isinstance(trees_file, Path):
        st.info("Choose premises, and reference trees over them.", icon=":material/upload_file:")
        return None
    if "dev" not in values:
        values["hold_out"] = _HELD_OUT
        st.caption("Every tenth tree is held out as a dev tree, which selects the weights.")
    elif values["dev"] == trees_file:
        st.warning(
            "Dev and training trees are the same: dev figures will be optimistic.", icon=":material/warning:"
        )
    trees_name = "the bundled sample" if trees_file.parent == sample_dir() else trees_file.name
    return DataChoice(REFERENCE, values, f"{trees_name} over {corpus_name(corpus.name)}")


def _draw_source(
    method: Method, fields: Sequence[Field], *, key: str, offers: Mapping[str, Offers] | None = None
) -> dict[str, object]:
    """Draw fields of a source, files first, and return the values that are set.

    `offers` are the available files of a field, by default those of the data folder.
    """
    files = [field for field in fields if field.kind in ("file", "files")]
    from_name = getattr(method.source, "named", None)
    values: dict[str, object] = {}
    for start in range(0, len(files), 2):
        for cell, field in zip(st.columns(2), files[start : start + 2], strict=False):
            with cell:
                own = (offers or {}).get(field.name) or _data_files()
                draw = _draw_files if field.kind == "files" else _draw_file
                values[field.name] = draw(field, own, key=f"{key}-{field.name}", from_name=from_name)
    values |= draw_fields([field for field in fields if field not in files], {}, key=key)
    return {name: value for name, value in values.items() if value not in (None, ())}


def _draw_file(
    field: Field, offers: Offers, *, key: str, from_name: Callable[[str], Path] | None, number: int = 1
) -> Path | None:
    """Draw a field for a file: an available one, an upload, or a Hub data set; return None without one.

    `from_name` makes a path of the name of a Hub data set, if the field takes one.
    """
    name = setting_label(field.name) + (f", file {number}" if number > 1 else "")
    options = [*([] if field.required else [_NONE]), *offers, _UPLOAD, *([_HUB] if from_name else [])]
    option = st.selectbox(name, options, key=f"{key}-how", help=field.help or None)
    with show_errors():
        if option == _UPLOAD:
            return _draw_upload(name, key=f"{key}-upload")
        if option in offers:
            return offers[option]()
        if option == _HUB and from_name is not None and not lacks_name(key):
            typed = st.text_input(
                "Data set",
                key=f"{key}-name",
                placeholder="snli, organisation/name@revision:configuration",
                help="Downloaded by the preview or the training. Add a revision to pin the data.",
            )
            return from_name(typed.strip()) if typed.strip() else None
    return None


def _draw_files(
    field: Field, offers: Offers, *, key: str, from_name: Callable[[str], Path] | None
) -> tuple[Path, ...]:
    """Draw a field for several files: after each file the choice of one more."""
    files: list[Path] = []
    while True:
        number = len(files) + 1
        own_key = key if number == 1 else f"{key}-{number}"
        file = _draw_file(field, offers, key=own_key, from_name=from_name, number=number)
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


def _tree_offers(corpus: str) -> Offers:
    """Return the available trees: those of the sample for its corpus, and the files of the data folder."""
    sample = {_SAMPLE: lambda: sample_dir() / "trees.jsonl.gz"} if corpus == SAMPLE_NAME else {}
    return sample | _data_files()
