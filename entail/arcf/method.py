"""ARCF as a method: source of training data, training, preview and model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from entail.arcf.config import PAPER, ArcfConfig
from entail.errors import SettingsError
from entail.progress import ProgressCallback
from entail.training.fields import check_values
from entail.training.method import CardText, CrossEncoderText, Method, Preview, Run

if TYPE_CHECKING:
    from entail.data.worldtree.questions import Question, QuestionReading
    from entail.data.worldtree.tables import FactTables
    from entail.evaluation.retrieval.paired import QueryFigures


_K = 60
"""Visible facts at each step of a comparison, as `entail evaluate chains` has it."""


@dataclass(frozen=True)
class WorldtreeData:
    """Training data of ARCF; `unscored` includes explanations that the shared task does not score."""

    facts: FactTables
    questions: tuple[Question, ...]
    dev: tuple[Question, ...]
    reading: QuestionReading
    split: str
    unscored: bool = False


@dataclass(frozen=True, kw_only=True)
class WorldtreeSource:
    """A release of WorldTree, 2019 or 2020, anything in its format, or trees over a corpus of premises.

    Raises:
        SettingsError: If tables or questions are not given.
    """

    tables: Annotated[
        Path | None, "Folder of fact tables (.tsv) as released; or premises: txt, csv or jsonl"
    ] = None
    questions: Annotated[
        Path | None, "Questions with explanations, as released; or reference trees: EntailmentBank JSONL"
    ] = None
    dev: Annotated[
        Path | None, "Dev questions that select the weights and compare with the active scorer"
    ] = None
    hold_out: Annotated[
        int | None, Ge(2), "Without dev questions: every n-th of the questions is one, and is not trained on"
    ] = None
    unscored: Annotated[bool, "Include explanations that the shared task does not score"] = False

    def __post_init__(self) -> None:
        if self.tables is None or self.questions is None:
            raise SettingsError("expected --tables DIR and --questions FILE; give a release of WorldTree")
        check_values(self, SettingsError)

    def read(self, *, keep: Path | None = None) -> WorldtreeData:
        """Read the files; raise `EntailError` for one that cannot be read."""
        from entail.arcf.chains.chain import corpus_facts
        from entail.data.corpora import read_corpus
        from entail.data.worldtree.tables import read_fact_tables

        assert self.tables is not None
        assert self.questions is not None
        reading = _read_explained(self.questions)
        questions = reading.explained if self.unscored else reading.scored
        dev = _read_explained(self.dev).scored if self.dev else ()
        if self.hold_out is not None and not dev:
            dev = questions[self.hold_out - 1 :: self.hold_out]
            questions = tuple(question for question in questions if question not in dev)
        is_release = self.tables.is_dir()
        return WorldtreeData(
            facts=read_fact_tables(self.tables)
            if is_release
            else corpus_facts(read_corpus(self.tables).corpus),
            questions=questions,
            dev=dev,
            reading=reading,
            split=self.dev.name if self.dev else self.questions.name,
            unscored=self.unscored,
        )

    def __str__(self) -> str:
        assert self.questions is not None
        return self.questions.name


def _read_explained(file: Path) -> QuestionReading:
    """Read questions as released, or reference trees, whose hypotheses are explained by their premises."""
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.text import premise_key
    from entail.data.worldtree.questions import CENTRAL, Question, QuestionReading, read_questions

    if ".jsonl" not in file.suffixes:
        return read_questions(file)
    questions = []
    for tree in read_trees(file, name=file.name):
        gold = dict.fromkeys((premise_key(tree.text(leaf)).lower() for leaf in tree.leaves), CENTRAL)
        questions.append(Question(tree.id, tree.question or tree.hypothesis, tree.answer, gold))
    return QuestionReading(file.name, "2020", tuple(questions))


def train(data: WorldtreeData, config: ArcfConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_arcf`."""
    from entail.arcf.training import train_arcf

    return train_arcf(data.questions, data.facts, config, dev=data.dev, run=run).to_json()


