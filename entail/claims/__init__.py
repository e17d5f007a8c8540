"""Existence claims of questions, and statements of questions with their answers."""

from entail.claims.claims import Claim, Statement, existence_claim, state_answer
from entail.claims.rules import FALLBACK, RULES
from entail.claims.tags import missing_words

__all__ = ["FALLBACK", "RULES", "Claim", "Statement", "existence_claim", "missing_words", "state_answer"]
