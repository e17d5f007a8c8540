"""Prompts of masked hypothesis prediction: what stands in them, what is masked, what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.tuning.examples import EntailedPair
from entail.tuning.masking import Prompt, Prompts

UNK, CLS, SEP, MASK = 1, 2, 3, 4
BA, BE, BI, BO, BU = range(5, 10)

PAIR = EntailedPair("ba be bi", "bo bu", "be bu")


@pytest.fixture(scope="session")
def tokenizer(tiny_models: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_models / "tiny")


def form(tokenizer: Any, variant: Any = "hypothesis", max_length: int = 32) -> Prompts:
    return Prompts(tokenizer, variant=variant, max_length=max_length, name="tiny")


def only(prompts: Prompts, pair: EntailedPair = PAIR) -> Prompt:
    (prompt,) = prompts.of([pair])
    return prompt


@pytest.mark.parametrize(
    ("variant", "ids", "maskable"),
    [
        ("hypothesis", [CLS, BA, BE, BI, UNK, UNK, BO, BU, SEP], [6, 7]),
        ("full", [CLS, BA, BE, BI, UNK, UNK, BO, BU, SEP], [1, 2, 3, 4, 5, 6, 7]),
        ("plain", [CLS, BA, BE, BI, UNK, UNK, BO, BU, SEP], [1, 2, 3, 4, 5, 6, 7]),
        ("question", [CLS, BA, BE, BI, SEP, BE, BU, SEP], [5, 6]),
    ],
)
def test_a_prompt_by_hand(tokenizer: Any, variant: Any, ids: list[int], maskable: list[int]) -> None:
    prompts = form(tokenizer, variant)
    prompt = only(prompts)
    assert prompt.ids.tolist() == ids
    assert list(range(prompt.first, prompt.last)) == maskable
    masked = prompts.mask(prompt, beta=1.0, draw=np.random.default_rng(0))
    assert np.flatnonzero(masked.masked).tolist() == maskable
    assert masked.labels.tolist() == [ids[at] for at in maskable]
    if variant != "plain":
        assert masked.ids.tolist() == [MASK if at in maskable else token for at, token in enumerate(ids)]


def test_the_control_arm_masks_as_bert_does(tokenizer: Any) -> None:
    prompts = form(tokenizer, "plain")
    prompt = only(prompts)
    draw = np.random.default_rng(0)
    tokens: list[int] = []
    for _ in range(3000):
        masked = prompts.mask(prompt, beta=0.15, draw=draw)
        at = np.flatnonzero(masked.masked & (prompt.ids == BO))
        tokens += masked.ids[at].tolist()
    shares = np.bincount(tokens, minlength=60) / len(tokens)
    assert 350 < len(tokens) < 550
    assert shares[MASK] == pytest.approx(0.8, abs=0.05)
    assert shares[BO] == pytest.approx(0.1, abs=0.05)
    assert shares[[0, CLS, SEP, UNK]].sum() == 0


def test_what_is_too_long_loses_the_end_of_the_premise(tokenizer: Any) -> None:
    prompt = only(form(tokenizer, max_length=7))
    assert prompt.ids.tolist() == [CLS, BA, UNK, UNK, BO, BU, SEP]
    assert prompt.dropped == 2
    prompt = only(form(tokenizer, max_length=6))
    assert prompt.ids.tolist() == [CLS, UNK, UNK, BO, BU, SEP]
    assert prompt.dropped == 3


def test_a_batch_is_padded_behind(tokenizer: Any) -> None:
    prompts = form(tokenizer)
    both = prompts.of([PAIR, EntailedPair("ba", "bo", "bo")])
    rows = [prompts.mask(prompt, beta=1.0, draw=np.random.default_rng(0)) for prompt in both]
    ids, attended, masked, labels = prompts.pad(rows)
    assert ids[1].tolist() == [CLS, BA, UNK, UNK, MASK, SEP, 0, 0, 0]
    assert attended[1].tolist() == [True] * 6 + [False] * 3
    assert masked.sum(axis=1).tolist() == [2, 1]
    assert labels.tolist() == [BO, BU, BO]


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
    prompts = form(roberta)
    prompt = only(prompts, EntailedPair("a", "bc", "bc"))
    tokens = [letters[token] for token in prompt.ids]
    assert "".join(tokens) == "<s>aĠentailsĠthatĠbc</s>"
    assert tokens[prompt.first : prompt.last] == ["Ġ", "b", "c"]
