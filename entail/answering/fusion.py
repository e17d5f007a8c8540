"""Fusion-in-decoder (Izacard and Grave 2021): passages are read one by one and fused by the decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from entail.answering.loading import LoadedModel
from entail.answering.records import Answer, Answerer, PassageQuestion
from entail.data.passages.files import Passage
from entail.errors import SettingsError


def fusion_input(question: str, passage: Passage) -> str:
    """Return a question with one passage as the encoder reads them.

    >>> fusion_input("what melts?", Passage("p1", "ice melts", "Ice"))
    'question: what melts? title: Ice context: ice melts'
    """
    return " ".join(f"question: {question} title: {passage.title} context: {passage.text}".split())


class FusionGenerator(Answerer):
    """Sequence-to-sequence model whose decoder attends to all passages at once; greedy.

    The encoder reads each passage with the question; its states of n passages, shape (n, tokens, d), are
    joined to (n * tokens, d) for the decoder. No passage is left out for lack of room.

    Args:
        loaded: Sequence-to-sequence model.
        answer_tokens: Maximum number of tokens of an answer.
        batch_size: Passages per forward pass of the encoder.

    Raises:
        SettingsError: If the model is none of sequence to sequence.
    """

    block = 1

    def __init__(self, loaded: LoadedModel, *, answer_tokens: int = 64, batch_size: int = 8) -> None:
        if loaded.kind != "seq2seq":
            raise SettingsError(
                "expected a sequence-to-sequence model such as google/flan-t5-small for fusion, found "
                f"{loaded.name}, a {loaded.kind} model; leave the fusion out, or take another model"
            )
        super().__init__(loaded, answer_tokens=answer_tokens, batch_size=batch_size)

    @property
    def settings(self) -> dict[str, str]:
        """Further settings that the answers depend on."""
        return super().settings | {"fusion": "decoder"}

    def _answer(self, questions: Sequence[PassageQuestion]) -> Iterator[Answer]:
        for question in questions:
            texts = [fusion_input(question.question, passage) for passage in question.passages]
            rows = [self._loaded.tokenizer(text, verbose=False)["input_ids"] for text in texts]
            cut = any(len(row) > self._loaded.max_length for row in rows)
            yield Answer.to(question, self._generate(texts), read=len(texts), cut=cut)

    def _generate(self, texts: Sequence[str]) -> str:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        tokenizer = self._loaded.tokenizer
        features = tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self._loaded.max_length,
            return_tensors="pt",
        ).to(self._loaded.device)
        ids, mask = features["input_ids"], features["attention_mask"]
        encoder: Any = self._loaded.model.get_encoder()
        with torch.inference_mode():
            states = torch.cat(
                [
                    encoder(input_ids=batch, attention_mask=own).last_hidden_state
                    for batch, own in zip(
                        ids.split(self._batch_size), mask.split(self._batch_size), strict=True
                    )
                ]
            )
            out = self._loaded.generate(
                tokens=self._answer_tokens,
                encoder_outputs=BaseModelOutput(last_hidden_state=states.flatten(0, 1)[None]),
                attention_mask=mask.flatten()[None],
            )
        return str(tokenizer.batch_decode(out, skip_special_tokens=True)[0]).strip()
