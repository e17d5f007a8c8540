"""Generated answers, causal or sequence-to-sequence, from passages in the prompt (RAG)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.answering.loading import LoadedModel
from entail.answering.records import Answer, Asked, Kind, unanswerable
from entail.data.passages.files import Passage
from entail.errors import SettingsError
from entail.progress import Meter, ProgressCallback

TEMPLATE = (
    "Answer the question from the passages. Give the answer alone.\n\n{passages}\n\n"
    "Question: {question}\nAnswer:"
)
"""Default prompt with placeholders of passages and question."""

LEAST = 16
"""Tokens of a passage that are worth being read; a shorter rest of one is left out."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and what of the passages is in it.

    Attributes:
        text: What the model reads.
        read: Passages that are in it, at least in part.
        cut: Whether a passage or the question is not in it whole.
    """

    text: str
    read: int
    cut: bool


def read_template(file: Path) -> str:
    """Return the template of a file, see `TEMPLATE`.

    Raises:
        SettingsError: If it lacks a place for passages or question, or is no text.
    """
    try:
        return require_template(file.read_text(encoding="utf-8").rstrip("\n"))
    except UnicodeError as error:
        raise SettingsError(f"{file.name}: expected a prompt as UTF-8 text, found something else") from error


def require_template(template: str) -> str:
    """Return a template that has a place for both.

    Raises:
        SettingsError: If it lacks one.
    """
    for name in ("{passages}", "{question}"):
        if template.count(name) != 1:
            raise SettingsError(
                f"expected {name} once in the prompt's template, found it {template.count(name)} times; "
                "write it where it belongs"
            )
    return template


def passage_lines(texts: Sequence[Passage]) -> str:
    r"""Return passages as the prompt has them.

    >>> passage_lines([Passage("p1", "Ice melts.", "Ice"), Passage("p2", "It rains.")])
    'Passage 1 (Ice): Ice melts.\nPassage 2: It rains.'
    """
    return "\n".join(
        f"Passage {number}{f' ({one.title})' if one.title else ''}: {' '.join(one.text.split())}"
        for number, one in enumerate(texts, 1)
    )


def rag_prompt(
    question: str,
    passages: Sequence[Passage],
    *,
    room: int,
    tokens: Callable[[str], int],
    template: str = TEMPLATE,
) -> Prompt:
    """Put a prompt together that has no more tokens than fit: the last passages go first, then words of one.

    A question that takes more than half of the room loses its end.

    Args:
        question: Its text.
        passages: The best first.
        room: Tokens of the prompt.
        tokens: Counts those of a text, with all that is put around a prompt.
        template: See `TEMPLATE`.
    """
    asked = " ".join(question.split())
    bare = tokens(_filled(template, "", ""))
    short = _longest_start(asked, lambda text: tokens(_filled(template, "", text)) <= bare + room // 2)
    kept: list[Passage] = []
    for passage in passages:
        if tokens(_filled(template, passage_lines([*kept, passage]), short)) <= room:
            kept.append(passage)
            continue
        before = tuple(kept)

        def fits(text: str, before: tuple[Passage, ...] = before, passage: Passage = passage) -> bool:
            tried = passage_lines([*before, Passage(passage.id, text, passage.title)])
            return tokens(_filled(template, tried, short)) <= room

        part = _longest_start(" ".join(passage.text.split()), fits)
        if tokens(part) >= LEAST:
            kept.append(Passage(passage.id, part, passage.title))
        return Prompt(_filled(template, passage_lines(kept), short), len(kept), True)
    return Prompt(_filled(template, passage_lines(kept), short), len(kept), short != asked)


def _filled(template: str, passages: str, question: str) -> str:
    """Put both in their places; braces that they hold themselves stay what they are."""
    before, _, after = template.partition("{passages}")
    if "{question}" in before:
        start, _, middle = before.partition("{question}")
        return f"{start}{question}{middle}{passages}{after}"
    middle, _, end = after.partition("{question}")
    return f"{before}{passages}{middle}{question}{end}"


def _longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return as many first words of a text as fit, by halving."""
    if fits(text):
        return text
    words = text.split(" ")
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(" ".join(words[:middle])) else (low, middle - 1)
    return " ".join(words[:low])


_GOES_ON = ("\nQuestion:", "\nPassage ")
"""Text at which a causal model has ended its answer and begins another question."""

_BATCHES = 4
"""Batches that are put together at once, so that prompts of like length meet."""


