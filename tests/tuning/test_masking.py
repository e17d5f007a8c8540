"""Prompts of masked hypothesis prediction: what stands in them, what is masked, what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.errors import TrainingError
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
    (found,) = prompts.of([pair])
    return found


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
    found = only(prompts)
    assert found.ids.tolist() == ids
    assert list(range(found.first, found.last)) == maskable
    masked = prompts.mask(found, beta=1.0, draw=np.random.default_rng(0))
    assert np.flatnonzero(masked.masked).tolist() == maskable
    assert masked.labels.tolist() == [ids[at] for at in maskable]
    if variant != "plain":
        assert masked.ids.tolist() == [MASK if at in maskable else one for at, one in enumerate(ids)]


@pytest.mark.parametrize(("variant", "beta"), [("hypothesis", 0.8), ("hypothesis", 0.2), ("full", 0.8)])
def test_so_many_are_masked_and_nothing_else_changes(tokenizer: Any, variant: Any, beta: float) -> None:
    prompts = form(tokenizer, variant)
    found = only(prompts)
    draw = np.random.default_rng(0)
    runs = [prompts.mask(found, beta=beta, draw=draw) for _ in range(1000)]
    share = np.mean([one.masked[found.first : found.last] for one in runs], axis=0)
    assert np.allclose(share, beta, atol=0.04)  # each by itself
    for one in runs:
        assert (one.ids[one.masked] == MASK).all()
        assert (one.ids[~one.masked] == found.ids[~one.masked]).all()
        if variant == "hypothesis":
            assert not one.masked[:6].any()


def test_the_control_arm_masks_as_bert_does(tokenizer: Any) -> None:
    prompts = form(tokenizer, "plain")
    found = only(prompts)
    draw = np.random.default_rng(0)
    shown: list[int] = []
    for _ in range(3000):
        one = prompts.mask(found, beta=0.15, draw=draw)
        at = np.flatnonzero(one.masked & (found.ids == BO))
        shown += one.ids[at].tolist()
    shares = np.bincount(shown, minlength=60) / len(shown)
    assert 350 < len(shown) < 550
    assert shares[MASK] == pytest.approx(0.8, abs=0.05)
    assert shares[BO] == pytest.approx(0.1, abs=0.05)
    assert shares[[0, CLS, SEP, UNK]].sum() == 0


def test_what_is_too_long_loses_the_end_of_the_premise(tokenizer: Any) -> None:
    found = only(form(tokenizer, max_length=7))
    assert found.ids.tolist() == [CLS, BA, UNK, UNK, BO, BU, SEP]
    assert found.dropped == 2
    found = only(form(tokenizer, max_length=6))
    assert found.ids.tolist() == [CLS, UNK, UNK, BO, BU, SEP]
    assert found.dropped == 3


def test_a_batch_is_padded_behind(tokenizer: Any) -> None:
    prompts = form(tokenizer)
    both = prompts.of([PAIR, EntailedPair("ba", "bo", "bo")])
    rows = [prompts.mask(one, beta=1.0, draw=np.random.default_rng(0)) for one in both]
    ids, attended, masked, labels = prompts.pad(rows)
    assert ids[1].tolist() == [CLS, BA, UNK, UNK, MASK, SEP, 0, 0, 0]
    assert attended[1].tolist() == [True] * 6 + [False] * 3
    assert masked.sum(axis=1).tolist() == [2, 1]
    assert labels.tolist() == [BO, BU, BO]


def test_frequencies_are_those_of_maskable_tokens(tokenizer: Any) -> None:
    prompts = form(tokenizer)
    shares = prompts.frequencies(prompts.of([PAIR, PAIR]))
    assert shares.sum() == pytest.approx(1)
    assert shares[BO] == shares[BU] == 3 * shares[BA]


def test_byte_pairs_keep_their_white_space() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<s>", "</s>", "<mask>", "<pad>"]
    told = Tokenizer(models.BPE(vocab={one: at for at, one in enumerate(letters)}, merges=[]))
    told.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]  # the stub knows no setter
    told.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]  # likewise
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", letters.index("<s>")), ("</s>", letters.index("</s>"))],
    )
    roberta = PreTrainedTokenizerFast(
        tokenizer_object=told, mask_token="<mask>", sep_token="</s>", pad_token="<pad>", bos_token="<s>"
    )
    prompts = form(roberta)
    found = only(prompts, EntailedPair("a", "bc", "bc"))
    tokens = [letters[one] for one in found.ids]
    assert "".join(tokens) == "<s>aĠentailsĠthatĠbc</s>"
    assert tokens[found.first : found.last] == ["Ġ", "b", "c"]


def test_a_base_without_a_mask_is_told_of(tokenizer: Any) -> None:
    class Slow:
        is_fast = False

    with pytest.raises(TrainingError, match=r"tiny: expected a base with a fast tokenizer .* such as minilm"):
        form(Slow())
