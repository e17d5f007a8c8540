"""Text of a scorer's model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from entail.training.card_text import CrossEncoderText

_APART = (
    "Unlike in the paper, question and facts never attend to the candidate. The base encodes candidates "
    "once, as vectors; the adapter learned where among them the explaining facts lie."
)
_SHARED_PIECES = (
    "The score counts word pieces that prefix and candidate share, rare ones for more; the trained part adds "
    "what they do not cover."
)
_POWER = (
    "The score, and the selection of visible facts, count how often a fact stood in explanations of similar "
    "questions (explanatory power, after Valentino et al. 2021). For this the folder holds vectors of the "
    "training questions and the facts that explained them, but no text of a question. Facts worded "
    "differently have no explanatory power."
)
_SIMILARITY = "The score counts the word similarity of question and fact (tf-idf of stems) at every step."
_SINGLE_FACT = "scores each fact by itself, as if no other were chosen: the single-fact baseline of the paper"


def scorer_text(record: Mapping[str, Any], name: str) -> CrossEncoderText:
    """Return the text of a scorer's card.

    Args:
        record: Its `entail.json`.
        name: Its name.
    """
    scorer = record.get("scorer") or {}
    is_single = scorer.get("scheme") == "single-fact"
    chains = (record.get("figures") or {}).get("chains")
    options = f"--scorer {name}" + (" --method single-fact" if is_single else "")
    return CrossEncoderText(
        kind="scorer",
        description=list(_description(scorer, is_single=is_single)),
        usage=f"entail rank {options} --tables TABLES --question 'What melts?' --answer ice\n"
        f"entail evaluate chains {options} --tables TABLES --questions QUESTIONS.tsv",
        dev_caption="Single steps on the dev questions that the checkpoint was selected on:",
        limitations="It was trained on elementary science in English, over one set of facts. A high score "
        "does not prove that a fact explains an answer. Long questions lose their beginning.",
        pipeline_tag="text-ranking",
        tags=("explanation-regeneration",),
        evaluation=[_evaluation(chains, is_single=is_single)] if chains else [],
        idea=_SINGLE_FACT if is_single else "",
    )


def _description(scorer: Mapping[str, Any], *, is_single: bool) -> Iterator[str]:
    prefix = "" if is_single else ", the facts chosen so far"
    yield (
        f"It reads a question with its answer{prefix} and a candidate fact, and returns one score. It makes "
        "no sentence vectors."
    )
    if scorer.get("reading") == "apart":
        yield _APART
    for option, text in (("shared_pieces", _SHARED_PIECES), ("encoder", _POWER), ("similarity", _SIMILARITY)):
        if scorer.get(option):
            yield text


def _evaluation(chains: Mapping[str, Any], *, is_single: bool) -> str:
    rankings = "Rankings by single facts" if is_single else "Whole chains"
    visible = "" if is_single else f", {chains['k']} facts visible"
    return (
        f"{rankings} on {chains['questions']:,} questions of {chains['source']}, none of them used to select "
        f"the checkpoint{visible}: MAP {chains['MAP']:.3f}, by shared words alone (tf-idf) "
        f"{chains['tfidf']:.3f}. Commit `{chains['commit']}`."
    )