def evaluate(
    model: str | Path, data: WorldtreeData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Measure the rankings of the dev questions by MAP; None without any. The rival ranks by shared words."""
    import numpy as np

    from entail.arcf.chains.chain import ChainRanker
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.scoring.scorer import load_scorer
    from entail.evaluation.chains import evaluate_chains, fact_similarities, tfidf_rankings
    from entail.evaluation.retrieval.paired import QueryFigures

    if not data.dev:
        return None
    scorer, similarities = load_scorer(model, precision="auto"), fact_similarities(data.facts)
    ranker = ChainRanker(scorer, Neighbourhoods(data.facts, k=_K, metric=scorer.form.metric))
    rankings = (ranked.ranking for ranked in ranker.rank(data.dev, progress=progress))
    values = evaluate_chains(data.dev, data.facts, rankings).values
    rival = evaluate_chains(data.dev, data.facts, tfidf_rankings(data.dev, similarities)).values
    return QueryFigures(
        encoder=scorer.name,
        revision=scorer.revision,
        split=f"{len(values):,} questions of {data.split}",
        queries=tuple(question.text for question in data.dev),
        primary="MAP",
        values={"MAP": (values, np.ones(len(values)))},
        rivals={"shared words (TF-IDF)": rival},
    )


def preview(data: WorldtreeData, config: ArcfConfig) -> Preview:
    """Count questions and facts."""
    from entail.data.worldtree.questions import missing_gold

    positions = data.facts.positions
    gold = [
        (q, positions[uid], role) for q in data.questions for uid, role in q.gold.items() if uid in positions
    ]
    usable = data.reading.explained if data.unscored else data.reading.scored
    left_out = {
        "questions without a usable explanation": len(data.reading.questions) - len(usable),
        "rows of questions that cannot be read": len(data.reading.problems),
        "rows of facts that cannot be read": len(data.facts.problems),
        "rows of facts whose uid was there before": len(data.facts.repeats),
        "reference facts that are in no table": len(missing_gold(data.questions, data.facts)),
    }
    return Preview.of(
        counts={
            "questions": len({q.id for q, *_ in gold}),
            "reference facts": len(gold),
            "facts": len(data.facts),
            "dev questions": len(data.dev),
        },
        left_out=left_out,
        header=("question", "answer", "fact", "role"),
        rows=((q.stem, q.answer, data.facts.texts[at], role) for q, at, role in gold),
    )


def scorer_text(record: Mapping[str, Any], name: str) -> CrossEncoderText:
    """Return the text of a scorer's card from its `entail.json`."""
    from entail.arcf.scoring.scorer import ScorerForm

    form = ScorerForm.read(record.get("scorer") or {}, name=name)
    sentences = {
        "Question and facts never attend to the candidate, unlike in the paper: the base encodes candidates "
        "once, as vectors.": form.architecture == "bi",
        "The score counts word pieces that prefix and candidate share, rare ones for more.": (
            form.shared_pieces
        ),
        "It counts how often a fact explained similar questions (explanatory power, after Valentino et al. "
        "2021 and 2022, SCAR). The folder holds vectors of the training questions for it, not their text.": (
            form.encoder
        ),
        "It counts the word similarity of question and fact (tf-idf of stems).": form.similarity,
    }
    return CrossEncoderText(
        kind="scorer",
        description=[
            "It reads a question with its answer, the facts chosen so far and a candidate fact, and returns "
            "one score. It makes no sentence vectors.",
            " ".join(sentence for sentence, applies in sentences.items() if applies),
        ],
        usage=f"entail rank --scorer {name} --tables TABLES --question 'What melts?' --answer ice\n"
        f"entail evaluate chains --scorer {name} --tables TABLES --questions QUESTIONS.tsv",
        limitations="Settings of this method were compared on the dev questions of WorldTree 2020, so its "
        "figures on those questions are optimistic. It was trained on elementary science in English, over "
        "one set of facts. A high score does not prove that a fact explains an answer. Long questions lose "
        "their beginning.",
        pipeline_tag="text-ranking",
        tags=("explanation-regeneration",),
    )


CARD = CardText(
    title="Autoregressive reasoning over chains of facts (ARCF)",
    idea="chooses the facts that explain an answer one after another, each given those before",
    citation="Cartuyvels et al.: Autoregressive Reasoning over Chains of Facts with Transformers. COLING "
    "2020.",
    tags=("worldtree",),
    cross_encoder=scorer_text,
)

ARCF = Method(
    name="arcf",
    title="ARCF: learn to choose the facts that explain an answer, one after another",
    card=CARD,
    config=ArcfConfig,
    train=train,
    source=WorldtreeSource,
    sample={"tables": "premises.jsonl.gz", "questions": "trees.jsonl.gz", "hold_out": 10},
    evaluate=evaluate,
    preview=preview,
    role="chains",
    common=("base", "tuning", "architecture", "loss", "k", "epochs", "token_budget", "learning_rate"),
    presets={"paper": PAPER, "sample": ArcfConfig(epochs=2, token_budget=500_000)},
)
