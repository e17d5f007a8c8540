"""Readers and generators of a few thousand weights, over the words that `tiny` knows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Places = Sequence[tuple[int, int, int]]
"""Passage, first and last word of what a planted reader answers."""


@pytest.fixture
def tokenizer(tiny_home: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_home / "tiny")


@pytest.fixture
def planted(tiny_home: Path, write_bert: Callable[..., Path]) -> Callable[..., Path]:
    """Return what writes a reader that answers one question with given words of given passages."""

    def write(question: str, passages: Sequence[str], spans: Places) -> Path:
        import torch
        from transformers import AutoTokenizer, BertForQuestionAnswering

        base = write_bert(tiny_home / "reader-base", dimension=256)
        tokenizer = AutoTokenizer.from_pretrained(base)
        model = BertForQuestionAnswering.from_pretrained(base).eval()
        question_length = len(tokenizer(question, add_special_tokens=False)["input_ids"])
        encoding = tokenizer(
            [question] * len(passages),
            list(passages),
            truncation="only_second",
            max_length=32,
            stride=(32 - question_length - 3) // 2,
            padding=True,
            return_tensors="pt",
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        inputs = {key: encoding[key] for key in ("input_ids", "attention_mask", "token_type_ids")}
        tokens = inputs["attention_mask"].bool()
        starts, ends = ({(span[0], span[side]) for span in spans} for side in (1, 2))
        targets = torch.zeros(*tokens.shape, 2)
        for row, passage in enumerate(encoding["overflow_to_sample_mapping"].tolist()):
            for at, part in enumerate(encoding.sequence_ids(row)):
                if part == 1:
                    begin = int(encoding["offset_mapping"][row, at, 0])
                    word = passage, passages[passage][:begin].count(" ")
                    targets[row, at] = 10 * torch.tensor([word in starts, word in ends])
        with torch.no_grad():
            states = model.bert(**inputs).last_hidden_state[tokens]
            model.qa_outputs.weight.copy_(torch.linalg.lstsq(states, targets[tokens]).solution.T)
            model.qa_outputs.bias.zero_()
        folder = tiny_home / "reader"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return write


@pytest.fixture
def writers(tiny_home: Path, tokenizer: Any) -> Path:
    """`models/` with a causal model, `writer`, and one from sequence to sequence, `rewriter`."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    sizes: dict[str, Any] = {"vocab_size": len(tokenizer), "eos_token_id": tokenizer.sep_token_id}
    pad = {"decoder_start_token_id": tokenizer.pad_token_id, "pad_token_id": tokenizer.pad_token_id}
    causal = GPT2Config(n_positions=160, n_embd=16, n_layer=1, n_head=2, initializer_range=0.5, **sizes)
    causal.bos_token_id = tokenizer.cls_token_id
    seq2seq = T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, **sizes, **pad)
    tokenizer.model_max_length = 160
    torch.manual_seed(0)
    writer, rewriter = GPT2LMHeadModel(causal), T5ForConditionalGeneration(seq2seq)
    with torch.no_grad():
        for parameter in rewriter.parameters():
            parameter.mul_(3)
    for name, model in (("writer", writer), ("rewriter", rewriter)):
        model.save_pretrained(tiny_home / name)
        tokenizer.save_pretrained(tiny_home / name)
    return tiny_home
