"""Questions as existence claims: what a careful reader accepts, and what no claim may be."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.tuning import lexicon
from entail.tuning.answered import statement
from entail.tuning.claims import Claim, claim
from entail.tuning.rules import FALLBACK, RULES

GOLDEN = [
    json.loads(line)
    for line in Path(__file__).with_name("squad_claims.jsonl").read_text(encoding="utf-8").splitlines()
]

LOWER_CASE = {
    "when did the us enter world war 1": "There exists a known time when the us entered world war 1.",
    "when does dragon ball super episode 113 air": (
        "There exists a known time when dragon ball super episode 113 airs."
    ),
    "when is the last time the philadelphia won the superbowl": (
        "There exists a known time that is the last time the philadelphia won the superbowl."
    ),
    "when is the last day of school": "There exists a known time when the last day of school is.",
    "when did the dust bowl begin and end": ("There exists a known time when the dust bowl began and ended."),
    "where was the first mcdonald's built": (
        "There exists a known place where the first mcdonald's was built."
    ),
    "where in the bible is the story of noah": (
        "There exists a known place in the bible where the story of noah is."
    ),
    "why is the sky blue": "There exists a known reason why the sky is blue.",
    "how come the sky is blue": "There exists a known reason why the sky is blue.",
    "how does a refrigerator work": "There exists a known way in which a refrigerator works.",
    "how many cracker barrels in the united states": (
        "There exists a known number of cracker barrels in the united states."
    ),
    "how many square miles is rhode island": (
        "There exists a known number of square miles that rhode island is."
    ),
    "how much is a ticket to disneyland": ("There exists a known amount that a ticket to disneyland is."),
    "how old do you have to be to drive in new zealand": (
        "There exists a known measure of how old you have to be to drive in new zealand."
    ),
    "who plays the mom on modern family": ("There exists a known person who plays the mom on modern family."),
    "who did the cowboys play on thanksgiving in 2016": (
        "There exists a known person whom the cowboys played on thanksgiving in 2016."
    ),
    "who did the voice of shrek": "There exists a known person who did the voice of shrek.",
    "who is the book of james written to": (
        "There exists a known person whom the book of james is written to."
    ),
    "whose face is on the twenty dollar bill": (
        "There exists a known person whose face is on the twenty dollar bill."
    ),
    "what do the 3 stripes on the adidas logo mean": (
        "There exists a known thing that the 3 stripes on the adidas logo mean."
    ),
    "what is a group of lions called": ("There exists a known thing that a group of lions is called."),
    "what is the name of the dog on full house": (
        "There exists a known thing that is the name of the dog on full house."
    ),
    "what is the house of representatives responsible for": (
        "There exists a known thing that the house of representatives is responsible for."
    ),
    "what year did the berlin wall come down": (
        "There exists a known year in which the berlin wall came down."
    ),
    "what year the titanic sank": "There exists a known year in which the titanic sank.",
    "what kind of whale was moby dick": "There exists a known kind of whale that moby dick was.",
    "which of the following is a function of the skeletal system": (
        "There exists a known one of the following that is a function of the skeletal system."
    ),
    "in the big bang theory who does penny marry": (
        "There exists a known person whom penny marries in the big bang theory."
    ),
    "on what channel is the big bang theory": (
        "There exists a known channel on which the big bang theory is."
    ),
    "the great depression in the united states started when": (
        "The great depression in the united states started at a known time."
    ),
    "the lungs are located in which body cavity": "The lungs are located in a known body cavity.",
    "an example of a pure substance is": "An example of a pure substance is something known.",
    "are cats mammals": "It is known whether cats are mammals.",
    "has the us ever lost a war": "It is known whether the us has ever lost a war.",
    "can you get pregnant while breastfeeding": (
        "It is known whether you can get pregnant while breastfeeding."
    ),
    "when did the titanic sink and where": (
        "There exists a known time when the titanic sank at a known place."
    ),
    "what is obamacare and how does it work": (
        "There exists a known thing that is obamacare. There exists a known way in which it works."
    ),
    "who was the french leader the us negotiated with in order to purchase louisiana": (
        "There exists a known person who was the french leader the us negotiated with in order to purchase "
        "louisiana."
    ),
    "how long before a baby can sit up": (
        "There exists a known measure of how long before a baby can sit up."
    ),
    "how long after surgery can you drive": (
        "There exists a known measure of how long after surgery you can drive."
    ),
    "what is google worth": "There exists a known thing that google is worth.",
    "the day the music died lyrics meaning": (
        "There exists something known about the day the music died lyrics meaning."
    ),
    "name the three branches of government": "There exist three known branches of government.",
    "tell me who wrote hamlet": "There exists a known person who wrote hamlet.",
    "how to make bread without yeast": "There exists a known way to make bread without yeast.",
    "population of india in 2011": "There exists a known population of india in 2011.",
    "whos hosting the super bowl": "There exists a known person who is hosting the super bowl.",
}

_QUESTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        what which who whom whose when where whence why how is are was were am do does did has have had
        can could will would shall should may might must many much a an the of there other else it that
        one to name me tell give list not about come and know for in
        """,
    )
)


