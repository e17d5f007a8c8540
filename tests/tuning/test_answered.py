"""Questions with their answers as statements: what a careful reader accepts, and what no statement may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.tuning.answered import MAX_ANSWER, statement
from entail.tuning.claims import claim
from entail.tuning.kept import lost

INSERTED = {
    ("When is it?", "May"): "It is in May.",
    ("The fox left the wood, what was it looking for?", "food"): (
        "The fox left the wood. It was looking for food."
    ),
    ("What were miners paid in the past?", "little"): "Miners were paid little in the past.",
    ("How many times was Bo hit in May?", "two"): "Bo was hit two times in May.",
    ("When did the Broncos first win the Super Bowl?", "1998"): (
        "The Broncos first won the Super Bowl in 1998."
    ),
    ("When was the treaty signed?", "July 4, 1776."): "The treaty was signed on July 4, 1776.",
    ("When did dinosaurs die out?", "about 66 million years ago"): (
        "Dinosaurs died out about 66 million years ago."
    ),
    ("When was the printing press invented?", "The 15th century"): (
        "The printing press was invented in the 15th century."
    ),
    ("Where was Tesla born?", "Smiljan"): "Tesla was born in Smiljan.",
    ("Where did he study?", "Graz University"): "He studied at Graz University.",
    ("Where did Napoleon flee?", "Paris"): "Napoleon fled to Paris.",
    ("Where does cotton come from?", "a plant"): "Cotton comes from a plant.",
    ("Why did Tesla leave Graz?", "He had no money"): "Tesla left Graz because he had no money.",
    ("Why do leaves fall in autumn?", "the cold"): "Leaves fall in autumn because of the cold.",
    ("Why do birds migrate?", "to find food"): "Birds migrate to find food.",
    ("How do plants make food?", "by photosynthesis"): "Plants make food by photosynthesis.",
    ("How does a whale breathe?", "coming to the surface"): "A whale breathes by coming to the surface.",
    ("How many moons does Mars have?", "two"): "Mars has two moons.",
    ("How many people are there in Paris?", "2.1 million"): "There are 2.1 million people in Paris.",
    ("How many cats live there?", "12"): "12 cats live there.",
    ("How much did it cost?", "$5"): "It cost $5.",
    ("How much water does a cow drink?", "100 litres"): "A cow drinks 100 litres of water.",
    ("How long is the river?", "300 km"): "The river is 300 km long.",
    ("How long did the war last?", "six years"): "The war lasted six years.",
    ("How old was Mozart when he died?", "35"): "Mozart was 35 years old when he died.",
    ("How far is Dover from Calais?", "33 km"): "Dover is 33 km from Calais.",
    ("How often does the comet return?", "every 76 years"): "The comet returns every 76 years.",
    ("Who wrote Hamlet?", "William Shakespeare"): "William Shakespeare wrote Hamlet.",
    ("Who did Brazil beat in the 1994 final?", "Italy"): "Brazil beat Italy in the 1994 final.",
    ("Who did he work for?", "Edison"): "He worked for Edison.",
    ("Whose book inspired the film?", "Stephen King"): "Stephen King's book inspired the film.",
    ("What causes the tides?", "the Sun and the Moon"): "The Sun and the Moon cause the tides.",
    ("What is the capital of France?", "Paris"): "The capital of France is Paris.",
    ("What is the river known for?", "its floods"): "The river is known for its floods.",
    ("What year did he die?", "1943"): "He died in 1943.",
    ("What colour is the car?", "Red"): "The car is Red.",
    ("Which countries border Portugal?", "Spain"): "Spain borders Portugal.",
    ("Which gas do plants take in?", "carbon dioxide"): "Plants take in carbon dioxide.",
    ("In what year did Tesla die?", "1943"): "Tesla died in 1943.",
    ("For how many years did he rule?", "12"): "He ruled for 12 years.",
    ("In 1998, who won the cup?", "France"): "France won the cup in 1998.",
    ("Tesla was born in what year?", "1856"): "Tesla was born in 1856.",
    ("Is the whale a fish?", "No."): "The whale is not a fish.",
    ("Can penguins fly?", "no"): "Penguins cannot fly.",
    ("Did Rome fall?", "Yes"): "Rome fell.",
    ("What was the exhibition called?", "Behind the Sofa"): "The exhibition was called Behind the Sofa.",
    ("What is the old school used as at present?", "a museum"): (
        "The old school is used as a museum at present."
    ),
    ("What is the process in which cells divide called?", "mitosis"): (
        "The process in which cells divide is called mitosis."
    ),
    ("Where did the uprisings take place?", "southern France"): (
        "The uprisings took place in southern France."
    ),
    ("By whom is the law applied by?", "the courts"): "The law is applied by the courts.",
}  # fmt: skip

IDENTIFIED = {
    ("What time is it in Ulm?", "Noon"): "Noon is the time that it is in Ulm.",
    ("What was Bell criticized for adding in May?", "a rule"): (
        "A rule is the thing that Bell was criticized for adding in May."
    ),
    ("What German company owns the mine?", "K+S"): "K+S is the German company that owns the mine.",
    ("What type of rock is granite?", "igneous rock"): (
        "Igneous rock is the type of rock that granite is."
    ),
    ("What did the inventor claim to be able to send?", "energy"): (
        "Energy is the thing that the inventor claimed to be able to send."
    ),
    ("How many suns does it have?", "one"): "One is the number of suns that it has.",
}  # fmt: skip

BESIDE = {
    ("the process by which bees make wax", "secretion"): (
        "There exists a known process by which bees make wax: secretion."
    ),
    ("How do plants make food?", "photosynthesis"): (
        "There exists a known way in which plants make food: photosynthesis."
    ),
    ("When is the shop open?", "rain"): "There exists a known time when the shop is open: rain.",
    ("Is a tomato a fruit or a vegetable?", "a fruit"): (
        "It is known whether a tomato is a fruit or a vegetable: a fruit."
    ),
    ("What happens to water when it freezes?", "it expands"): (
        "There exists a known thing that happens to water when it freezes: it expands."
    ),
    ("How many kinds of test are there?", "two main classes"): (
        "There exists a known number of kinds of test: two main classes."
    ),
    ("What happened to the mission?", "cancelled"): (
        "There exists a known thing that happened to the mission: cancelled."
    ),
    ("How else can water be cleaned?", "filters"): (
        "There exists another known way in which water can be cleaned: filters."
    ),
    ("They left for what reason?", "did not want to pay"): (
        "They left for a known reason: did not want to pay."
    ),
    ("What did the crew do at dawn?", "rowed home"): (
        "There exists a known thing that the crew did at dawn: rowed home."
    ),
    ("What must be done to make it lawful?", "it must be announced"): (
        "There exists a known thing that must be done to make it lawful: it must be announced."
    ),
    ("How many people died?", "half the town"): (
        "There exists a known number of people that died: half the town."
    ),
    ("The books are dated to which centuries?", "from the 12th to the 16th"): (
        "The books are dated to known centuries: from the 12th to the 16th."
    ),
    ("Who won? When did they win?", "France"): (
        "There exists a known person who won. There exists a known time when they won: France."
    ),
    ("How to boil an egg", "in hot water"): "There exists a known way to boil an egg: in hot water.",
    ("cost of living in Paris", "high"): (
        "There exists a known cost of living in Paris: high."
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("how", "asked", "wanted"),
    [
        (how, asked, wanted)
        for how, some in (("inserted", INSERTED), ("identified", IDENTIFIED), ("beside", BESIDE))
        for asked, wanted in some.items()
    ],
)
def test_question_and_answer_as_one_statement(how: str, asked: tuple[str, str], wanted: str) -> None:
    found = statement(*asked)
    assert (found.text, found.how) == (wanted, how)
    assert found.rule == claim(asked[0]).rule


def test_without_an_answer_it_is_the_claim_and_without_a_question_the_answer() -> None:
    assert statement("Who won?", " ?! ").text == claim("Who won?").text
    assert statement("Who won?", "").how == "claim"
    assert statement(" ", "ice is cold").text == "Ice is cold."
    told = statement("When did Tesla die?", "Tesla died in New York in 1943.")
    assert (told.text, told.how) == ("Tesla died in New York in 1943.", "answer")


def test_a_question_word_alone_behind_an_article_is_no_mishap() -> None:
    assert claim("the who").text == "A known person."


def test_a_long_answer_or_several_sentences_stand_behind_the_claim() -> None:
    for answer in ("ice " * (MAX_ANSWER + 1), "Ice melts. Then it flows.", "either: ice"):
        found = statement("What is cold?", answer)
        assert found.how == "beside"
        assert found.text.startswith("There exists a known thing that is cold: ")
    assert statement("why " * 500, "ice").how == "beside"


SOME = """who what which when where why how many much long is are did does can the a of in to for by whom
whose win won city Tesla river year 1994 and not there it blue , " ? Привет 水 <b>"""
WORDS = st.lists(st.sampled_from(SOME.split()), max_size=9).map(" ".join)


