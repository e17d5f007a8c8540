"""Coverage of a question by its claim."""

import pytest

from entail.claims import missing_words


@pytest.mark.parametrize(
    ("question", "claim", "missing"),
    [
        ("When did the ship sink?", "There exists a known time when the ship sank.", []),
        ("Who carries the letters?", "Somebody carried the letters.", []),
        ("Who won the cup twice?", "There exists a known person who won.", ["cup", "twice"]),
        ("How do bats fly?", "", ["bats", "fly"]),
        ("", "anything", []),
    ],
)
def test_words_without_any_form_in_the_claim_are_missing(
    question: str, claim: str, missing: list[str]
) -> None:
    assert missing_words(question, claim) == missing