def _words(text: str) -> list[str]:
    found = (re.sub(r"^\W+|\W+$", "", part) for part in re.split(r"[\s,?]+", text.lower()))
    return [stripped for part in found if (stripped := re.sub(r"['\u2019](?:s|re|d|ll)$", "", part))]


def _forms(word: str) -> set[str]:
    """Return a word and what it may be a form of."""
    bases = {lexicon.base_of_past(word), lexicon.base_of_participle(word)} - {None}
    return (
        {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
        | {str(base) for base in bases}
        | {f"{base}e" for base in bases}
    )


def _lost(question: str, said: str) -> list[str]:
    kept = set().union(*(_forms(word) for word in _words(said)))
    asked = [word for word in _words(question) if word not in _QUESTION_WORDS and not word.startswith("_")]
    return [word for word in asked if not _forms(word) & kept]


def _check(found: Claim) -> None:
    assert found.rule in RULES
    assert "?" not in found.text
    assert "\uff1f" not in found.text
    assert not re.match(r"(?i)(what|which|who|when|where|why|how|is|are|did|does|do|can)\b", found.text)
    assert "answer to" not in found.text
    assert found.text.strip()


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["question"][:60])
def test_real_questions_become_claims_that_a_reader_accepted(row: dict[str, str]) -> None:
    found = claim(row["question"])
    assert (found.text, found.rule) == (row["claim"], row["rule"])
    assert not _lost(row["question"], found.text)
    if found.rule != "statement":
        _check(found)


def test_the_golden_questions_are_many_and_of_every_kind() -> None:
    kinds = Counter(row["rule"] for row in GOLDEN)
    assert len(GOLDEN) >= 150
    assert set(RULES) - set(kinds) <= {"infinitive", "topic"}
    assert max(kinds.values()) <= 40


@pytest.mark.parametrize(("question", "expected"), LOWER_CASE.items())
def test_questions_as_people_type_them(question: str, expected: str) -> None:
    found = claim(question)
    assert found.text == expected
    _check(found)
    assert not _lost(question, found.text)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_each_line_of_the_grammar_takes_its_own_example(rule: object) -> None:
    name, example = rule.name, rule.example  # type: ignore[attr-defined]  # ids= wants the bare object
    found = claim(example)
    assert found.rule == name
    assert found.fallback == (name in FALLBACK)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Rome win?", "There exists a known time when Rome won."),
        ("What does she carry?", "There exists a known thing that she carries."),
        ("When did the bus stop?", "There exists a known time when the bus stopped."),
        ("Why did he not go?", "There exists a known reason why he did not go."),
        ("Why didn't he go?", "There exists a known reason why he didn't go."),
        ("When did the crew tango?", "There exists a known time when the crew tangoed."),
        ("How many cats does it have?", "There exists a known number of cats that it has."),
        ("When do birds fly?", "There exists a known time when birds fly."),
        ("Where did Philip I convene it?", "There exists a known place where Philip I convened it."),
    ],
)
def test_the_verb_takes_the_tense_of_did_and_does(question: str, expected: str) -> None:
    assert claim(question).text == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "???",
        "?",
        "\u2026",
        "谁写了红楼梦\uff1f",
        "¿Quién escribió Don Quijote?",
        "متى ولد نيوتن؟",
        "who",
        "Is",
        "did",
    ],
)
def test_what_is_hardly_a_question_is_still_a_claim(question: str) -> None:
    found = claim(question)
    assert "?" not in found.text
    assert "\uff1f" not in found.text
    assert "؟" not in found.text
    assert found.text.endswith(".")