@given(WORDS, WORDS)
def test_nothing_is_asked_any_more_and_the_answer_is_there(question: str, answer: str) -> None:
    found = statement(question, answer)
    assert found.text.strip()
    assert found.text[-1] in '.!"”'
    if found.how != "claim":
        assert not lost(answer.replace("?", " "), found.text) or found.rule == "whether"


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_text_is_too_strange(question: str, answer: str) -> None:
    assert statement(question, answer).text.strip()


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        (
            "A girl drops a ball. Which force makes it fall?",
            "gravity",
            "A girl drops a ball. Gravity makes it fall.",
        ),
        ("A mirror is a thing that", "reflects light.", "A mirror is a thing that reflects light."),
        ("When it rains, the street is", "wet", "When it rains, the street is wet."),
        ("Heat is a form of ___.", "energy", "Heat is a form of energy."),
        ("The symbol for gold is?", "Au", "The symbol for gold is Au."),
        ("The colour of the sample", "could be red", "The colour of the sample could be red."),
        (
            "Which statement explains why ice floats?",
            "Ice is lighter than water.",
            "There exists a known statement that explains why ice floats: Ice is lighter than water.",
        ),
    ],
)
def test_statements_before_a_question_and_those_that_break_off(
    question: str, answer: str, wanted: str
) -> None:
    assert statement(question, answer).text == wanted


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        ("What makes it fall? (A) gravity (B) a rope", "A", "Gravity makes it fall."),
        ("What makes it fall? (A) gravity (B) a rope", "(B)", "A rope makes it fall."),
        ("What makes it fall? 1. gravity 2. a rope", "2", "A rope makes it fall."),
        ("What makes it fall? (A) gravity (B) a rope", "gravity", "Gravity makes it fall."),
        (
            "What makes it fall? (A) gravity (B) a rope",
            "",
            "There exists a known thing that makes it fall: gravity or a rope.",
        ),
    ],
)
def test_an_answer_to_a_multiple_choice_question_may_be_its_letter(
    question: str, answer: str, wanted: str
) -> None:
    found = statement(question, answer)
    assert (found.text, found.question, found.answer) == (wanted, question, answer)


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        ("Which came first, the hen or the egg?", "the egg", "The egg came first."),
        ("Who is older, Ann Lee or Bill Hay?", "Bill Hay", "Bill Hay is older."),
        ("Do you know what time the store closes?", "9 pm", "The store closes at 9 pm."),
        ("I wonder if cats dream?", "yes", "Cats dream."),
        ("What year was it when the ship sank?", "1912", "1912 is the year in which the ship sank."),
        (
            "What part of it makes insulin?",
            "the pancreas",
            "The pancreas is the part of it that makes insulin.",
        ),
        ("Besides Bonn, where did Ann work?", "Oslo", "Besides Bonn, Ann worked in Oslo."),
        ("Of the seven dwarfs, which one wears glasses?", "Doc", "Of the seven dwarfs, Doc wears glasses."),
        (
            "To what extent did it succeed?",
            "partly",
            "There exists a known extent to which it succeeded: partly.",
        ),
        ("What is the moth also called?", "owl", "The moth is also called owl."),
        ("What is the boat that serves it called?", "Ann", "The boat that serves it is called Ann."),
        ("Who wrote it?", "J. R. R. Hay", "J. R. R. Hay wrote it."),
        ("Who was in charge of it?", "Mayor W. Ann Burns", "Mayor W. Ann Burns was in charge of it."),
        ("Ann wrote how many plays?", "37", "Ann wrote 37 plays."),
        ("They lived there for how many years?", "thousands", "They lived there for thousands of years."),
        ("Leaving Bonn, where did Ann go?", "Oslo", "Ann went to Oslo, leaving Bonn."),
        ("Do fish sleep?", "not", "Fish do not sleep."),
        ("Why are flamingos pink?", "they eat shrimp", "Flamingos are pink because they eat shrimp."),
        ("Which way does the Nile flow?", "north", "The Nile flows north."),
        ("which is heavier gold or silver", "gold", "Gold is heavier."),
        ("what day does the feast fall on", "Thursday", "The feast falls on Thursday."),
        (
            "When is the best time to plant peas?",
            "late spring",
            "There exists a known time that is the best time to plant peas: late spring.",
        ),
        (
            "The film starred an actor, who won a prize in what year?",
            "1996",
            "The film starred an actor, who won a prize in 1996.",
        ),
    ],
)
def test_answers_to_questions_of_quizzes_and_forums(question: str, answer: str, wanted: str) -> None:
    found = statement(question, answer)
    assert (found.text, found.question, found.answer) == (wanted, question, answer)
