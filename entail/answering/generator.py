"""Answers written by a generator, causal or sequence-to-sequence, from passages in its prompt (RAG)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from entail.answering.loading import LoadedModel
from entail.answering.prompt import TEMPLATE, Prompt, rag_prompt, require_template
from entail.answering.records import Answer, Asked, Kind, unanswerable
from entail.errors import SettingsError
from entail.progress import Meter, ProgressCallback

_GOES_ON = ("\nQuestion:", "\nPassage ")
"""Where a model that only continues texts has ended its answer, and goes on with another question."""

_BATCHES = 4
"""Batches that are put together at once, so that prompts of like length meet."""


class Generator:
    """Writes an answer after a prompt, greedily: the same prompt gives the same answer.

    Args:
        loaded: A causal or sequence-to-sequence model.
        answer_tokens: Tokens of an answer, at most.
        batch_size: Prompts at once.
        template: See `entail.answering.prompt.TEMPLATE`.

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
        self._room = loaded.longest - (answer_tokens if self.kind == "causal" else 0)
        bare = self._tokens(self._template)
        if self._room < 2 * bare:
            raise SettingsError(
                f"{self.name} reads {loaded.longest} tokens, of which {max(0, self._room)} are left for the "
                f"prompt, whose template alone has {bare}; take fewer tokens of an answer, or another model"
            )
        if self.kind == "causal":
            loaded.tokenizer.padding_side = "left"
        if loaded.tokenizer.pad_token_id is None:
            loaded.tokenizer.pad_token = loaded.tokenizer.eos_token

    kind: Kind

    @property
    def settings(self) -> dict[str, str]:
        """What else its answers depend on."""
        return {
            "answer_tokens": str(self._answer_tokens),
            "longest": str(self._loaded.longest),
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
