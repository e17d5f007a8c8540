"""Training of a reader: a span head, by the cross-entropy of the first and the last token of the answer.

A window without the answer has the first token of its row as both. So the score of a span relative to that of
this token compares between passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from entail.answering.answerer import PassageQuestion
from entail.answering.answers import answer_figures
from entail.answering.config import ReaderConfig
from entail.answering.reader import METHOD, Reader, ReaderForm
from entail.answering.spans import SpanModel, Window, split_windows
from entail.answering.squad import MarkedQuestion
from entail.data.passages.files import Passage, Question
from entail.encoders.cross.pairs import Pair
from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.training.adapters.tower import CrossTower
from entail.training.loop.batches import BatchTask
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows

if TYPE_CHECKING:
    from torch import Tensor

_NEAR = 10
"""Number of passages before and after its own in the file of which one does not answer a question."""


@dataclass(frozen=True)
class Example:
    """A window, and the first and last token of the answer in its row; both 0 where it has none."""

    pair: Pair
    first: int
    last: int


def make_examples(
    model: SpanModel, questions: Sequence[MarkedQuestion], *, negatives: float, seed: int
) -> list[Example]:
    """Return the windows of each question's passage, and of a share of them one of another passage near by.

    Questions whose answer no window holds as a whole have none.
    """
    draw = np.random.default_rng(seed)
    passages = list(dict.fromkeys(question.passage for question in questions))
    numbers = {passage: number for number, passage in enumerate(passages)}
    encodings = model.tokenize.encode(passages)
    ids = model.tokenize([question.question for question in questions])
    examples: list[Example] = []
    for question, own in zip(questions, ids, strict=True):
        number = numbers[question.passage]
        windows = split_windows(own, [encodings[number].ids], model.frame, max_length=model.max_length)
        marked = list(_mark(model, windows, encodings[number].offsets, *question.answers[0]))
        if not any(example.last for example in marked):
            continue
        examples += marked
        if draw.random() < negatives:
            near = range(max(0, number - _NEAR), min(len(passages), number + _NEAR + 1))
            folded = [text.casefold() for text in question.texts]
            candidates = [at for at in near if not any(text in passages[at].casefold() for text in folded)]
            if candidates:
                at = int(draw.choice(candidates))
                windows = split_windows(own, [encodings[at].ids], model.frame, max_length=model.max_length)
                examples.append(Example(windows[0].pair, 0, 0))
    return examples


def _mark(
    model: SpanModel, windows: Sequence[Window], offsets: Sequence[tuple[int, int]], start: int, answer: str
) -> Iterator[Example]:
    """Yield the windows that hold an answer, by its first character, as a whole or not at all."""
    end = start + len(answer)
    tokens = [at for at, (begin, stop) in enumerate(offsets) if begin < end and stop > start]
    for window in windows:
        size, shift = len(window.pair[1]), model.frame.first(window.pair) - window.start
        inside = [at for at in tokens if window.start <= at < window.start + size]
        if tokens and inside == tokens:
            yield Example(window.pair, tokens[0] + shift, tokens[-1] + shift)
        elif not inside:
            yield Example(window.pair, 0, 0)


class ReaderTask(BatchTask):
    """Task of a reader."""

    def __init__(
        self,
        config: ReaderConfig,
        examples: Sequence[Example],
        tower: CrossTower,
        *,
        dev: Sequence[MarkedQuestion] = (),
    ) -> None:
        self.config, self.tower, self._examples, self._dev = config, tower, examples, dev
        super().__init__(config, [sum(map(len, example.pair)) for example in examples])

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean cross-entropy of both ends, and the share of windows whose ends are both right."""
        import torch

        examples, frame = [self._examples[i] for i in batch], self.tower.frame
        logits = self.tower.outputs([example.pair for example in examples])  # (windows, tokens, 2)
        at = np.arange(logits.shape[1])
        starts = np.array([[frame.first(example.pair)] for example in examples])
        sizes = np.array([[len(example.pair[1])] for example in examples])
        mask = torch.from_numpy((at == 0) | ((at >= starts) & (at < starts + sizes)))
        ends = torch.tensor([[example.first, example.last] for example in examples]).to(logits.device)
        logits = logits.masked_fill(~mask.to(logits.device)[:, :, None], -torch.inf)
        loss = torch.nn.functional.cross_entropy(logits, ends)
        with torch.no_grad():
            right = float((logits.argmax(dim=1) == ends).all(dim=1).float().mean())
        return loss, {"exact": right}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights by F1 on dev questions with their passage."""
        if not self._dev:
            return None
        inputs = [PassageQuestion("", row.question, (Passage("", row.passage),)) for row in self._dev]
        answers = list(Reader("training", "", self.tower, relative=True).answer(inputs))
        figures = answer_figures(answers, [Question("", row.question, row.texts) for row in self._dev])
        return figures["f1"], {"exact match": figures["exact_match"], "F1": figures["f1"]}


def train_reader(
    questions: Sequence[MarkedQuestion],
    config: ReaderConfig,
    *,
    dev: Sequence[MarkedQuestion] = (),
    run: Run | None = None,
) -> Training[ReaderConfig]:
    """Train a reader on questions with an answer marked in their passage.

    The best weights are those of the highest F1 on dev; without it the last are kept. Of several answers the
    first is learnt.

    Raises:
        TrainingError: If there is no question with an answer; see `prepare`.
    """
    setup = prepare(config, run, method=METHOD)
    tower = CrossTower(
        setup.base,
        max_length=config.max_length,
        outputs=2,
        every_token=True,
        seed=config.seed,
        **setup.tower,
    )
    answerable = [question for question in questions if question.answers]
    examples = make_examples(tower, answerable, negatives=config.negatives, seed=config.seed)
    if not examples:
        raise TrainingError(
            f"expected questions whose answer stands in their passage, found none of {len(questions):,}; "
            "give another file"
        )
    dev_sample = sample_rows([question for question in dev if question.answers], config.dev_questions)
    task = ReaderTask(config, examples, tower, dev=dev_sample)
    bound_to = {"data": _digest(answerable), "dev": _digest(dev_sample)}
    fitted = setup.fit(task, tower.parameters, bound_to=bound_to)
    form = ReaderForm(max_length=tower.max_length).to_json()
    counts = {
        "questions": len(answerable),
        "windows": len(examples),
        "windows without an answer": sum(not example.last for example in examples),
        "dev questions": len(dev_sample),
        "steps": fitted.steps,
    }
    training = setup.result(fitted, counts, measure="F1", reader=form)
    setup.save(training, tower.save, reader=form)
    return training


def _digest(questions: Sequence[MarkedQuestion]) -> str:
    return digest([[row.question, row.passage, row.answers] for row in questions])
