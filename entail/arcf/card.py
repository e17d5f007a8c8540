"""The card of a scorer: what it says beside what every cross-encoder's does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from entail.cards.cross_encoder import CrossEncoderWords, cross_encoder_card, read_told
from entail.cards.markdown import code, escaped, table
from entail.cards.measured_chains import MeasuredChains, measured_chains

_SPLIT = (
    "To be fast it departs from the paper: question and facts never read the candidate, and the candidate "
    "reads itself alone in the lowest {alone} layers, so that both are computed once (after PreTTR, "
    "MacAvaney et al. 2020); its score is that of the mean of its last states."
)

_APART = (
    "To be fast it departs from the paper: question and facts never read the candidate. Candidates are "
    "vectors that the base makes of them, once; the adapter learnt where among them those lie that explain."
)

_SHARED = (
    "Its score counts the word pieces that prefix and candidate share, rare ones for more; what it learnt is "
    "what they do not say."
)
_POWER = (
    "Its score, and what is visible behind a question, count how often a fact stood in explanations of "
    "questions like the one asked (explanatory power, after Valentino et al. 2021). It keeps for that "
    "vectors of the questions that it learnt from, and which facts explained them; no text of a question. "
    "Facts in other words than theirs have none."
)

_SIMILAR = "Its score counts how like the question a fact is by its words (tf-idf of stems), at every step."

_ALONE = "scores each fact by itself, as if no other were chosen: the single-fact baseline of the paper"

_CHAINS = (
    "Of {rankings}, on {questions:,} questions of {source} that its weights were not chosen on{visible}: "
    "MAP {MAP:.3f}, by shared words alone (tf-idf) {tfidf:.3f}. Commit `{commit}`."
)


def scorer_card(folder: Path, *, name: str, repo: str | None = None) -> str:
    """Return the card of a scorer as Markdown, the same text for the same folder.

    Args:
        folder: Its own, with `entail.json`.
        name: What to call it.
        repo: Its Hub id; None for one that is only here.
    """
    told = read_told(folder)
    scorer = told.get("scorer") or {}
    alone = scorer.get("scheme") == "single-fact"
    chains = (told.get("figures") or {}).get("chains")
    how = f"--scorer {name}" + (" --method single-fact" if alone else "")
    words = CrossEncoderWords(
        kind="scorer",
        reads=[
            "it reads a question with its answer"
            + ("" if alone else ", the facts chosen so far,")
            + " and a candidate fact, and gives one score. It makes no vectors of sentences.",
            *([_SPLIT.format(alone=scorer.get("alone"))] if scorer.get("reading") == "split" else []),
            *([_APART] if scorer.get("reading") == "apart" else []),
            *([_SHARED] if scorer.get("shared_pieces") else []),
            *([_POWER] if scorer.get("encoder") else []),
            *([_SIMILAR] if scorer.get("similarity") else []),
        ],
        use=f"entail rank {how} --tables TABLES --question 'What melts?' --answer ice\n"
        f"entail evaluate chains {how} --tables TABLES --questions QUESTIONS.tsv",
        figures="Of single steps on the dev questions that its weights were chosen on:",
        limits="It learnt from elementary science in English, over one set of facts. A high score does not "
        "prove that a fact explains an answer; questions longer than it reads lose their beginning.",
        pipeline="text-ranking",
        tags=("explanation-regeneration",),
        measured=[
            *([_measured(chains, alone=alone)] if chains else []),
            *_measured_here(measured_chains(told, name=name)),
        ],
        idea=_ALONE if alone else "",
    )
    return cross_encoder_card(told, words, name=name, repo=repo)


def _measured_here(found: Sequence[MeasuredChains]) -> list[str]:
    """Return what `entail card --results` brought; nobody says of it what weights were chosen on."""
    if not found:
        return []
    head = ["measured on", "method", "facts", "MAP", "95 % interval", "commit"]
    rows = [
        [
            escaped(one.place),
            code(one.method),
            f"{one.facts:,}",
            f"{one.map:.3f}",
            "{:.3f} to {:.3f}".format(*one.interval),
            code(str(one.about.get("commit") or "unknown")),
        ]
        for one in found
    ]
    return ["Of rankings of all facts, as `entail evaluate chains` measured them:", table(head, rows)]


def _measured(chains: Mapping[str, Any], *, alone: bool) -> str:
    rankings = "rankings by single facts" if alone else "whole chains"
    visible = "" if alone else f", {chains['k']} facts visible"
    return _CHAINS.format(**chains, rankings=rankings, visible=visible)
