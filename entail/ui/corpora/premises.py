"""Premises of a corpus: search, upload, add, correct, retire; and archived corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice

import pandas as pd
import streamlit as st

from entail.data.corpora import corpus_name, likely_text_column, read_corpus, sample_columns
from entail.data.reading import text_blocks, text_lines, whole_lines
from entail.data.records import Premise
from entail.data.text import count_of, file_stem, fold, quote
from entail.errors import EntailError
from entail.progress import Progress, ProgressCallback
from entail.runtime.models import model_cache
from entail.settings import MAX_CORPUS_MB, is_demo
from entail.trees.store.corpora import COUNTED, CorpusChange, CorpusInfo
from entail.trees.store.search import ALL, ID, TEXT
from entail.ui.components.elements import show_errors, toast_errors
from entail.ui.frame.author import ask_name, with_mark
from entail.ui.shared.corpus_choice import keep_picked, preselect
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace
from entail.ui.shared.start_question import open_start_with
from entail.ui.shared.text import label, local

_ENCODINGS = {
    "": "UTF-8 or UTF-16",
    "cp1252": "Western Europe (Windows-1252)",
    "cp1250": "Central Europe (Windows-1250)",
    "cp1251": "Cyrillic (Windows-1251)",
    "cp1253": "Greek (Windows-1253)",
    "cp1254": "Turkish (Windows-1254)",
    "cp1255": "Hebrew (Windows-1255)",
    "cp1256": "Arabic (Windows-1256)",
    "cp932": "Japanese (Shift-JIS)",
    "gb18030": "Chinese, simplified (GB 18030)",
    "big5hkscs": "Chinese, traditional (Big5)",
    "cp949": "Korean (Windows-949)",
    "mac_roman": "Western Europe (Mac)",
}
"""Encodings of a file by their names in Python; the first is detected."""

_PAGE = 200
"""Premises in the table at a time."""

_LONGEST = 300
"""Characters of a cell in the table; the form has the whole text."""

_NOTICE, _IMPORTED, _GROWN = "corpus_notice", "corpora_imported", "corpora_grown"
"""Session keys of what succeeded, until it is shown, and of the numbers of imports and additions so far.

The numbers are part of the keys of the fields, so that a saved input is cleared and not saved twice.
"""

_STAY = partial(keep_picked, "corpus")
"""Stay with the corpus on the screen, though the default is another since a colleague's last edit."""

_SELECTED = "corpus_premise"
"""Session key of the selected premise, with its search and its table."""


def draw_upload(shared: Workspace, author: str | None) -> None:
    """Draw the form that imports a corpus from a file or pasted lines."""
    with st.container(border=True):
        st.markdown("**Upload a corpus**")
        if is_locked_in_demo("uploads are unavailable"):
            return
        done = st.session_state.get(_IMPORTED, 0)
        file = st.file_uploader(
            "Text (one premise a line), CSV, TSV, Excel, JSON or JSONL, also gzipped",
            key=f"corpus_file-{done}",
            max_upload_size=upload_limit(MAX_CORPUS_MB),
            help="Also official EntailmentBank files and worldtree_corpus_sentences_extended.json.",
        )
        encoding, column = None, None
        if file is None:
            pasted = st.text_area("Or paste premises, one a line", key=f"corpus_pasted-{done}", height=100)
            content, file_name = pasted.encode(), "Pasted premises.txt"  # as if they were a file
        else:
            content, file_name = file.getvalue(), file.name
            if not file_name.lower().endswith(".xlsx"):  # which says its own encoding
                encoding = (
                    st.selectbox(
                        "Encoding",
                        list(_ENCODINGS),
                        format_func=_ENCODINGS.__getitem__,
                        key=f"corpus_encoding-{done}",
                        help="Excel writes the encoding of your Windows unless told to save as CSV UTF-8.",
                    )
                    or None
                )
            column = _pick_column(content, file_name, encoding, key=f"corpus_column-{done}-{file_name}")
        merges = st.checkbox(
            "Merge near-duplicates",
            value=True,
            key=f"corpus_merge-{done}",
            help="Keep one of premises that differ only in case, spaces or the full stop",
        )
        name = st.text_input(
            "Name", key=f"corpus_name-{done}", max_chars=80, placeholder=corpus_name(file_name)
        )
        licence = st.text_input(
            "Licence", key=f"corpus_licence-{done}", max_chars=120, placeholder="Optional"
        )
        if author is None:
            ask_name("import")
        locked = author is None or shared.database.read_only
        is_blank = file is None and not content.strip()  # an empty file is refused with the reason
        clicked = st.button("Import", type="primary", disabled=is_blank or locked)
        if not clicked or author is None:
            return
        with show_errors(), _progress_bar() as report:
            reading = read_corpus(
                content,
                name=file_name,
                column=column,
                encoding=encoding,
                skip_too_long=True,
                merge_similar=merges,
                progress=report,
            )
            corpus = replace(reading.corpus, name=name.strip() or reading.corpus.name)
            about = {"licence": licence.strip(), "source": file_name}
            info = shared.corpora.add_corpus(corpus, author=author, **about, progress=report)
            st.session_state[_NOTICE] = f"{label(info.name)}: {label(str(reading))}"
            st.session_state[_IMPORTED] = done + 1
            preselect("corpus", info.id)
            st.rerun()


