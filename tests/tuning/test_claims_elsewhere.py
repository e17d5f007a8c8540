"""Questions in the manner of other collections than SQuAD: their words, their marks, their slips."""

from __future__ import annotations

import pytest

from entail.tuning import lexicon
from entail.tuning.claims import claim
from entail.tuning.kept import lost


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What 's the town 's motto ?", "There exists a known thing that is the town's motto."),
        ("Who sang `` Blue Moon '' ?", 'There exists a known person who sang "Blue Moon".'),
        (
            "What does the name ` Ada ' mean ?",
            "There exists a known thing that the name 'Ada' means.",
        ),
        ("Why did n't she go ?", "There exists a known reason why she didn't go."),
        ("What are the actors ' names ?", "There exist known things that are the actors' names."),
        ("What is the full form of .org ?", "There exists a known thing that is the full form of .org."),
        (
            "Who let the dogs out... who knows?",
            "There exists a known person who let the dogs out... who knows.",
        ),
    ],
)
def test_text_in_tokens_of_the_penn_treebank_is_joined(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Name 5 rivers of Spain.", "There exist 5 known rivers of Spain."),
        ("Which 3 towns lie on it?", "There exist 3 known towns that lie on it."),
        ("What 2010 film did she make?", "There exists a known 2010 film that she made."),
        ("What Game 3 model did he like?", "There exists a known Game 3 model that he liked."),
        ("List proteins that bind iron?", "There exist known proteins that bind iron."),
        ("List the genes coding for it?", "There exist known genes coding for it."),
    ],
)
def test_numbers_and_lists(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("difference between tea and coffee", "There exists a known difference between tea and coffee."),
        ("cost of building a shed", "There exists a known cost of building a shed."),
        ("side effects of aspirin", "There exist known side effects of aspirin."),
        ("photosynthesis define", "There exists a known definition of photosynthesis."),
        ("Applying for a loan", "There exists something known about applying for a loan."),
        ("the process by which bees make wax", "There exists a known process by which bees make wax."),
        ("Bees are", "Bees are something known."),
        ("German name for cat?", "There exists a known German name for cat."),
        ("Some farmers oppose it?", "It is known whether some farmers oppose it."),
        ("Hard alloys produce the effect of?", "Hard alloys produce the effect of something known."),
        ("Bell trained who in Boston?", "Bell trained a known person in Boston."),
        ("The band played two shows where in July?", "The band played two shows at a known place in July."),
    ],
)
def test_topics_are_named(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "my cat keeps sneezing what should i do",
            "My cat keeps sneezing. There exists a known thing that i should do.",
        ),
        (
            "my phone got wet can i use rice",
            "My phone got wet. It is known whether i can use rice.",
        ),
        (
            "The fox ran into the wood, what was it looking for?",
            "The fox ran into the wood. There exists a known thing that it was looking for.",
        ),
        (
            "There is a league that the team plays in, what is it?",
            "There is a league that the team plays in. There exists a known thing that it is.",
        ),
        (
            "He sat under a tree, where was the man?",
            "He sat under a tree. There exists a known place where the man was.",
        ),
        (
            "What are the rules for cars, how do they differ in Wales?",
            "There exist known things that are the rules for cars."
            " There exists a known way in which they differ in Wales.",
        ),
        (
            "The cup is full. Once it is empty, what does Ann do?",
            "The cup is full. There exists a known thing that Ann does once it is empty.",
        ),
        ("If it rains, what should I do?", "There exists a known thing that I should do if it rains."),
        ("He did what he could do?", "He did something known he could do."),
        (
            "Star signs: I am a Leo. What does that say about me?",
            "Star signs: I am a Leo. There exists a known thing that that says about me.",
        ),
        (
            "Bed rest in the first week of flu: is it safe?",
            "Bed rest in the first week of flu: it is known whether it is safe.",
        ),
    ],
)
def test_a_question_runs_on_from_what_is_told(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Is it gold or should I sell it?", "It is known whether it is gold or whether I should sell it."),
        (
            "Do they vary, or are they the same?",
            "It is known whether they vary, or whether they are the same.",
        ),
        ("Are Ann and Bo both Opera singers?", "It is known whether Ann and Bo are both Opera singers."),
        ("are hamsters good pets for children", "It is known whether hamsters are good pets for children."),
        ("Could a llama birth twice?", "It is known whether a llama could birth twice."),
        (
            "Can new rules increase phone use?",
            "It is known whether new rules can increase phone use.",
        ),
        (
            "Can insects like ants feel pain?",
            "It is known whether insects like ants can feel pain.",
        ),
    ],
)
def test_what_asks_for_yes_or_no(question: str, wanted: str) -> None:
    assert claim(question).text == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("what year ada lovelace came to town", "a known year in which ada lovelace came to town."),
        ("what year group is the oldest", "a known year group that is the oldest."),
        ("Who had a No 1 hit with Bo?", "a known person who had a No 1 hit with Bo."),
        ("Which poet with a medal co-wrote a film?", "a known poet with a medal that co-wrote a film."),
        ("What was the king said to be?", "a known thing that the king was said to be."),
        ("What were miners paid in the past?", "a known thing that miners were paid in the past."),
        ("What are the prizes given in Rome?", "known things that are the prizes given in Rome."),
        ("What title was the old king granted?", "a known title that the old king was granted."),
        ("What island country is tea popular?", "a known island country in which tea is popular."),
        ("what it means to be free", "a known thing that it means to be free."),
        ("What seldom changes?", "a known thing that seldom changes."),
        ("What lines the hull of ships?", "a known thing that lines the hull of ships."),
        ("What impacts trade in wool?", "a known thing that impacts trade in wool."),
        ("What sports program began it?", "a known sports program that began it."),
        ("What take place in July?", "a known thing that take place in July."),
        ("Which group own the mill?", "a known group that own the mill."),
        ("What road parallels the canal?", "a known road that parallels the canal."),
        ("How many species currently live on it?", "a known number of species that currently live on it."),
        ("Which of these dissolve in water?", "a known one of these that dissolve in water."),
        ("A pupil's tests in what grade matter to him?", "A pupil's tests in a known grade matter to him."),
        ("What was Ulm renamed?", "a known thing that Ulm was renamed."),
        ("What was Bell criticized for adding in May?", "that Bell was criticized for adding in May."),
        ("What is Bell's thought about it?", "a known thing that is Bell's thought about it."),
        ("Which item is NOT made of wood?", "a known item that is NOT made of wood."),
        ("How many miles is Ulm from Bonn?", "a known number of miles that Ulm is from Bonn."),
        ("What do the Hindu's want?", "a known thing that the Hindu's want."),
        ("Who's car did they drive?", "a known person whose car they drove."),
        ("what hit song did ann sing?", "a known hit song that ann sang."),
        ("What singer did a duet with Bo?", "a known singer that did a duet with Bo."),
        ("How long did the outbreak last?", "a known measure of how long the outbreak lasted."),
        ("What exactly does he want?", "There exists, exactly, a known thing that he wants."),
        ("What specifically does he want?", "a known thing that he wants specifically."),
        ("He met a man who fought?", "It is known whether he met a man who fought."),
        ("Exactly who were the heirs?", "There exist, exactly, known people who were the heirs."),
        ("What 'D' is the capital of Senegal?", "a known 'D' that is the capital of Senegal."),
        ("About which king did she write?", "a known king about which she wrote."),
        ("About what year did it end?", "There exists a known year in which it ended."),
        ("What links Rome, a game and a boot?", "a known thing that links Rome, a game and a boot."),
        ('"Which play has a part called ""Launce""?"', 'a known play that has a part called "Launce".'),
        ("which town was founded first ulm or bonn", "town that was founded first: ulm or bonn."),
        ("How many times bigger is a hen than an egg?", "many times bigger a hen is than an egg."),
        ("The show had how many fewer fans?", "The show had a known number of fewer fans."),
        ("What evidence is there that birds fly?", "There exists known evidence that birds fly."),
        ("What reason did he give for leaving?", "a known reason that he gave for leaving."),
        ("What degree did she earn in May?", "a known degree that she earned in May."),
        ("What year did he give up?", "a known year in which he gave up."),
        ("What distance is the moon from us?", "a known distance that the moon is from us."),
        ("What on the list was sold?", "a known thing on the list that was sold."),
        ("When did it change racial rules for the form?", "when it changed racial rules for the form."),
        ("What act forbade misbranded drugs?", "a known act that forbade misbranded drugs."),
        ("What is Ulm a full member of?", "a known thing that Ulm is a full member of."),
        ("Name another town they saw.", "There exists another known town they saw."),
        ("Who is suing whom?", "a known person who is suing a known person."),
        ("Who said what?", "a known person who said something known."),
        ("what came first the hen or the egg", "a known thing that came first: the hen or the egg."),
        ("Why does my dog eat grass and then sleep?", "why my dog eats grass and then sleeps."),
        ("It lay in the back of his what?", "in the back of his known thing."),
        (
            "How many more people lived in Ulm than in Bonn?",
            "a known measure of how many more people lived in Ulm than in Bonn.",
        ),
        (
            "How many years after the deal was signed did the war start?",
            "a known number of years after the deal was signed that the war started.",
        ),
        (
            "What is the song of the school whose hall is in Ulm and whose pool is in Bonn?",
            "the song of the school whose hall is in Ulm and whose pool is in Bonn.",
        ),
    ],
)
def test_clauses_in_other_manners(question: str, wanted: str) -> None:
    assert claim(question).text.endswith(wanted)


