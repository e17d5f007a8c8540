"""Passages read one by one and fused in the decoder, against a plain loop over the same weights."""

from pathlib import Path
from typing import Any

import pytest

from entail.answering.answers import load_answerer
from entail.answering.fusion import FusionGenerator, fusion_input
from entail.answering.records import PassageQuestion
from entail.data.passages.files import Passage
from entail.errors import SettingsError

PASSAGES = (Passage("p0", "ba be bi", "bo"), Passage("p1", "bu na ne ni no nu"), Passage("p2", "ba " * 300))


def by_hand(model: Any, tokenizer: Any, texts: list[str], count: int) -> str:
    """Encode each text alone, without padding, and decode greedily over all states."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    rows = [tokenizer(text, truncation=True, max_length=160, return_tensors="pt") for text in texts]
    with torch.no_grad():
        states = torch.cat([model.encoder(**row).last_hidden_state[0] for row in rows])[None]
        new = [model.config.decoder_start_token_id]
        while len(new) <= count and new[-1] != model.config.eos_token_id:
            fused = BaseModelOutput(last_hidden_state=states)
            out = model(encoder_outputs=fused, decoder_input_ids=torch.tensor([new]))
            new.append(int(out.logits[0, -1].argmax()))
    return str(tokenizer.decode(new, skip_special_tokens=True)).strip()


def test_the_decoder_sees_every_passage(seq2seq: Path, tokenizer: Any) -> None:
    import torch
    from transformers import T5ForConditionalGeneration

    model = T5ForConditionalGeneration.from_pretrained(seq2seq).eval()
    with torch.no_grad():  # so that what is read decides what is written
        attention = model.decoder.block[0].layer[1].EncDecAttention
        attention.q.weight.mul_(30)
        attention.o.weight.mul_(30)
    model.save_pretrained(seq2seq)
    fused = load_answerer("rewriter", answer_tokens=6, fusion=True, batch_size=2)
    assert isinstance(fused, FusionGenerator)
    parts = (PASSAGES[:1], PASSAGES[1:2], PASSAGES[:2], PASSAGES)
    questions = [PassageQuestion(str(n), "na ne", passages) for n, passages in enumerate(parts)]
    answers = list(fused.answer([*questions, PassageQuestion("none", "na", ())]))
    for question, answer in zip(questions, answers, strict=False):
        texts = [fusion_input(question.question, passage) for passage in question.passages]
        assert answer.text == by_hand(model, tokenizer, texts, 6)
    assert [answer.read for answer in answers] == [1, 1, 2, 3, 0]
    assert [answer.cut for answer in answers] == [False, False, False, True, False]
    assert len({answer.text for answer in answers[:4]}) > 1
    assert fused.settings["fusion"] == "decoder"


def test_fusion_needs_an_encoder(causal: Path) -> None:
    with pytest.raises(SettingsError, match="sequence-to-sequence"):
        load_answerer("writer", fusion=True)