@contextmanager
def _progress_bar() -> Iterator[ProgressCallback]:
    """Yield a callback that draws progress, until the block ends."""
    bar = st.progress(0.0)

    def report(progress: Progress) -> None:
        bar.progress(progress.fraction, text=str(progress))

    try:
        yield report
    finally:
        bar.empty()


def _pick_column(content: bytes, name: str, encoding: str | None, *, key: str) -> str | None:
    """Draw the field for the column of a table that has the premises; None for files without columns.

    The first texts are shown, so that a wrong encoding is noticed.
    """
    if not content.strip():
        st.warning("This file is empty.", icon=":material/warning:")
        return None
    try:
        sample = sample_columns(content, name=name, encoding=encoding)
        if not sample and encoding is not None:
            first = islice(text_lines(whole_lines(text_blocks(content, name=name, encoding=encoding))), 3)
            _draw_sample([line for _, line in first])
    except EntailError:
        return None  # the import says what is wrong
    if not sample:
        return None
    columns = list(sample)
    at = st.selectbox(
        "Column with the premises",
        range(len(columns)),
        index=columns.index(likely_text_column(sample)),
        format_func=lambda number: f"{number + 1}: {columns[number]}",
        key=key,
    )
    _draw_sample(sample[columns[at]][:3])
    return columns[at]


def _draw_sample(texts: Sequence[str]) -> None:
    st.caption("\n".join(f"- {label(text, longest=120)}" for text in texts))