def test_five_hundred_words_are_taken_whole() -> None:
    tail = " ".join(f"town{number}" for number in range(500))
    found = claim(f"When did the army of {tail} win the battle?")
    assert found.rule == "when"
    assert found.text.endswith("town499 won the battle.")


@pytest.mark.parametrize(
    "word",
    [
        "also",
        "what",
        "and",
        "is",
        "did",
        "when and",
        "that",
        '"',
        "(",
        "the",
        "x?",
        "please",
        "why:",
        "say if",
    ],
)
def test_a_word_said_thousands_of_times_is_taken(word: str) -> None:
    for many, start in ((250, "what is "), (580, "when did the "), (5_000, "")):
        assert claim(start + f"{word} " * many).text


_VOCABULARY = sorted(
    {word for row in GOLDEN for word in row["question"].split()}
    | {
        "what",
        "Who",
        "how",
        "many",
        "did",
        "is",
        "which",
        "and",
        "in",
        "of",
        "the",
        '"',
        "(",
        "?",
        ",",
        "whose",
    }
)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(_VOCABULARY), max_size=14).map(" ".join))
def test_no_order_of_words_crashes_or_loses_a_word(question: str) -> None:
    found = claim(question)
    assert "?" not in found.text
    assert found.rule in RULES
    assert not _lost(re.sub(r"\bwhos?\b|\bhats\b", " ", question), found.text)


_GRAMMAR = [
    "Ice",
    "Used",
    "to",
    "most",
    "likely",
    "it",
    "that",
    "because",
    "its",
    "a",
    "dry",
    "(A)",
    "(B)",
    "___",
    ";",
    "melts",
    "When",
    "if",
    "which",
    "of",
    "these",
    "water.",
    "is",
    "can",
    "by",
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_GRAMMAR), max_size=8).map(" ".join), st.sampled_from(["", "A", "It melts."]))
def test_no_text_that_breaks_off_anywhere_crashes(text: str, answer: str) -> None:
    assert claim(text).text.strip()
    assert statement(text, answer).text.strip()


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=80))
def test_no_text_crashes(text: str) -> None:
    found = claim(text)
    assert found.question == text
    assert "?" not in found.text
    assert found.text.strip()


def test_several_questions_make_several_claims() -> None:
    found = claim("Who won? When did they win?")
    assert found.text == "There exists a known person who won. There exists a known time when they won."
    assert found.rule == "when"


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "A student drops a ball. Which force makes it fall?",
            "A student drops a ball. There exists a known force that makes it fall.",
        ),
        (
            "Jo has a dog. It is big. Where does it sleep?",
            "Jo has a dog. It is big. There exists a known place where it sleeps.",
        ),
        (
            "When the tea boils, steam rises. What is steam made of?",
            "When the tea boils, steam rises. There exists a known thing that steam is made of.",
        ),
        (
            "Some birds cannot fly. Is a penguin one of them?",
            "Some birds cannot fly. It is known whether a penguin is one of them.",
        ),
        (
            "A cart rolls down a hill; what kind of energy does it gain?",
            "A cart rolls down a hill. There exists a known kind of energy that it gains.",
        ),
        (
            "Deer live in the wood. If it burns, which animals will leave?",
            "Deer live in the wood. There exist known animals that will leave if it burns.",
        ),
        (
            "Mr. Smith lives in St. Louis. Where does he work?",
            "Mr. Smith lives in St. Louis. There exists a known place where he works.",
        ),
        (
            "A cup broke. Explain why it broke.",
            "A cup broke. There exists a known reason why it broke.",
        ),
    ],
)
def test_what_a_question_is_asked_about_stands_before_its_claim(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("A mirror is a thing that", "A mirror is a thing that does something known."),
        ("When it rains, the street", "When it rains, the street does something known."),
        ("If a lake freezes, its fish will most likely", "{} do something known."),
        ("A candle burns because the wick", "{} does something known."),
        ("The colour of a leaf depends on its", "{} known property."),
        ("Salt water is most likely", "{} something known."),
        ("To build a nest, a bird needs to find", "{} something known."),
        ("Snow melts in spring. This is because", "{} of something known."),
        ("Heat is converted to", "{} something known."),
        ("A lens is used to", "{} do something known."),
        ("Used to most", "{} do something known."),
        ("Rain is a sign that", "{} something known is so."),
        ("As the sun sets,", "{} something known happens."),
    ],
)
def test_a_statement_that_breaks_off_goes_on_with_something_known(question: str, wanted: str) -> None:
    found = claim(question)
    assert found.text == wanted.format(question)
    assert found.rule == "open end"


