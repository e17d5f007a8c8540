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
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        rows, targets = [], []
        for at, passage in enumerate(encoding["overflow_to_sample_mapping"]):
            inputs = {
                key: torch.tensor([encoding[key][at]])
                for key in ("input_ids", "attention_mask", "token_type_ids")
            }
            with torch.no_grad():
                rows.append(model.bert(**inputs).last_hidden_state[0])
            parts = encoding.sequence_ids(at)
            for token, (begin, end) in enumerate(encoding["offset_mapping"][at]):
                text = passages[passage]
                word = text[:begin].count(" ") if parts[token] == 1 and end > begin else -1
                ends = [{(p, first) for p, first, _ in spans}, {(p, last) for p, _, last in spans}]
                targets.append([10.0 * ((passage, word) in end) for end in ends])
        states = torch.cat(rows)
        with torch.no_grad():
            model.qa_outputs.weight.copy_(torch.linalg.lstsq(states, torch.tensor(targets)).solution.T)
            model.qa_outputs.bias.zero_()
        folder = tiny_home / "reader"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return write


@pytest.fixture
def causal(tiny_home: Path, tokenizer: Any) -> Path:
    """A causal model, `writer`, under `models/`."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=160,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        initializer_range=0.5,
    )
    GPT2LMHeadModel(config).save_pretrained(tiny_home / "writer")
    tokenizer.model_max_length = 160
    tokenizer.save_pretrained(tiny_home / "writer")
    return tiny_home / "writer"


@pytest.fixture
def seq2seq(tiny_home: Path, tokenizer: Any) -> Path:
    """A sequence-to-sequence model, `rewriter`, under `models/`."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    model = T5ForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    model.save_pretrained(tiny_home / "rewriter")
    tokenizer.model_max_length = 160
    tokenizer.save_pretrained(tiny_home / "rewriter")
    return tiny_home / "rewriter"
