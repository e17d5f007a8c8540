"""Question and premises of a chain: from a corpus, a WorldTree release, or the worked example."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from entail.arcf.chains.explained import EXAMPLE
from entail.arcf.chains.stepwise import corpus_facts
from entail.data.worldtree.questions import Question
from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.chains.choice import LINK
from entail.ui.chains.tasks import RELEASES
from entail.ui.shared.file_source import FileSource
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label

if TYPE_CHECKING:
    from entail.data.worldtree.questions import WorldtreeRelease
    from entail.data.worldtree.tables import FactTables
    from entail.progress import ProgressCallback

LONGEST = 2000
"""Most characters of a question or an answer."""

OWN = "own"
"""Row id of a question that the user enters."""

_SHOWN = 90


@dataclass(frozen=True)
class Source:
    """Question and premises of a chain.

    Attributes:
        facts: All premises.
        question: The question with its answer and, where it is known, its explanation.
        parts: Parts of the link that name them.
    """

    facts: FactTables
    question: Question
    parts: tuple[str, ...]

    @property
    def about(self) -> str:
        """Key of the user's edits."""
        content = f"{self.facts.digest}\n{self.question.stem}\n{self.question.answer}"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read_release(path: Path, name: str, report: ProgressCallback) -> WorldtreeRelease:
    from entail.data.worldtree.questions import read_release

    return read_release(path, name=name)


def _is_release(path: Path) -> bool:
    return (path / "tables").is_dir() or (path.is_file() and path.suffix.lower() == ".zip")


_SOURCE = FileSource(
    link=LINK,
    part="facts",
    label="Premises",
    unit="premises",
    folder="worldtree",
    prefix="release",
    title="WorldTree: ",
    accepts=_is_release,
    read=_read_release,
    tasks=RELEASES,
    types=("zip",),
    upload="ZIP of a WorldTree release (2019 or 2020): tables/ and question files",
    server="Folder or ZIP of a release on the server",
    placeholder="/data/worldtree",
)


def pick_source(shared: Workspace) -> Source | None:
    """Draw the fields for premises and question; return None while one is missing."""
    picked = _SOURCE.pick(shared)
    if picked is None:
        return None
    if not isinstance(picked, CorpusInfo):
        return _pick_row(picked)
    corpus = shared.corpora.corpus(picked.id, version=picked.version)
    facts = _corpus_facts(corpus.hash, corpus.name, corpus)
    question = _enter_question(EXAMPLE.stem, EXAMPLE.answer)
    if question is None:
        return None
    is_example = (question.stem, question.answer) == (EXAMPLE.stem, EXAMPLE.answer)
    gold = {uid: role for uid, role in EXAMPLE.gold.items() if uid in facts.positions} if is_example else {}
    if gold:
        st.caption("Example with a known explanation. Enter your own question.")
    known = Question(question.id, question.stem, question.answer, gold)
    return Source(facts, known, ("facts", "question", "answer"))


@st.cache_resource(show_spinner=False, max_entries=6)
def _corpus_facts(stamp: str, name: str, _corpus: object) -> FactTables:
    return corpus_facts(_corpus)  # type: ignore[arg-type]  # Streamlit takes no type that it cannot hash


def _pick_row(release: WorldtreeRelease) -> Source | None:
    st.caption(
        f"{label(str(release.facts))}"
        + "".join(f" · {label(reading.source)}: {label(str(reading))}" for reading in release.readings[:3])
    )
    files = {reading.source: reading for reading in release.readings}
    questions: dict[str, Question] = {}
    parts: tuple[str, ...] = ("facts", "row")
    if files:
        left, right = st.columns([1, 3])
        key = LINK.init_widget("file", list(files), next(iter(files)))
        name = left.selectbox("File", list(files), key=key)
        questions = {one.id: one for one in files[name].questions}
        parts = (*parts, "file")
    else:
        right = st.container()
        st.info("The release has no question file. Enter a question.", icon=":material/edit:")
    ids = [*questions, OWN]
    with right:
        row = st.selectbox(
            "Question",
            ids,
            format_func=lambda id_: _row_label(questions.get(id_)),
            key=LINK.init_widget("row", ids, ids[0]),
        )
    if row != OWN:
        question = questions[row]
        st.markdown(f"{label(question.stem)} **{label(question.answer)}**")
        return Source(release.facts, question, parts)
    entered = _enter_question("", "")
    return None if entered is None else Source(release.facts, entered, (*parts, "question", "answer"))


def _row_label(question: Question | None) -> str:
    if question is None:
        return "My own question …"
    text = f"{question.id}: {question.stem}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _enter_question(stem: str, answer: str) -> Question | None:
    question, correct = (
        column.text_area(
            name, key=LINK.init_text(part, default, longest=LONGEST), max_chars=LONGEST, height=80
        )
        for column, name, part, default in zip(
            st.columns([3, 2]),
            ("Question", "Correct answer"),
            ("question", "answer"),
            (stem, answer),
            strict=True,
        )
    )
    if not question.strip() or not correct.strip():
        st.info("Enter a question and its correct answer.", icon=":material/edit:")
        return None
    return Question("question", " ".join(question.split()), " ".join(correct.split()), {})
