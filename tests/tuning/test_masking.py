"""Prompts of masked hypothesis prediction: what stands in them, what is masked, what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.tuning.examples import EntailedPair
from entail.tuning.masking import Prompts

UNK, CLS, SEP, MASK = 1, 2, 3, 4
BA, BE, BI, BO, BU = range(5, 10)

PAIR = EntailedPair("ba be bi", "bo bu")


@pytest.fixture(scope="session")
def tokenizer(tiny_models: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_models / "tiny")


def form(tokenizer: Any, max_length: int = 32) -> Prompts:
    return Prompts(tokenizer, max_length=max_length, name="tiny")


def test_prompts_by_hand(tokenizer: Any) -> None:
    prompts = form(tokenizer)
    first, second = prompts.of([PAIR, EntailedPair("ba", "bo")])
    assert first.ids.tolist() == [CLS, BA, BE, BI, UNK, UNK, BO, BU, SEP]
    rows = [prompts.mask(prompt, beta=1.0, draw=np.random.default_rng(0)) for prompt in (first, second)]
    ids, attended, masked, labels = prompts.pad(rows)
    assert ids.tolist() == [
        [CLS, BA, BE, BI, UNK, UNK, MASK, MASK, SEP],
        [CLS, BA, UNK, UNK, MASK, SEP, 0, 0, 0],  # padded behind
    ]
    assert attended.sum(axis=1).tolist() == [9, 6]
    assert [np.flatnonzero(row).tolist() for row in masked] == [[6, 7], [4]]
    assert labels.tolist() == [BO, BU, BO]


def test_beta_is_the_share_of_a_hypothesis_that_is_masked(tokenizer: Any) -> None:
    prompts, draw = form(tokenizer, 512), np.random.default_rng(0)
    (prompt,) = prompts.of([EntailedPair("ba " * 50, "be " * 400)])
    masked = prompts.mask(prompt, beta=0.8, draw=draw)
    assert masked.masked[: prompt.first].sum() == 0
    assert masked.masked[prompt.first : prompt.last].mean() == pytest.approx(0.8, abs=0.06)
    assert set(masked.ids[masked.masked]) == {MASK}


@pytest.mark.parametrize(
    ("max_length", "ids"),
    [(7, [CLS, BA, UNK, UNK, BO, BU, SEP]), (6, [CLS, UNK, UNK, BO, BU, SEP]), (5, None)],
)
def test_what_is_too_long_loses_the_end_of_the_premise(tokenizer: Any, max_length: int, ids: Any) -> None:
    prompts = form(tokenizer, max_length).of([PAIR])
    assert [(prompt.ids.tolist(), prompt.is_cut) for prompt in prompts] == ([(ids, True)] if ids else [])


def test_byte_pairs_keep_their_white_space() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<s>", "</s>", "<mask>", "<pad>"]
    bpe = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]  # the stub knows no setter
    bpe.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]  # likewise
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", letters.index("<s>")), ("</s>", letters.index("</s>"))],
    )
    roberta = PreTrainedTokenizerFast(
        tokenizer_object=bpe, mask_token="<mask>", sep_token="</s>", pad_token="<pad>", bos_token="<s>"
    )
    (prompt,) = form(roberta).of([EntailedPair("a", "bc")])
    tokens = [letters[token] for token in prompt.ids]
    assert "".join(tokens) == "<s>aĠentailsĠthatĠbc</s>"
    assert tokens[prompt.first : prompt.last] == ["Ġ", "b", "c"]