def draw_premises(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the searchable table of premises, and the form of the selected one."""
    if notice := st.session_state.pop(_NOTICE, None):
        st.success(notice)
    with st.container(horizontal=True):
        if st.button("Start a tree", icon=":material/park:", key="start_on_corpus"):
            open_start_with(corpus_id=corpus.id)
        _draw_archive_button(shared, author, corpus)
        _draw_trees(shared, corpus)
    columns = shared.corpora.columns(corpus.id)
    with st.container(horizontal=True):
        words = st.text_input("Find premises", key="find_facts", placeholder="Words, or how they begin")
        scope = (
            st.selectbox("In", [TEXT, *columns, ALL], key=f"find_in-{corpus.id}", width=160)
            if columns
            else TEXT
        )
    terms = " ".join(fold(words).lower().split())
    # The key has version and search, so that a selection never carries over to other rows.
    search = f"facts-{corpus.id}-{scope}-{terms}"
    page = st.session_state.get(f"page-{search}", 1)
    start = (page - 1) * _PAGE
    listed, count = shared.corpora.find_premises(corpus.id, terms, column=scope, start=start, limit=_PAGE)
    if not listed and page > 1:  # premises were retired
        del st.session_state[f"page-{search}"]
        st.rerun()
    rows = [{**dict(premise.extra), ID: premise.source_id or "", TEXT: premise.text} for premise in listed]
    cells = {name: [row.get(name, "")[:_LONGEST] for row in rows] for name in (TEXT, *columns)}
    key = f"{search}-{page}-{corpus.version}"
    picked = st.dataframe(
        pd.DataFrame(cells),
        hide_index=True,
        height=320,
        column_config={TEXT: st.column_config.TextColumn(width="large")},
        on_select="rerun",
        selection_mode="single-row",
        key=key,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        matches = f"more than {COUNTED:,}" if terms and count > COUNTED else f"{count:,}"
        hint = "Select one to correct or retire it." if count else "Try fewer words."
        st.caption(f"{matches} of {count_of(corpus.count, 'premise')}. {hint}")
        if (pages := -(-count // _PAGE)) > 1:
            st.pagination(pages, key=f"page-{search}")
    if is_locked_in_demo("corpora cannot be changed"):
        return
    chosen_rows = picked["selection"]["rows"]
    if chosen_rows and chosen_rows[0] < len(listed):
        st.session_state[_SELECTED] = search, key, listed[chosen_rows[0]]
    selected = st.session_state.get(_SELECTED)
    # Another author's change makes a new table; the correction that is being typed stays.
    if selected is not None and selected[0] == search and (chosen_rows or selected[1] != key):
        _draw_premise(shared, author, corpus, selected[2])


def _draw_premise(shared: Workspace, author: str | None, corpus: CorpusInfo, premise: Premise) -> None:
    corpora, key = shared.corpora, premise.key
    with st.form(f"fact-{corpus.id}-{key}"):
        text = st.text_area("Premise", value=premise.text, max_chars=10_000)
        st.caption("Existing trees keep the original text.")
        if st.form_submit_button("Correct", type="primary", on_click=_STAY):
            _change(author, lambda name: corpora.correct(corpus.id, key, text, author=name))
        if st.form_submit_button("Retire", on_click=_STAY):
            _change(author, lambda name: corpora.retire(corpus.id, [key], author=name))


def draw_growth(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the form that adds premises, one a line."""
    if is_demo():
        return
    with st.form(f"grow-{corpus.id}"):
        key = f"grow-{corpus.id}-{st.session_state.get(_GROWN, 0)}"
        text = st.text_area("Add premises", placeholder="One premise a line", height=100, key=key)
        if st.form_submit_button("Add", on_click=_STAY):
            lines = [line for line in text.splitlines() if line.strip()]
            _change(author, lambda name: shared.corpora.add(corpus.id, lines, author=name), grows=True)


def _change(author: str | None, change: Callable[[str], CorpusInfo], *, grows: bool = False) -> None:
    """Change a corpus, close or empty its form, and run the page again; an error leaves the form."""
    if author is None:
        ask_name("change")
        return
    with show_errors():
        info = change(author)
        if grows:
            st.session_state[_GROWN] = st.session_state.get(_GROWN, 0) + 1
        else:
            st.session_state.pop(_SELECTED, None)
        st.session_state[_NOTICE] = f"Saved: version {info.version}, {count_of(info.count, 'premise')}."
        st.rerun()


def draw_changes(shared: Workspace, corpus: CorpusInfo) -> None:
    """Draw the changes of a corpus, the newest first."""
    with st.expander(f"Changes ({corpus.version:,})", icon=":material/history:"):
        for change in shared.corpora.changes(corpus.id, limit=50):
            author = with_mark(change.author, verified=change.verified)
            at = f"version {change.version} · {local(change.at):%d %b %Y %H:%M}"
            st.markdown(f":gray[{at}] {author} {_describe(change)}")


def _describe(change: CorpusChange) -> str:
    added, retired = quote(change.first_added or ""), quote(change.first_retired or "")
    match change.change:
        case "correct":
            return f"corrected {label(retired)} to {label(added)}"
        case "retire":
            return f"retired {label(retired)}" + _more(change.retired)
        case "add":
            return f"added {label(added)}" + _more(change.added)
        case "archive" | "restore":
            return f"{change.change}d it"
        case _:
            return f"imported {count_of(change.added, 'premise')}"


def _more(count: int) -> str:
    return f" and {count - 1:,} more" if count > 1 else ""


def _draw_trees(shared: Workspace, corpus: CorpusInfo) -> None:
    """Draw the button that downloads all trees of a corpus, if there are any."""
    trees = [tree.id for tree in shared.log.trees(corpus_id=corpus.id)]
    if not trees:
        return

    def make() -> bytes:
        from entail.trees.formats.bundle import zip_trees

        return zip_trees(shared.corpora.corpus(corpus.id, version=corpus.version), trees, shared.log)

    st.download_button(
        f"Download {count_of(len(trees), 'tree')}",
        make,
        file_name=f"{file_stem(corpus.name)}.zip",
        mime="application/zip",
        icon=":material/download:",
        help="Pictures, EntailmentBank JSONL, and CSV of pairs, judgements and premises, with your ids",
        on_click="ignore",
        key=f"trees-{corpus.id}",
    )


def _draw_archive_button(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the button that archives a corpus, or restores an archived one."""
    if shared.database.read_only or is_demo():
        return

    def archive() -> None:
        with toast_errors():
            if not corpus.archived:
                model_cache().cancel(shared.corpora.corpus(corpus.id).hash)
            shared.corpora.archive(corpus.id, author=author or "", archived=not corpus.archived)
            act = "Restored" if corpus.archived else "Archived"
            st.toast(f"{act} {label(corpus.name)}.", icon=":material/check:")

    st.button(
        "Restore" if corpus.archived else "Archive",
        icon=":material/unarchive:" if corpus.archived else ":material/archive:",
        help=None if corpus.archived else "Hidden from lists, not deleted; trees over it stay",
        disabled=author is None,
        key=f"archive-{corpus.id}",
        on_click=archive,
    )


def draw_archived(shared: Workspace, author: str | None) -> None:
    """Draw the archived corpora, if there are any."""
    archived = shared.corpora.corpora(archived=True)
    if not archived:
        return
    with st.expander(f"Archived ({len(archived)})", icon=":material/archive:"):
        for corpus in archived:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{label(corpus.name)} :gray[{count_of(corpus.count, 'premise')}]")
                _draw_archive_button(shared, author, corpus)
