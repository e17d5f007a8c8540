"""Questions with their passages, claims and negatives, and the prompts of claims."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.nli.pairs import NliPair
from entail.data.passages.files import Question
from entail.errors import EvaluationError
from entail.evaluation.passages import retrieval
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.tuning.examples import (
    EntailedPair,
    answer_position,
    entailed_pairs,
    examples_of,
    excerpt,
    with_missing_negatives,
)
from entail.tuning.masking import Prompts

POOL = (
    "p0\tIce melts at 0 degrees and water freezes there\n"
    "p1\tWater freezes where the melting ice of a lake is cold\n"
    "p2\tIce melts in 10 minutes when it is warm\n"
    "p3\tRome won the war\n"
    "p4\tIce melts   at 0 degrees and water freezes there\n"
)
ASKED = Question("a", "At how many degrees does ice melt?", ("0",), ("p0", "p9"), ("p3",))


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    (tmp_path / "pool.tsv").write_text(POOL, encoding="utf-8")
    return store_passages([tmp_path / "pool.tsv"], tmp_path / "kept")


def test_gold_passages_are_looked_up_and_their_absence_is_counted(store: PassageStore) -> None:
    examples = examples_of(store, [ASKED, Question("b", "What else?", (), ("p8",))])
    assert [example.gold for example in examples.examples] == [(0,)]
    assert examples.examples[0].negatives == (3,)
    counts = {"questions": 1, "questions_without_gold": 1, "passages": 5, "hard_negatives": 1}
    assert examples.to_json() == counts


def test_bm25_serves_questions_without_negatives_and_what_holds_the_answer_is_none(
    store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = replace(ASKED, id="b", hard_negatives=())
    before = examples_of(store, [ASKED, alone, replace(ASKED, id="c")])
    after = with_missing_negatives(before, depth=5)
    first, second, third = after.examples
    assert (first.negatives, third.negatives) == ((3,), (3,))
    assert set(second.negatives) == {1, 2}  # p4 says the same as p0; p1 and p2 only look alike
    itself = replace(alone, text="Ice melts in 10 minutes when it is warm")  # as in Quora, p2 is the question
    assert 2 not in with_missing_negatives(examples_of(store, [itself]), depth=5).examples[0].negatives
    assert after.digest != before.digest
    monkeypatch.setattr(retrieval, "MOST_BM25", 3)
    assert with_missing_negatives(before, depth=0) == before
    assert with_missing_negatives(after, depth=5) == after  # nothing is searched
    with pytest.raises(EvaluationError):
        with_missing_negatives(before, depth=5)


def test_a_claim_stands_beside_its_passage_and_false_pairs_are_left_out(store: PassageStore) -> None:
    nli = [
        NliPair("It rains.", "It is wet.", "entailment"),
        NliPair("It rains. ", "It is  wet.", "entailment"),
        NliPair("It rains.", "It is dry.", "contradiction"),
        NliPair("It rains.", " ", "entailment"),
    ]
    pairs = entailed_pairs(examples_of(store, [ASKED]), nli, words=4)
    assert [pair.premise for pair in pairs] == ["melts at 0 degrees", "It rains."]
    assert pairs[1].hypothesis == "It is wet."
    assert pairs[0].hypothesis.startswith("There exists a known number of degrees")
    assert "?" not in pairs[0].hypothesis


def test_where_a_passage_is_cut_does_not_tell_whether_it_is_gold() -> None:
    draw = np.random.default_rng(0)
    begins: dict[str, list[bool]] = {"gold": [], "negative": []}
    for gold_length, other_length in draw.integers(20, 300, size=(2000, 2)).tolist():
        gold, other = ([f"w{i}" for i in range(length)] for length in (gold_length, other_length))
        gold[int(draw.integers(gold_length))] = "answer"
        text = " ".join(gold)
        cut = excerpt(text, words=50, answers=["Answer"])
        assert "answer" in cut.split()
        begins["gold"].append(cut.split()[0] != gold[0])
        share = answer_position(text, ["Answer"])
        begins["negative"].append(excerpt(" ".join(other), words=50, share=share).split()[0] != other[0])
    shares = [float(np.mean(flags)) for flags in begins.values()]
    assert shares[0] > 0.5
    assert shares[0] == pytest.approx(shares[1], abs=0.03)


@given(st.lists(st.sampled_from(["a", "b", "Cc", "d-e"]), min_size=1, max_size=30), st.integers(1, 12))
def test_an_excerpt_is_a_part_that_holds_the_answer(words: list[str], count: int) -> None:
    text, answer = " ".join(words), words[-1]
    part = excerpt(text, words=count, answers=["nowhere", answer.lower()])
    assert len(part.split()) == min(count, len(words))
    assert f" {part} " in f" {text} "
    assert answer.lower() in part.lower()


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
    # Beta is the share of a hypothesis that is masked.
    prompts = form(tokenizer, 512)
    (prompt,) = prompts.of([EntailedPair("ba " * 50, "be " * 400)])
    row = prompts.mask(prompt, beta=0.8, draw=np.random.default_rng(0))
    assert row.masked[: prompt.first].sum() == 0
    assert row.masked[prompt.first : prompt.last].mean() == pytest.approx(0.8, abs=0.06)
    assert set(row.ids[row.masked]) == {MASK}


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
