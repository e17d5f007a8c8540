"""The grammar of existence claims, a line for each kind of question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the grammar.

    Attributes:
        name: What a `Claim` says fired.
        question: What it takes.
        claim: What it makes of it.
        example: A question that it takes.
    """

    name: str
    question: str
    claim: str
    example: str


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("when", "when CLAUSE", "a known time when CLAUSE", "When did Tesla die?"),
        Rule("where", "where CLAUSE", "a known place where CLAUSE", "Where was Tesla born?"),
        Rule("why", "why CLAUSE", "a known reason why CLAUSE", "Why did Tesla leave Graz?"),
        Rule("how", "how CLAUSE", "a known way in which CLAUSE", "How did Tesla get to Prague?"),
        Rule(
            "how many",
            "how many NOUN CLAUSE",
            "a known number of NOUN that CLAUSE",
            "How many cats live there?",
        ),
        Rule(
            "how much", "how much NOUN CLAUSE", "a known amount of NOUN that CLAUSE", "How much did it cost?"
        ),
        Rule(
            "how degree",
            "how long|old|far... CLAUSE",
            "a known measure of how long CLAUSE",
            "How long is it?",
        ),
        Rule("who", "who CLAUSE", "a known person who|whom CLAUSE", "Who wrote Hamlet?"),
        Rule(
            "whose", "whose NOUN CLAUSE", "a known person whose NOUN CLAUSE", "Whose book inspired the film?"
        ),
        Rule("what", "what CLAUSE", "a known thing that CLAUSE", "What caused the fire?"),
        Rule("what noun", "what NOUN CLAUSE", "a known NOUN that CLAUSE", "What company owns the mine?"),
        Rule("which", "which NOUN CLAUSE", "a known NOUN that CLAUSE", "Which team won?"),
        Rule(
            "preposition",
            "in what|which NOUN CLAUSE",
            "a known NOUN in which CLAUSE",
            "In what year did he die?",
        ),
        Rule(
            "in place", "STATEMENT with what NOUN", "a known NOUN that STATEMENT", "He was born in what year?"
        ),
        Rule(
            "open end",
            "STATEMENT that breaks off",
            "STATEMENT ... something known",
            "A decomposer is an organism that",
        ),
        Rule("whether", "is|does|can ... SUBJECT", "whether SUBJECT is|does|can ...", "Is the whale a fish?"),
        Rule("infinitive", "how|where|what to VERB", "a known way|place|thing to VERB", "How to boil an egg"),
        Rule("imperative", "name|list|give NOUN", "a known NOUN", "Name a city in France."),
        Rule("statement", "STATEMENT", "STATEMENT", "The whale is a mammal."),
        Rule("topic", "anything else", "something known about it", "cost of living in Paris"),
    )
}
"""Rule by name; "statement" and "topic" take what asks in no way that is known."""

FALLBACK = frozenset({"statement", "topic"})
"""Rules of what asks in no way that is known."""