def test_a_verb_that_no_list_knows_may_double_its_last_letter() -> None:
    assert lexicon.verb_share("zim") == 0
    assert lost("when did it zim", "when it zimmed") == []
    assert claim("When did the baker zim the bread?").text == (
        "There exists a known time when the baker zimmed the bread."
    )


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Hi, what is a quark?", "There exists a known thing that is a quark."),
        ("Hello! Where can I buy stamps?", "There exists a known place where I can buy stamps."),
        ("Thanks in advance, how do I knit?", "There exists a known way in which I knit."),
        ("Any idea where I can park?", "There exists a known place where I can park."),
        ("Who the heck wrote it?", "There exists a known person who wrote it."),
        ("What on earth is a quark?", "There exists a known thing that is a quark."),
        ("What on Earth is blue?", "There exists a known thing on Earth that is blue."),
        ("Where in the world is Ulm?", "There exists a known place in the world where Ulm is."),
        ("What is rust? Explain.", "There exists a known thing that is rust."),
        ("State Ohm's law.", "There exists a known Ohm's law."),
        ("what not to eat in winter", "There exists a known thing not to eat in winter."),
        ("what size is a king bed", "There exists a known size that a king bed is."),
        ("What time is it in Ulm?", "There exists a known time that it is in Ulm."),
        ("meaning of the name ada", "There exists a known meaning of the name ada."),
        (
            "what is the capital and how many people live there",
            "There exists a known thing that is the capital."
            " There exists a known number of people that live there.",
        ),
    ],
)
def test_greetings_and_what_only_makes_a_question_stronger_go(question: str, wanted: str) -> None:
    assert claim(question).text == wanted
