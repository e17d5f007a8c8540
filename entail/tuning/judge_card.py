"""The card of a judge of entailment: what it says beside what every cross-encoder's does."""

from __future__ import annotations

from pathlib import Path

from entail.cards.cross_encoder import CrossEncoderWords, cross_encoder_card, read_told


def judge_card(folder: Path, *, name: str, repo: str | None = None) -> str:
    """Return the card of a judge as Markdown, the same text for the same folder.

    Args:
        folder: Its own, with `entail.json`.
        name: What to call it.
        repo: Its Hub id; None for one that is only here.
    """
    told = read_told(folder)
    words = CrossEncoderWords(
        kind="judge",
        reads=[
            "it reads a premise and a hypothesis, and says how probable entailment, neutral and "
            "contradiction are. It makes no vectors of sentences.",
        ],
        use=f"entail evaluate judge --judge {name} --data PAIRS.jsonl",
        figures="On dev pairs, those among them that its weights were chosen on:",
        limits="It is small and learnt from captions and short texts in English. Passages of a hundred words "
        "are longer than most of what it learnt from, and its probabilities are not calibrated on them: "
        "compare them with each other, do not take them for the share of cases that are so.",
        pipeline="text-classification",
        tags=("natural-language-inference",),
    )
    return cross_encoder_card(told, words, name=name, repo=repo)
