"""Questions that need more of the grammar than most: negated, joined, without a verb, all in capitals."""

from __future__ import annotations

import pytest

from entail.tuning.claims import claim
from entail.tuning.kept import lost

NEGATED = {
    "Which countries did not sign the treaty?": "There exist known countries that did not sign the treaty.",
    "Which country did not Hitler invade?": "There exists a known country that Hitler did not invade.",
    "What did not change?": "There exists a known thing that did not change.",
    "Who did not vote?": "There exists a known person who did not vote.",
    "Why did not Hitler invade Switzerland?": (
        "There exists a known reason why Hitler did not invade Switzerland."
    ),
    "Is not the sky blue?": "It is known whether the sky is not blue.",
    "Is not eating harmful?": "It is known whether not eating is harmful.",
    "Could not the engineers repair it?": "It is known whether the engineers could not repair it.",
    "What type of steam engine doesn't need valves to direct steam?": (
        "There exists a known type of steam engine that doesn't need valves to direct steam."
    ),
    "Why would a person chose civil disobedience against specific laws?": (
        "There exists a known reason why a person would chose civil disobedience against specific laws."
    ),
    "Has not the council voted?": "It is known whether the council has not voted.",
    "What analyst did not agree with the ruling of the incomplete pass?": (
        "There exists a known analyst that did not agree with the ruling of the incomplete pass."
    ),
}

UNMARKED = {  # nothing but its place says where the predicate begins, or how many there are
    "Should I water my cactus every day?": "It is known whether I should water my cactus every day.",
    "Can people chat here?": "It is known whether people can chat here.",
    "Were Ann Smith and Bo Lee of the same nationality?": (
        "It is known whether Ann Smith and Bo Lee were of the same nationality."
    ),
    "Are cats and dogs of the same family?": "It is known whether cats and dogs are of the same family.",
    "Was Einstein of Jewish descent?": "It is known whether Einstein was of Jewish descent.",
    "Is the king of France of noble birth?": "It is known whether the king of France is of noble birth.",
    "Is the capital of France Paris?": "It is known whether the capital of France is Paris.",
    "Are Oasis and Blur British rock bands?": "It is known whether Oasis and Blur are British rock bands.",
    "Are both Kings of Leon and Wilco American rock bands?": (
        "It is known whether both Kings of Leon and Wilco are American rock bands."
    ),
    "Are both Ann Lee and Bo Cox singers?": "It is known whether both Ann Lee and Bo Cox are singers.",
    "What all did Newton invent?": "There exists a known thing that is all that Newton invented.",
    "Which species do not migrate?": "There exist known species that do not migrate.",
    "Which species does not migrate?": "There exists a known species that does not migrate.",
    "Whose is this car?": "There exists a known person whose this car is.",
    "How many gods do the Hindu's have?": "There exists a known number of gods that the Hindu's have.",
}


BARE = {  # without a verb, or with words between the question word and its clause
    "Tell me about whales": "There exists something known about whales.",
    "Please tell me about the war.": "There exists something known about the war.",
    "How about the second act?": "There exists something known about the second act.",
    "About many students attend it?": "There exists something known about many students attend it.",
    "How exactly do magnets work?": "There exists a known way exactly in which magnets work.",
    "How widely is it spoken?": "There exists a known measure of how widely it is spoken.",
    "Why so serious?": "There exists a known reason to be so serious.",
    "Why not go?": "There exists a known reason not to go.",
    "Why the long face?": "There exists a known reason for the long face.",
    "Why me?": "There exists a known reason for me.",
    "Where from?": "There exists a known place from which it is.",
    "What next?": "There exists a known thing next.",
    "What besides gold was found?": "There exists a known thing besides gold that was found.",
    "What other than small commercial aircraft can land there?": (
        "There exists a known thing other than small commercial aircraft that can land there."
    ),
    "What if the dinosaurs had survived?": ("There exists a known outcome if the dinosaurs had survived."),
}

GAPS = {
    "Who do you think will win?": "There exists a known person who you think will win.",
    "Who do you think he met?": "There exists a known person whom you think he met.",
    "Who did Tesla think would run the world of the future?": (
        "There exists a known person who Tesla thought would run the world of the future."
    ),
    "Who did The Sun allege that he had met?": (
        "There exists a known person whom The Sun alleged that he had met."
    ),
    "Who are the Red Sox playing tonight?": (
        "There exists a known person whom the Red Sox are playing tonight."
    ),
    "Who is the man playing tonight?": "There exists a known person who is the man playing tonight.",
    "What is a popular use for LED lighting?": (
        "There exists a known thing that is a popular use for LED lighting."
    ),
    "What was the name of the character known as the Time Lady?": (
        "There exists a known thing that was the name of the character known as the Time Lady."
    ),
    "What is the school otherwise known as IIT?": (
        "There exists a known thing that is the school otherwise known as IIT."
    ),
}


@pytest.mark.parametrize(("question", "expected"), (BARE | GAPS).items())
def test_bare_questions_are_claims_and_what_is_asked_for_is_found(question: str, expected: str) -> None:
    found = claim(question)
    assert found.text == expected
    assert not lost(question, found.text)


JOINED = {
    "So what is a quark?": "So there exists a known thing that is a quark.",
    "But why did he leave?": "But there exists a known reason why he left.",
    "So, is the whale a fish?": "So, it is known whether the whale is a fish.",
    "He mostly sings in English, but what other language has he sung in?": (
        "He mostly sings in English, but there exists another known language that he has sung in."
    ),
    "Europe first colonized the Americas, then Asia, but what continent was third?": (
        "Europe first colonized the Americas, then Asia, but there exists a known continent that was third."
    ),
    "He was born in Graz, and when did he die?": (
        "He was born in Graz, and there exists a known time when he died."
    ),
    "When did she marry and how many children did she have?": (
        "There exists a known time when she married. There exists a known number of children that she had."
    ),
    "Who was born first and how many siblings did he have?": (
        "There exists a known person who was born first. There exists a known number of siblings that he had."
    ),
    "In what year did he die and in what town was he buried?": (
        "There exists a known year in which he died. There exists a known town in which he was buried."
    ),
    "Was he rich and how much did he own?": (
        "It is known whether he was rich. There exists a known amount that he owned."
    ),
    "What is the difference between what he said and what he did?": (
        "There exists a known thing that is the difference between what he said and what he did."
    ),
    "Which famous poet and which painter did he meet?": (
        "There exists a known famous poet and painter that he met."
    ),
    "In what year and in what month did he die?": "There exists a known year and month in which he died.",
}

SHOUTED = {
    "WHAT IS DNA": "There exists a known thing that is DNA.",
    "WHERE IS PARIS?": "There exists a known place where PARIS is.",
    "WHEN DID TESLA DIE?": "There exists a known time when TESLA died.",
    "IS THE WHALE A FISH?": "It is known whether the WHALE is a FISH.",
}


@pytest.mark.parametrize(("question", "expected"), (JOINED | SHOUTED).items())
def test_joined_questions_are_all_claimed_and_shouted_ones_have_grammar(question: str, expected: str) -> None:
    found = claim(question)
    assert found.text == expected
    assert not lost(question, found.text)


@pytest.mark.parametrize(("question", "expected"), (NEGATED | UNMARKED).items())
def test_not_stays_with_its_verb_and_a_predicate_is_found_where_it_has_no_mark(
    question: str, expected: str
) -> None:
    found = claim(question)
    assert found.text == expected
    assert not lost(question, found.text)