class Generator:
    """Writes an answer after a prompt, greedily: the same prompt gives the same answer.

    Args:
        loaded: A causal or sequence-to-sequence model.
        answer_tokens: Tokens of an answer, at most.
        batch_size: Prompts at once.
        template: See `entail.answering.generator.TEMPLATE`.

    Raises:
        SettingsError: If answers are as long as all that the model reads, or the template lacks a place.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        answer_tokens: int = 64,
        batch_size: int = 8,
        template: str = TEMPLATE,
    ) -> None:
        self._loaded, self._answer_tokens, self._batch_size = loaded, answer_tokens, batch_size
        self._template = require_template(template)
        self.name, self.revision, self.kind = loaded.name, loaded.revision, loaded.kind
        self._chat = bool(getattr(loaded.tokenizer, "chat_template", None))
        # A causal model reads prompt and answer as one text.
        self._room = loaded.max_length - (answer_tokens if self.kind == "causal" else 0)
        bare = self._tokens(self._template)
        if self._room < 2 * bare:
            raise SettingsError(
                f"{self.name} reads {loaded.max_length} tokens, of which {max(0, self._room)} are left; the "
                f"template of the prompt alone has {bare}; allow fewer answer tokens, or take another model"
            )
        if self.kind == "causal":
            loaded.tokenizer.padding_side = "left"
        if loaded.tokenizer.pad_token_id is None:
            loaded.tokenizer.pad_token = loaded.tokenizer.eos_token

    kind: Kind

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        return {
            "answer_tokens": str(self._answer_tokens),
            "longest": str(self._loaded.max_length),
            "precision": self._loaded.precision,
            "prompt": hashlib.sha256(self._template.encode()).hexdigest()[:12],
        }

    def prompt(self, one: Asked) -> Prompt:
        """Return what is read for a question, and what had to be left out."""
        return rag_prompt(
            one.question, one.passages, room=self._room, tokens=self._tokens, template=self._template
        )

    def answer(self, asked: Sequence[Asked], *, progress: ProgressCallback | None = None) -> Iterator[Answer]:
        """Yield an answer a question, in order."""
        meter = Meter(len(asked), f"answering by {self.name}", unit="questions", report=progress)
        for at in range(0, len(asked), self._batch_size * _BATCHES):
            some = asked[at : at + self._batch_size * _BATCHES]
            yield from self._block(some)
            meter.add(len(some))

    def _block(self, asked: Sequence[Asked]) -> Iterator[Answer]:
        prompts = {at: self.prompt(one) for at, one in enumerate(asked) if unanswerable(one) is None}
        order = sorted(prompts, key=lambda at: len(prompts[at].text))
        written: dict[int, str] = {}
        for start in range(0, len(order), self._batch_size):
            some = order[start : start + self._batch_size]
            texts = self._generate([prompts[at].text for at in some])
            written |= dict(zip(some, texts, strict=True))
        for at, one in enumerate(asked):
            empty = unanswerable(one)
            yield empty or Answer(
                id=one.id,
                question=one.question,
                text=written[at],
                score=None,
                passage=None,
                passages=tuple(passage.id for passage in one.passages),
                read=prompts[at].read,
                cut=prompts[at].cut,
            )

    def _generate(self, prompts: Sequence[str]) -> list[str]:
        import torch

        tokenizer = self._loaded.tokenizer
        rows = [self._ids(prompt) for prompt in prompts]
        features = tokenizer.pad({"input_ids": rows}, padding=True, return_tensors="pt").to(
            self._loaded.device
        )
        with torch.inference_mode():
            out: Any = self._loaded.model.generate(
                input_ids=features["input_ids"],
                attention_mask=features["attention_mask"],
                max_new_tokens=self._answer_tokens,
                do_sample=False,
                num_beams=1,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id,
            )
        new = out[:, features["input_ids"].shape[1] :] if self.kind == "causal" else out
        return [_ended(text) for text in tokenizer.batch_decode(new, skip_special_tokens=True)]

    def _ids(self, prompt: str) -> list[int]:
        """Return a prompt as token ids: in the form that a chat model knows, else as a text."""
        tokenizer = self._loaded.tokenizer
        if self._chat:
            said = [{"role": "user", "content": prompt}]
            text = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
            ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
            return ids
        found: list[int] = tokenizer(prompt)["input_ids"]
        return found

    def _tokens(self, prompt: str) -> int:
        return len(self._ids(prompt))


def _ended(text: str) -> str:
    r"""Return what is the answer of a text that a model wrote.

    >>> _ended(" Paris\nQuestion: And Spain?")
    'Paris'
    """
    ends = [at for mark in _GOES_ON if (at := text.find(mark)) >= 0]
    return text[: min(ends)].strip() if ends else text.strip()
