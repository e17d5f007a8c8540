"""Statements of questions with their answers, and words that a claim lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.claims import existence_claim, state_answer
from entail.claims.claims import MAX_ANSWER

STATEMENTS = [
    ("When did the tower fall?", "1704", "inserted", "The tower fell in 1704."),
    ("When was the treaty sealed?", "4 July 1776", "inserted", "The treaty was sealed on 4 July 1776."),
    ("When did the ice melt?", "9,000 years ago", "inserted", "The ice melted 9,000 years ago."),
    ("Where was the duke crowned?", "Trier", "inserted", "The duke was crowned in Trier."),
    ("Where did the refugees flee?", "Basel", "inserted", "The refugees fled to Basel."),
    ("Why did the mill close?", "a flood", "inserted", "The mill closed because of a flood."),
    ("Why did the mill close?", "it had no water", "inserted", "The mill closed because it had no water."),
    ("How do bats find moths?", "by echoes", "inserted", "Bats find moths by echoes."),
    ("How do bats find moths?", "listening", "inserted", "Bats find moths by listening."),
    ("How many moons does Mars have?", "two", "inserted", "Mars has two moons."),
    ("How many cats live there?", "12", "inserted", "12 cats live there."),
    ("How many people are there in it?", "300", "inserted", "There are 300 people in it."),
    ("How much did the horse cost?", "$40", "inserted", "The horse cost $40."),
    ("Who built the dam?", "beavers", "inserted", "Beavers built the dam."),
    ("Who did the crew rescue?", "a diver", "inserted", "The crew rescued a diver."),
    ("Who did he work for?", "a printer", "inserted", "He worked for a printer."),
    ("What causes the tides?", "the Sun and the Moon", "inserted", "The Sun and the Moon cause the tides."),
    ("What is the capital of Peru?", "Lima", "inserted", "The capital of Peru is Lima."),
    ("What is the river known for?", "its floods", "inserted", "The river is known for its floods."),
    ("What year did the inn open?", "1881", "inserted", "The inn opened in 1881."),
    ("What colour is the door?", "green", "inserted", "The door is green."),
    ("In what year did the inn open?", "1881", "inserted", "The inn opened in 1881."),
    ("To whom did the abbot write?", "the bishop", "inserted", "The abbot wrote to the bishop."),
    ("The inn opened in what year?", "1881", "inserted", "The inn opened in 1881."),
    ("In May, who won the cup?", "Ann", "inserted", "Ann won the cup in May."),
    ("Is the whale a fish?", "no", "inserted", "The whale is not a fish."),
    ("Did the dam hold?", "yes", "inserted", "The dam held."),
    ("Can penguins fly?", "No", "inserted", "Penguins cannot fly."),
    ("A compass needle points ____.", "north", "inserted", "A compass needle points north."),
    (
        "Jo drops a ball. What makes it fall?",
        "gravity",
        "inserted",
        "Jo drops a ball. Gravity makes it fall.",
    ),
    ("3) Can you tell me who built the dam?", "beavers", "inserted", "Beavers built the dam."),
    ("Q: When did the inn open? (2 marks)", "1881", "inserted", "The inn opened in 1881."),
    ("What melts? (A) ice (B) iron", "A", "inserted", "Ice melts."),
    ("What melts? (A) ice (B) iron", "(b)", "inserted", "Iron melts."),
    ("What firm owns the mine?", "K+S", "identified", "K+S is the firm that owns the mine."),
    (
        "Which countries border Portugal?",
        "Spain",
        "identified",
        "Spain is one of the countries that border Portugal.",
    ),
    (
        "How do bats find moths?",
        "sonar",
        "appended",
        "There exists a known way in which bats find moths: sonar.",
    ),
    ("When was it?", "rain", "appended", "There exists a known time when it was: rain."),
    ("Who won?", "", "claim", "There exists a known person who won."),
    ("Who won?", "Ann won.", "answer", "Ann won."),
    ("?", "It rained.", "answer", "It rained."),
]


@pytest.mark.parametrize(
    ("question", "answer", "how", "text"), STATEMENTS, ids=[f"{row[0]} {row[1]}" for row in STATEMENTS]
)
def test_questions_and_answers_become_statements(question: str, answer: str, how: str, text: str) -> None:
    statement = state_answer(question, answer)
    assert (statement.how, statement.text) == (how, text)
    assert (statement.question, statement.answer) == (question, answer)
    assert statement.rule == existence_claim(question).rule


def test_long_answers_follow_the_claim() -> None:
    answer = " ".join(["wood"] * (MAX_ANSWER + 1))
    statement = state_answer("What burns?", answer)
    assert statement.how == "appended"
    assert statement.text.endswith(f": {answer}.")
    text = "When did the army of " + "town " * 1_000 + "win?"
    assert existence_claim(text).fallback
    assert existence_claim(text).text.count("town") == 1_000


@given(
    st.lists(st.sampled_from([word for row in STATEMENTS for word in row[0].split()]), max_size=9),
    st.one_of(st.sampled_from([row[1] for row in STATEMENTS]), st.text(max_size=20)),
)
def test_any_question_and_answer_have_a_statement(words: list[str], answer: str) -> None:
    statement = state_answer(" ".join(words), answer)
    assert statement == state_answer(" ".join(words), answer)
    assert statement.text.strip()
    assert statement.how in {"inserted", "identified", "appended", "answer", "claim"}
    assert (statement.how == "claim") == (not any(character.isalnum() for character in answer))
