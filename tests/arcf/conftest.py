"""A miniature world over the words that `tiny` knows: facts with `mu` explain, among those near by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from entail.arcf.config import ArcfConfig
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.cross.pairs import Frame, Pair
from entail.index.protocol import Floats
from tests.conftest import SYLLABLES

TINY = ArcfConfig(
    base="tiny",
    rank=4,
    k=6,
    batch_tokens=400,
    token_budget=0,
    prefixes_a_step=4,
    epochs=1,
    learning_rate=0.01,
    max_length=32,
    dev_questions=4,
    precision="fp32",
)
"""Settings of a training that takes a second; they have all score terms, as the defaults."""

WORDS = [word for word in SYLLABLES if word != "mu"]
TOPICS = 12


@dataclass(frozen=True)
class World:
    """Facts of some topics, and questions about them."""

    facts: FactTables
    questions: tuple[Question, ...]
    dev: tuple[Question, ...]


@pytest.fixture(scope="session")
def world() -> World:
    """Twelve topics of two words, each with three facts that explain (those with `mu`) and five others."""
    draw = np.random.default_rng(0)
    facts: list[Fact] = []
    questions: list[Question] = []
    for topic in range(TOPICS):
        words = [WORDS[2 * topic], WORDS[2 * topic + 1]]
        gold = {}
        for number in range(8):
            fillers = list(draw.choice(WORDS[2 * TOPICS :], size=2, replace=False))
            mark = ["mu"] if number < 3 else []
            uid = f"{topic:04}-{number:04}"
            facts.append(Fact(uid, " ".join([*words, *fillers, *mark]), "T"))
            if mark:
                gold[uid] = ("CENTRAL", "GROUNDING", "LEXGLUE")[number]
        for version in range(2):
            stem = " ".join([words[version], str(draw.choice(WORDS[2 * TOPICS :]))])
            questions.append(Question(f"Q{topic}-{version}", stem, words[1 - version], gold))
    return World(FactTables(tuple(facts)), tuple(questions[:18]), tuple(questions[18:]))


@pytest.fixture
def release(tmp_path: Path, world: World) -> dict[str, Path]:
    """The world as a release of 2020 has it."""
    files = {"tables": tmp_path / "tables"}
    files["tables"].mkdir()
    rows = ["WORDS\t[SKIP] COMMENTS\t[SKIP] UID", *(f"{f.text}\tx\t{f.uid}" for f in world.facts.facts)]
    (files["tables"] / "T.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for name, questions in (("train", world.questions), ("dev", world.dev)):
        lines = ["QuestionID\tAnswerKey\tquestion\texplanation\tflags\tarcset"]
        for q in questions:
            gold = " ".join(f"{uid}|{role}" for uid, role in q.gold.items())
            lines.append(f"{q.id}\tB\t{q.stem} (A) ba bo (B) {q.answer}\t{gold}\tSUCCESS\tEasy")
        files[name] = tmp_path / f"questions.{name}.tsv"
        files[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


@dataclass
class FakeScorer:
    """Scores by a function of words: those of the prefix, and those of the candidate."""

    by: Callable[[list[str], list[str]], float]
    max_length: int = 1000
    frame: Frame = field(default_factory=lambda: Frame((1,), (2,), (2,), 0, True))
    words: dict[str, int] = field(default_factory=dict)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.words.setdefault(w, len(self.words) + 10) for w in text.split()] for text in texts]

    def score(self, pairs: Sequence[Pair]) -> Floats:
        names = {number: word for word, number in self.words.items()}
        scores = [self.by([names[i] for i in a], [names[i] for i in b]) for a, b in pairs]
        return np.array(scores, dtype=np.float32)
