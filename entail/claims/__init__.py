"""Existence claims of questions, and statements of questions with their answers."""

from entail.claims.claims import Claim, existence_claim
from entail.claims.rules import FALLBACK, RULES, Rule
from entail.claims.statements import Statement, state_answer
from entail.claims.tokens import missing_words

__all__ = [
    "FALLBACK",
    "RULES",
    "Claim",
    "Rule",
    "Statement",
    "existence_claim",
    "missing_words",
    "state_answer",
]