@pytest.mark.parametrize(
    "text",
    ["The Lord of the Rings", "Real name of the girl next door", "A river runs through it.", "Name it"],
)
def test_what_is_whole_or_only_a_topic_is_not_gone_on_with(text: str) -> None:
    assert "does something known" not in claim(text).text
    assert claim(text).rule != "open end"


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Which of these keeps a house warm?", "one of these that keeps a house warm."),
        (
            "Which of the following explains how a kite flies?",
            "the following that explains how a kite flies.",
        ),
        ("Which of the following causes of war was first?", "the following causes of war that was first."),
        ("Which plant would most likely survive?", "plant that would most likely survive."),
        ("Which of these activities wastes water?", "one of these activities that wastes water."),
        ("Which object refracts light?", "a known object that refracts light."),
        ("What most likely causes rust?", "a known thing that most likely causes rust."),
        ("Which tool are the girls using?", "a known tool that the girls are using."),
        ("What results in rust?", "a known thing that results in rust."),
        ("What are they?", "a known thing that they are."),
        ("What melts?", "a known thing that melts."),
        ("Who sang it and who wrote it?", "who sang it. There exists a known person who wrote it."),
        ("When it rains, dust turns into what?", "When it rains, dust turns into something known."),
    ],
)
def test_verbs_behind_these_and_adverbs_keep_their_place(question: str, wanted: str) -> None:
    assert claim(question).text.endswith(wanted)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "What makes it fall? (A) gravity (B) a rope",
            "There exists a known thing that makes it fall: gravity or a rope.",
        ),
        (
            "A ball falls. Why? (1) It is heavy. (2) It is red. (3) It is old.",
            "A ball falls. There exists a known reason: It is heavy, It is red or It is old.",
        ),
        ("Which plan (A) did they follow?", "There exists a known plan (A) that they followed."),
        ("Who knew B. Smith?", "There exists a known person who knew B. Smith."),
    ],
)
def test_answers_to_choose_from_stand_behind_the_claim(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "Which came first, the hen or the egg?",
            "There exists a known thing that came first: the hen or the egg.",
        ),
        (
            "Which band was founded first, Reed, a trio that Ann Lee led, or The Larks?",
            "There exists a known band that was founded first: Reed, a trio that Ann Lee led, or The Larks.",
        ),
        (
            "Who would teach from a work like the Quran, Torah or Bible?",
            "There exists a known person who would teach from a work like the Quran, Torah or Bible.",
        ),
        (
            "Is the Red Lake Clinic or the Hill Street Hospital the largest one in Ohio?",
            "It is known whether the Red Lake Clinic or the Hill Street Hospital is the largest one in Ohio.",
        ),
        ("is wales part of england", "It is known whether wales is part of england."),
        (
            "Why are bees an important part of farms?",
            "There exists a known reason why bees are an important part of farms.",
        ),
        ("How is Ann Lee better known?", "There exists a known way in which Ann Lee is better known."),
        ("Would you rather fly or swim?", "It is known whether you would rather fly or swim."),
        ("How come cats purr?", "There exists a known reason why cats purr."),
        ("How is it that birds can fly?", "There exists a known way in which birds can fly."),
        ("Why Python?", "There exists a known reason for Python."),
        ("ELI5: Why does bread get hard?", "ELI5: there exists a known reason why bread gets hard."),
        ("Can you tell me where the mill is?", "There exists a known place where the mill is."),
        ("Do you know what time the store closes?", "There exists a known time at which the store closes."),
        ("Do you know the muffin man?", "It is known whether you know the muffin man."),
        ("I wonder if cats dream?", "It is known whether cats dream."),
        ("Could you explain photosynthesis?", "There exists a known explanation of photosynthesis."),
        ("Compare mitosis and meiosis.", "There exists a known comparison of mitosis and meiosis."),
        ("Who besides Ann walked home?", "There exists a known person besides Ann who walked home."),
        ("Who is she?", "There exists a known person that she is."),
        ("Who's been elected?", "There exists a known person who has been elected."),
        ("What else?", "There exists another known thing."),
        ("What have been the effects of it?", "There exist known things that have been the effects of it."),
        ("What day does the feast fall on?", "There exists a known day that the feast falls on."),
        ("What year was it when the ship sank?", "There exists a known year in which the ship sank."),
        (
            "When is the best time to plant peas?",
            "There exists a known time that is the best time to plant peas.",
        ),
        ("Which star did Ann replaced?", "There exists a known star that Ann replaced."),
        (
            "How much faster is light than sound?",
            "There exists a known measure of how much faster light is than sound.",
        ),
        (
            "Why are some rocks smoother than others?",
            "There exists a known reason why some rocks are smoother than others.",
        ),
        (
            "Why is the sky blue but space black?",
            "There exists a known reason why the sky is blue but space black.",
        ),
        ("What animal always has a tail?", "There exists a known animal that always has a tail."),
        (
            "Ann wrote a song about Sam, who Bill named after who?",
            "Ann wrote a song about Sam, who Bill named after a known person.",
        ),
        (
            "The film starred an actor, who won a prize in what year?",
            "The film starred an actor, who won a prize in a known year.",
        ),
        (
            "Born in 1809, which poet was shot?",
            "There exists a known poet that was shot, born in 1809.",
        ),
        (
            "Ice is cold. Compared to ice, which thing is warmer?",
            "Ice is cold. Compared to ice, there exists a known thing that is warmer.",
        ),
    ],
)
def test_questions_of_quizzes_forums_and_search_boxes(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


def test_a_comparison_that_is_no_question_of_choice_keeps_its_comma() -> None:
    said = claim("Which of these decides whether an egg becomes a toad, a snake, or a lizard?").text
    assert said.endswith("a toad, a snake, or a lizard.")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("When was the list made available to all?", "a known time when the list was made available to all."),
        ("What was the law intended to prevent?", "a known thing that the law was intended to prevent."),
        (
            "What is the plan designed to cut by half?",
            "a known thing that the plan is designed to cut by half.",
        ),
        ("What is the tool used to cut wood?", "a known thing that is the tool used to cut wood."),
        (
            "What hall of Yale, listed as old, holds a record?",
            "a known hall of Yale, listed as old, that holds a record.",
        ),
        ("What school founded in 1794 first used it?", "a known school founded in 1794 that first used it."),
        ("What treaty was signed in 1919?", "a known treaty that was signed in 1919."),
        ("What methods used by them made it hard?", "known methods used by them that made it hard."),
        ("What states that energy spreads?", "a known thing that states that energy spreads."),
        ("What aids in finding them?", "a known thing that aids in finding them."),
        ("What often blankets the bay?", "a known thing that often blankets the bay."),
        (
            "What edition was the book in by the time he died?",
            "edition that the book was in by the time he died.",
        ),
        ("When it rains what is wet?", "a known thing that is wet when it rains."),
        ("Who said what is said today?", "a known person who said what is said today."),
        ("Gold was won from ores by using?", "Gold was won from ores by using something known."),
        ("They fought in both England and?", "They fought in both England and something known."),
        ("Which poet who had it is here?", "a known poet who had it that is here."),
        ("Which season of Doctor Who won it?", "a known season of Doctor Who that won it."),
        ("What plant makes seeds that fly?", "a known plant that makes seeds that fly."),
        ("What is the boat that serves it called?", "a known thing that the boat that serves it is called."),
        (
            "What is the name that it is also called?",
            "a known thing that is the name that it is also called.",
        ),
        ("What effect would this have on it?", "a known effect that this would have on it."),
        ("During what war Did they get it?", "a known war during which they got it."),
        ("When was Doctor Who first shown?", "a known time when Doctor Who was first shown."),
        ("How tall was Ann, in feet?", "a known measure of how tall Ann was, in feet."),
        (
            "How many miles, once done, will it cover?",
            "a known number of miles, once done, that it will cover.",
        ),
        ("What unit got the .40 pistol?", "a known unit that got the .40 pistol."),
        ("How is it almost always begun?", "a known way in which it is almost always begun."),
        ("Prior to what year was the house built?", "a known year prior to which the house was built."),
        (
            "Tin makes two; what's the other one?",
            "Tin makes two. There exists a known thing that is the other one.",
        ),
        ("Artists from what decade did not sell?", "Artists from a known decade did not sell."),
    ],
)
def test_clauses_whose_verb_does_not_stand_out(question: str, wanted: str) -> None:
    assert claim(question).text.endswith(wanted)
