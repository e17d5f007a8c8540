"""What is explained, and by which facts: a corpus of the app, or a release of WorldTree that the team has."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from entail.arcf.stepwise import corpus_facts
from entail.data.bundled import SAMPLE_NAME
from entail.data.worldtree import Question
from entail.settings import is_demo, load_settings
from entail.ui import chains_example as example
from entail.ui.authoring import draw_progress
from entail.ui.chains_link import begin, begin_text
from entail.ui.chains_works import releases
from entail.ui.exchange import upload_limit
from entail.ui.models_form import typed_path
from entail.ui.resources import Workspace
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.data.worldtree_release import WorldtreeRelease
    from entail.data.worldtree_tables import FactTables
    from entail.progress import ProgressCallback
    from entail.ui.works import Work

LONGEST = 2000
"""Characters of a question or an answer."""

OWN = "own"
"""In place of a row's id: a question that is typed."""

_UPLOAD, _TYPED = "upload", "server"
_SHOWN = 90


@dataclass(frozen=True)
class Source:
    """What is explained.

    Attributes:
        facts: All facts.
        question: The question with its answer and, where it is known, its explanation.
        parts: What of it the address names.
    """

    facts: FactTables
    question: Question
    parts: tuple[str, ...]

    @property
    def about(self) -> str:
        """What a person's choices belong to."""
        told = f"{self.facts.digest}\n{self.question.stem}\n{self.question.answer}"
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def releases_dir() -> Path:
    """Return the folder whose releases can be picked: `worldtree` in the data folder."""
    return load_settings().data_dir / "worldtree"


def pick_source(shared: Workspace) -> Source | None:
    """Draw the fields that say what is explained by which facts; None, explained, while one is missing."""
    corpora = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
    there = {f"release-{path.name}": path for path in _releases()}
    names = {key: f"{info.name} ({info.count:,} facts)" for key, info in corpora.items()}
    names |= {key: f"WorldTree: {path.name}" for key, path in there.items()}
    names[_UPLOAD] = "WorldTree: upload a release …"
    if not is_demo():  # a visitor has no business with the server's folders
        names[_TYPED] = "WorldTree: a folder on the server …"
    first = next((key for key, info in corpora.items() if info.name == SAMPLE_NAME), next(iter(names)))
    chosen = st.selectbox(
        "Facts", list(names), format_func=names.__getitem__, key=begin("facts", list(names), first)
    )
    if chosen in corpora:
        info = corpora[chosen]
        corpus = shared.corpora.corpus(info.id, version=info.version)
        facts = _corpus_facts(corpus.hash, corpus.name, corpus)
        question = _typed(example.STEM, example.ANSWER)
        if question is None:
            return None
        same = (question.stem, question.answer) == (example.STEM, example.ANSWER)
        gold = {uid: role for uid, role in example.GOLD.items() if uid in facts.positions} if same else {}
        if gold:
            st.caption(
                "An example, with an explanation that was written for it. Type a question of your own."
            )
        known = Question(question.id, question.stem, question.answer, gold)
        return Source(facts, known, ("facts", "question", "answer"))
    work = _uploaded() if chosen == _UPLOAD else _server() if chosen == _TYPED else _take(there[chosen])
    if work is None:
        return None
    if work.value is None:
        draw_progress(work, waiting="Reading the release …")
        return None
    return _row(work.value)


@st.cache_resource(show_spinner=False, max_entries=6)
def _corpus_facts(stamp: str, name: str, _corpus: object) -> FactTables:
    return corpus_facts(_corpus)  # type: ignore[arg-type]  # Streamlit takes no type that it cannot hash


def _releases() -> list[Path]:
    folder = releases_dir()
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and ((path / "tables").is_dir() or (path.is_file() and path.suffix.lower() == ".zip"))
    )


def _take(place: Path) -> Work[WorldtreeRelease]:
    def make(report: ProgressCallback) -> WorldtreeRelease:
        from entail.data.worldtree_release import read_release

        return read_release(place)

    watched = [place, place / "tables"] if place.is_dir() else [place]
    stamps = tuple(path.stat().st_mtime_ns for path in watched if path.exists())
    return releases().take((str(place), stamps), make)


def _uploaded() -> Work[WorldtreeRelease] | None:
    file = st.file_uploader(
        "A ZIP of a release: tables/ and the files of questions",
        type=["zip"],
        key="chains_upload",
        max_upload_size=upload_limit(),
        help=f"Folders and ZIPs in the folder {releases_dir().name} of the data folder can be picked without "
        "an upload.",
    )
    if file is None:
        st.info(
            "Upload WorldTree as TextGraphs' shared tasks of 2019 or 2020 released it, or anything in its "
            "format. It is held in memory, and kept on no disk.",
            icon=":material/upload_file:",
        )
        return None
    content, name = file.getvalue(), file.name

    def make(report: ProgressCallback) -> WorldtreeRelease:
        from entail.data.worldtree_release import read_release

        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "release.zip"
            place.write_bytes(content)
            return read_release(place, name=name)

    return releases().take(("upload", name, hashlib.sha256(content).hexdigest()), make)


def _server() -> Work[WorldtreeRelease] | None:
    told = st.text_input(
        "The release's folder on the server, or a ZIP of it", key="chains_path", placeholder="/data/worldtree"
    )
    place = typed_path(told)
    return None if place is None else _take(place)


def _row(release: WorldtreeRelease) -> Source | None:
    """Draw the choice of a row; None, explained, where none is."""
    st.caption(
        f"{label(str(release.facts))}"
        + "".join(f" · {label(reading.source)}: {label(str(reading))}" for reading in release.readings[:3])
    )
    files = {reading.source: reading for reading in release.readings}
    questions: dict[str, Question] = {}
    parts: tuple[str, ...] = ("facts", "row")
    if files:
        left, right = st.columns([1, 3])
        with left:
            name = st.selectbox("File", list(files), key=begin("file", list(files), next(iter(files))))
        questions = {one.id: one for one in files[name].questions}
        parts = (*parts, "file")
    else:
        right = st.container()
        st.info("There is no file of questions beside the tables: type a question.", icon=":material/edit:")
    ids = [*questions, OWN]
    with right:
        row = st.selectbox(
            "Question",
            ids,
            format_func=lambda id_: _called(questions.get(id_)),
            key=begin("row", ids, ids[0]),
            help="Type to find one.",
        )
    if row != OWN:
        question = questions[row]
        st.markdown(f"{label(question.stem)} **{label(question.answer)}**")
        return Source(release.facts, question, parts)
    typed = _typed("", "")
    return None if typed is None else Source(release.facts, typed, (*parts, "question", "answer"))


def _called(question: Question | None) -> str:
    if question is None:
        return "A question of my own …"
    text = f"{question.id}: {question.stem}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _typed(stem: str, answer: str) -> Question | None:
    left, right = st.columns([3, 2])
    asked = left.text_area(
        "Question", key=begin_text("question", stem, longest=LONGEST), max_chars=LONGEST, height=80
    )
    said = right.text_area(
        "Its correct answer", key=begin_text("answer", answer, longest=LONGEST), max_chars=LONGEST, height=80
    )
    if not asked.strip() or not said.strip():
        st.info("Type a question and its correct answer.", icon=":material/edit:")
        return None
    return Question("question", " ".join(asked.split()), " ".join(said.split()), {})
