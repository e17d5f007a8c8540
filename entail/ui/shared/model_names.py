"""Display names of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from entail.runtime.models import SHARED_WORDS

LABELS: Final[Mapping[str, str]] = {
    "minilm": "MiniLM (meaning)",
    "aeenc-minilm": "AE-Enc MiniLM (debiased)",
    "aeenc-dual-minilm": "AE-Enc dual MiniLM",
    "gausscse-minilm": "GaussCSE MiniLM (direction)",
    "arcf-minilm": "ARCF MiniLM (chains)",
    "dpr-minilm": "DPR MiniLM",
    "dpr-minilm-tuned": "DPR MiniLM tuned",
    "nli-minilm": "NLI MiniLM (judge)",
    "steps-minilm": "Check MiniLM (steps)",
    "reranker-minilm": "Re-ranker MiniLM",
    "reader-minilm": "Reader MiniLM (answers)",
    "tfidf": "TF-IDF (keywords)",
    "bm25": "BM25 (keywords)",
}
"""Display names of what ships, by name; in brackets an explanation for a list."""

_COMMIT = 40


def model_label(name: str) -> str:
    """Return the display name of a model or retriever; others keep the name of their folder or on the Hub.

    >>> model_label("minilm+bm25")
    'MiniLM (meaning) + keywords'
    >>> model_label("mine"), model_label("org/model@0123456789012345678901234567890123456789")
    ('mine', 'org/model@0123456')
    """
    if name.endswith(SHARED_WORDS):
        return f"{model_label(name.removesuffix(SHARED_WORDS))} + keywords"
    hub_id, _, commit = name.partition("@")
    if "/" in hub_id and len(commit) == _COMMIT:
        return f"{hub_id}@{commit[:7]}"
    return LABELS.get(name, name)


def model_name(name: str) -> str:
    """Return the display name without the explanation in brackets, for a sentence.

    >>> model_name("minilm+bm25")
    'MiniLM + keywords'
    """
    name_only = model_label(name.removesuffix(SHARED_WORDS)).partition(" (")[0]
    return f"{name_only} + keywords" if name.endswith(SHARED_WORDS) else name_only
