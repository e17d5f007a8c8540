"""Generators of answers from passages in the prompt (RAG)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from entail.answering.answerer import Answer, Answerer, LoadedModel, PassageQuestion
from entail.data.passages.files import Passage
from entail.errors import SettingsError

TEMPLATE = (
    "Answer the question from the passages. Give the answer alone.\n\n{passages}\n\n"
    "Question: {question}\nAnswer:"
)
"""Prompt with placeholders of passages and question."""

LEAST = 16
"""Minimum number of tokens of a truncated passage; a shorter one is left out."""

_NEXT_QUESTION = ("\nQuestion:", "\nPassage ")
"""Text with which a causal model begins another question."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, the number of passages in it, at least in part, and whether any text was truncated."""

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

    A question that takes more than half of the room, a maximum number of tokens, loses its end. `tokens`
    counts those of a prompt, special tokens included. Passages come best first.
    """
    whole = " ".join(question.split())
    limit = tokens(TEMPLATE.format(passages="", question="")) + room // 2
    short = _longest_start(whole, lambda text: tokens(TEMPLATE.format(passages="", question=text)) <= limit)

    def prompt(selection: Sequence[Passage]) -> str:
        return TEMPLATE.format(passages=passage_lines(selection), question=short)

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


def _longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return as many first words of a text as fit, by bisection."""
    if fits(text):
        return text
    words = text.split(" ")
    too_long = bisect_left(range(1, len(words)), True, key=lambda count: not fits(" ".join(words[:count])))
    return " ".join(words[:too_long])


class Generator(Answerer):
    """Causal or sequence-to-sequence model that answers after a prompt, greedy and thus deterministic.

    Raises:
        SettingsError: If answers leave no room for a prompt.
    """

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 64, batch_size: int = 8) -> None:
        super().__init__(loaded.name, loaded.revision, loaded.kind)
        self._loaded, self._answer_tokens, self._batch_size = loaded, answer_tokens, batch_size
        self.block = 4 * batch_size  # so that prompts of similar length share a batch
        # A causal model reads prompt and answer as one text.
        self._room = loaded.max_length - (answer_tokens if self.kind == "causal" else 0)
        empty = len(self._ids(TEMPLATE))
        if self._room < 2 * empty:
            raise SettingsError(
                f"{self.name} reads {loaded.max_length} tokens, of which {max(0, self._room)} are left; the "
                f"template of the prompt alone has {empty}; allow fewer answer tokens, or take another model"
            )
        if self.kind == "causal":
            loaded.tokenizer.padding_side = "left"
        if loaded.tokenizer.pad_token_id is None:
            loaded.tokenizer.pad_token = loaded.tokenizer.eos_token

    def prompt(self, question: PassageQuestion) -> Prompt:
        """Return the prompt of a question."""

        def tokens(text: str) -> int:
            return len(self._ids(text))

        return rag_prompt(question.question, question.passages, room=self._room, tokens=tokens)

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        prompts = [self.prompt(question) for question in questions]
        order = sorted(range(len(prompts)), key=lambda at: len(prompts[at].text))
        texts: dict[int, str] = {}
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            texts |= dict(zip(batch, self._write([prompts[at].text for at in batch]), strict=True))
        for at, (question, prompt) in enumerate(zip(questions, prompts, strict=True)):
            yield Answer.to(question, texts[at], read=prompt.read, cut=prompt.cut)

    def _write(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model writes after each prompt, up to another question or passage."""
        import torch

        tokenizer, loaded = self._loaded.tokenizer, self._loaded
        features = tokenizer.pad(
            {"input_ids": [self._ids(prompt) for prompt in prompts]}, padding=True, return_tensors="pt"
        ).to(loaded.device)
        ids = features["input_ids"]
        greedy = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
        with torch.inference_mode():
            out = loaded.model.generate(
                **features, max_new_tokens=self._answer_tokens, pad_token_id=tokenizer.pad_token_id, **greedy
            )
        new = out[:, ids.shape[1] :] if self.kind == "causal" else out
        return [_first_answer(text) for text in tokenizer.batch_decode(new, skip_special_tokens=True)]

    def _ids(self, prompt: str) -> list[int]:
        """Return a prompt as token ids, by the chat template if the model has one."""
        tokenizer = self._loaded.tokenizer
        if not getattr(tokenizer, "chat_template", None):
            return list(tokenizer(prompt)["input_ids"])
        messages = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _first_answer(text: str) -> str:
    r"""Return the first answer of a generated text.

    >>> _first_answer(" Paris\nQuestion: And Spain?")
    'Paris'
    """
    ends = [at for mark in _NEXT_QUESTION if (at := text.find(mark)) >= 0]
    return text[: min(ends, default=len(text))].strip()
