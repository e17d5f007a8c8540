"""Generator of answers, causal or sequence-to-sequence, from passages in the prompt (RAG)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from entail.answering.loading import LoadedModel
from entail.answering.records import Answer, Answerer, PassageQuestion
from entail.data.passages.files import Passage
from entail.errors import SettingsError

TEMPLATE = (
    "Answer the question from the passages. Give the answer alone.\n\n{passages}\n\n"
    "Question: {question}\nAnswer:"
)
"""Prompt with placeholders of passages and question."""

LEAST = 16
"""Minimum number of tokens of a truncated passage; a shorter one is left out."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    Attributes:
        text: Text of the prompt.
        read: Number of passages in it, at least in part.
        cut: Whether the question or a passage was truncated.
    """

    text: str
    read: int
    cut: bool


def passage_lines(texts: Sequence[Passage]) -> str:
    r"""Return passages as the prompt has them.

    >>> passage_lines([Passage("p1", "Ice melts.", "Ice"), Passage("p2", "It rains.")])
    'Passage 1 (Ice): Ice melts.\nPassage 2: It rains.'
    """
    return "\n".join(
        f"Passage {number}{f' ({passage.title})' if passage.title else ''}: {' '.join(passage.text.split())}"
        for number, passage in enumerate(texts, 1)
    )


def rag_prompt(
    question: str, passages: Sequence[Passage], *, room: int, tokens: Callable[[str], int]
) -> Prompt:
    """Return a prompt that fits: the last passages are left out first, then words of one.

    A question that takes more than half of the room loses its end.

    Args:
        question: Text of the question.
        passages: Passages, best first.
        room: Maximum number of tokens of the prompt.
        tokens: Function that counts the tokens of a prompt, special tokens included.
    """
    whole = " ".join(question.split())
    empty = tokens(_fill("", ""))
    short = _longest_start(whole, lambda text: tokens(_fill("", text)) <= empty + room // 2)

    def prompt(selection: Sequence[Passage]) -> str:
        return _fill(passage_lines(selection), short)

    read: list[Passage] = []
    for passage in passages:
        if tokens(prompt([*read, passage])) <= room:
            read.append(passage)
            continue
        part = _longest_start(
            " ".join(passage.text.split()),
            lambda text: tokens(prompt([*read, replace(passage, text=text)])) <= room,  # noqa: B023 - called here
        )
        if tokens(part) >= LEAST:
            read.append(replace(passage, text=part))
        return Prompt(prompt(read), len(read), True)
    return Prompt(prompt(read), len(read), short != whole)


def _fill(passages: str, question: str) -> str:
    return TEMPLATE.format(passages=passages, question=question)


def _longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return as many first words of a text as fit, by bisection."""
    if fits(text):
        return text
    words = text.split(" ")
    too_long = bisect_left(range(1, len(words)), True, key=lambda count: not fits(" ".join(words[:count])))
    return " ".join(words[:too_long])


_NEXT_QUESTION = ("\nQuestion:", "\nPassage ")
"""Text with which a causal model begins another question."""


class Generator(Answerer):
    """Generator of answers after a prompt, greedy and thus deterministic.

    Args:
        loaded: Causal or sequence-to-sequence model.
        answer_tokens: Maximum number of tokens of an answer.
        batch_size: Prompts per forward pass.

    Raises:
        SettingsError: If answers leave no room for a prompt.
    """

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 64, batch_size: int = 8) -> None:
        super().__init__(loaded, answer_tokens=answer_tokens, batch_size=batch_size)
        self.block = 4 * batch_size  # so that prompts of similar length share a batch
        self._chat = bool(getattr(loaded.tokenizer, "chat_template", None))
        # A causal model reads prompt and answer as one text.
        self._room = loaded.max_length - (answer_tokens if self.kind == "causal" else 0)
        empty = self._tokens(TEMPLATE)
        if self._room < 2 * empty:
            raise SettingsError(
                f"{self.name} reads {loaded.max_length} tokens, of which {max(0, self._room)} are left; the "
                f"template of the prompt alone has {empty}; allow fewer answer tokens, or take another model"
            )
        if self.kind == "causal":
            loaded.tokenizer.padding_side = "left"
        if loaded.tokenizer.pad_token_id is None:
            loaded.tokenizer.pad_token = loaded.tokenizer.eos_token

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        return super().settings | {"prompt": hashlib.sha256(TEMPLATE.encode()).hexdigest()[:12]}

    def prompt(self, question: PassageQuestion) -> Prompt:
        """Return the prompt of a question."""
        return rag_prompt(question.question, question.passages, room=self._room, tokens=self._tokens)

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        prompts = [self.prompt(question) for question in questions]
        texts = self.write([prompt.text for prompt in prompts])
        for question, prompt, text in zip(questions, prompts, texts, strict=True):
            yield Answer.to(question, text, read=prompt.read, cut=prompt.cut)

    def write(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model writes after each prompt, up to another question or passage."""
        order = sorted(range(len(prompts)), key=lambda at: len(prompts[at]))
        texts: dict[int, str] = {}
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            texts |= dict(zip(batch, self._generate([prompts[at] for at in batch]), strict=True))
        return [texts[at] for at in range(len(prompts))]

    def _generate(self, prompts: Sequence[str]) -> list[str]:
        import torch

        tokenizer = self._loaded.tokenizer
        rows = [self._ids(prompt) for prompt in prompts]
        features = tokenizer.pad({"input_ids": rows}, padding=True, return_tensors="pt").to(
            self._loaded.device
        )
        with torch.inference_mode():
            out = self._loaded.generate(
                tokens=self._answer_tokens,
                input_ids=features["input_ids"],
                attention_mask=features["attention_mask"],
            )
        new = out[:, features["input_ids"].shape[1] :] if self.kind == "causal" else out
        return [_first_answer(text) for text in tokenizer.batch_decode(new, skip_special_tokens=True)]

    def _ids(self, prompt: str) -> list[int]:
        """Return a prompt as token ids, by the chat template if the model has one."""
        tokenizer = self._loaded.tokenizer
        if self._chat:
            messages = [{"role": "user", "content": prompt}]
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
            return ids
        token_ids: list[int] = tokenizer(prompt)["input_ids"]
        return token_ids

    def _tokens(self, prompt: str) -> int:
        return len(self._ids(prompt))


def _first_answer(text: str) -> str:
    r"""Return the first answer of a generated text.

    >>> _first_answer(" Paris\nQuestion: And Spain?")
    'Paris'
    """
    ends = [at for mark in _NEXT_QUESTION if (at := text.find(mark)) >= 0]
    return text[: min(ends)].strip() if ends else text.strip()
