"""The facts of a corpus on screen: look, bring, add, correct, retire."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from entail.data.records import Premise
from entail.errors import EntailError
from entail.settings import is_demo
from entail.trees.corpora import CorpusChange
from entail.trees.corpus_versions import CorpusInfo
from entail.trees.wording import quote
from entail.ui.author import asks_who, with_mark
from entail.ui.demo import closed
from entail.ui.exchange import upload_limit
from entail.ui.resources import Workspace
from entail.ui.words import label


def draw_upload(shared: Workspace, author: str | None) -> None:
    """Draw the form that makes a corpus of a file."""
    from entail.data.corpora import read_corpus

    with st.container(border=True):
        st.markdown("**Bring a corpus**")
        if closed("nobody brings a corpus"):
            return
        file = st.file_uploader(
            "Text (one fact a line), CSV, TSV, JSON or JSONL, also gzipped",
            key="corpus_file",
            max_upload_size=upload_limit(),
            help="Also official EntailmentBank files and worldtree_corpus_sentences_extended.json. "
            "A CSV or JSONL needs a column called text, sentence, premise or fact, or name it below.",
        )
        name = st.text_input(
            "Name", key="corpus_name", max_chars=80, placeholder="The file's name if left empty"
        )
        column = st.text_input(
            "Column with the facts", key="corpus_column", placeholder="Found by itself if empty"
        )
        licence = st.text_input(
            "Licence", key="corpus_licence", max_chars=120, placeholder="For colleagues, optional"
        )
        if (
            not st.button("Read", type="primary", disabled=file is None or shared.database.read_only)
            or file is None
        ):
            return
        if author is None:
            st.warning(asks_who())
            return
        try:
            reading = read_corpus(
                file.getvalue(), name=file.name, column=column.strip() or None, skip_too_long=True
            )
            corpus = (
                reading.corpus
                if not name.strip()
                else type(reading.corpus)(name.strip(), reading.corpus.premises)
            )
            info = shared.corpora.add_corpus(corpus, author=author, licence=licence.strip(), source=file.name)
        except EntailError as error:
            st.error(label(str(error)))
            return
        st.session_state["corpus_notice"] = f"{label(info.name)}: {label(str(reading))}"
        st.rerun()


def draw_facts(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the table of facts that hold some words, and what can be done with the one picked."""
    if notice := st.session_state.pop("corpus_notice", None):
        st.success(notice)
    premises = shared.corpora.corpus(corpus.id, version=corpus.version).premises
    words = st.text_input("Find facts", key="find_facts", placeholder="Words in a fact").lower().split()
    found = [p for p in premises if all(word in p.text.lower() for word in words)]
    table = pd.DataFrame({"fact": [p.text for p in found], "id": [p.source_id or "" for p in found]})
    picked = st.dataframe(
        table,
        hide_index=True,
        height=320,
        column_config={
            "fact": st.column_config.TextColumn(width="large"),
            "id": st.column_config.TextColumn(width=90),
        },
        on_select="rerun",
        selection_mode="single-row",
        # Found rows and version in the key: a selection never carries over to other rows.
        key=f"facts-{corpus.id}-{corpus.version}-{' '.join(words)}",
    )
    st.caption(
        f"{len(found):,} of {len(premises):,} facts."
        + ("" if shared.database.read_only else " Pick one to correct or retire it.")
    )
    if closed("facts are neither added, corrected nor retired"):
        return
    rows = picked["selection"]["rows"]
    if rows and rows[0] < len(found):
        _draw_fact(shared, author, corpus, found[rows[0]])


def _draw_fact(shared: Workspace, author: str | None, corpus: CorpusInfo, premise: Premise) -> None:
    with st.form(f"fact-{corpus.id}-{premise.key}"):
        text = st.text_area("Fact", value=premise.text, max_chars=10_000)
        correct, retire = st.columns(2)
        corrected = correct.form_submit_button("Correct", type="primary", width="stretch")
        retired = retire.form_submit_button("Retire", width="stretch")
        st.caption("Trees keep the words that they were built on.")
        if corrected:
            _change(author, lambda who: shared.corpora.correct(corpus.id, premise.key, text, author=who))
        elif retired:
            _change(author, lambda who: shared.corpora.retire(corpus.id, [premise.key], author=who))


def draw_growth(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the field that adds facts, one a line."""
    if is_demo():
        return
    with st.form(f"grow-{corpus.id}"):
        # Emptied by the new version that it makes, so that what could not be saved stays there.
        text = st.text_area(
            "Add facts", placeholder="One fact a line", height=100, key=f"grow-{corpus.id}-{corpus.version}"
        )
        if st.form_submit_button("Add"):
            lines = [line for line in text.splitlines() if line.strip()]
            _change(author, lambda who: shared.corpora.add(corpus.id, lines, author=who))
    st.caption("Only new lines are encoded.")


def _change(author: str | None, do: object) -> None:
    assert callable(do)
    if author is None:
        st.warning(asks_who())
        return
    try:
        info: CorpusInfo = do(author)
    except EntailError as error:
        st.error(label(str(error)))
        return
    st.session_state["corpus_notice"] = f"Saved: version {info.version}, {info.count:,} facts."
    st.rerun()


def draw_changes(shared: Workspace, corpus: CorpusInfo) -> None:
    """Draw what was done to the corpus, newest first."""
    changes = shared.corpora.changes(corpus.id)
    with st.expander(f"Changes ({len(changes)})", icon=":material/history:"):
        for change in changes[:50]:
            st.markdown(
                f":gray[version {change.version} · {change.at:%d %b %Y %H:%M}] "
                f"{with_mark(change.author, verified=change.verified)} "
                f"{_words(change)}"
            )


def _words(change: CorpusChange) -> str:
    added, retired = (
        quote(texts[0]) if texts else "" for texts in (change.added_texts, change.retired_texts)
    )
    match change.change:
        case "correct":
            return f"corrected {label(retired)} to {label(added)}"
        case "retire":
            return f"retired {label(retired)}" + _more(change.retired)
        case "add":
            return f"added {label(added)}" + _more(change.added)
        case _:
            return f"brought {change.added:,} facts"


def _more(count: int) -> str:
    return f" and {count - 1:,} more" if count > 1 else ""
