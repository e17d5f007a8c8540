"""The Claims page: a question, its claim, what is found for either; trees from questions."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.answering.spans import TextSpan
from entail.claims import RULES, state_answer
from entail.data.records import Corpus
from entail.errors import EncoderError, EvaluationError
from entail.evaluation.passages import pool as claims_pool
from entail.evaluation.passages.pool import EXAMPLES, PassageLists, PassageScore, read_pool, search_wordings
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import top_k
from entail.ui.claims.passages import overview
from entail.ui.shared.resources import Workspace
from tests.ui.conftest import html, named, opened, own_trees, said, settled

STAR = '<span title="reference passage">★</span> '
PASSAGES = [
    "Tesla was born in Smiljan in 1856.",
    "A person who was born where a known place exists.",
    "Graz is a city in Austria where Tesla studied.",
    "<script>alert(1)</script> Tesla liked **pigeons** in New York.",
    "Nothing of this speaks of inventors at all.",
]


def on_claims(app: AppTest, **address: str) -> AppTest:
    return opened(app, "Claims", **address)


def tables(app: AppTest) -> list[str]:
    """Return the four lists as HTML."""
    return html(app, 'class="ranked"')


def typed(app: AppTest, question: str) -> AppTest:
    return settled(app.text_area(key="claims_question").set_value(question).run())


def claim_field(app: AppTest) -> Any:
    return named(app.text_area, "Claim")


def passages(table: str) -> list[str]:
    return [part.split("</td>")[0].removeprefix(STAR) for part in table.split("</td><td>")[1:]]


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a judge and a reader, whatever is packaged."""
    monkeypatch.setattr("entail.ui.claims.fields.list_judges", list)
    monkeypatch.setattr("entail.ui.claims.fields.list_readers", list)


@pytest.fixture
def five(shared: Workspace) -> dict[str, str]:
    """Return the address of five passages, searched by shared words."""
    info = shared.corpora.add_corpus(Corpus.of("five", PASSAGES), author="Ada")
    return {"over": f"corpus-{info.id}", "left": "tfidf", "right": "bm25"}


def test_the_first_visit_asks_an_example(app: AppTest) -> None:
    app = on_claims(app, left="tfidf", right="bm25")
    assert app.text_area(key="claims_question").value == EXAMPLES[0].question
    assert app.text_input(key="claims_answer").value == EXAMPLES[0].answer
    assert "There exists a known person who discovered the theory of gravity" in claim_field(app).value
    assert "No NLI cross-encoder yet" in said(app)
    assert len(tables(app)) == 4
    assert all('class="gold"' in table for table in tables(app))
    # A filled-in answer leaves with its question, a typed one stays.
    app = typed(app, "Who wrote Faust?")
    assert app.text_input(key="claims_answer").value == ""
    assert "**With the answer:**" not in said(app)
    app = settled(app.text_input(key="claims_answer").set_value("Goethe").run())
    app = typed(app, "Who wrote Faust then?")
    assert app.text_input(key="claims_answer").value == "Goethe"
    app = settled(app.selectbox(key="claims_pick").set_value(EXAMPLES[1].question).run())
    assert app.text_input(key="claims_answer").value == EXAMPLES[1].answer
    assert typed(app, "Why?").text_input(key="claims_answer").value == ""


def test_a_question_becomes_a_claim_to_edit_and_both_are_searched(app: AppTest, five: dict[str, str]) -> None:
    existence = "There exists a known place where Tesla was born."
    app = on_claims(app, question="Where was Tesla born?", **five)
    assert RULES["where"] in said(app)
    assert claim_field(app).value == existence
    question_left, claim_left, question_right, _ = tables(app)
    assert "<mark>exists</mark>" not in question_left
    assert "<mark>exists</mark>" in claim_left
    assert passages(question_left)[0].startswith("<mark>Tesla</mark> was <mark>born</mark>")
    assert "<script>" not in question_right
    assert "Nothing of this speaks" not in "".join(tables(app)), "it shares no word"
    assert app.query_params["question"] == "Where was Tesla born?"
    assert "claim" not in app.query_params
    app = settled(claim_field(app).set_value("Inventors like pigeons.").run())
    assert "· edited" in said(app)
    assert "<mark>pigeons</mark>" in tables(app)[1]
    assert app.query_params["claim"] == "Inventors like pigeons."
    app = typed(app, "Who studied in Graz?")
    assert "· edited" not in said(app)
    app = typed(app, "Where was Tesla born?")
    assert claim_field(app).value == "Inventors like pigeons."
    app = settled(app.button(key="claims_back").click().run())
    assert claim_field(app).value == existence
    app = settled(claim_field(app).set_value(" ").run())
    assert "The claim is empty" in said(app)
    assert not tables(app)
    assert not tables(typed(app, "  "))
    app = on_claims(app, question="Why?", claim="Tesla liked pigeons.", **five)
    assert claim_field(app).value == "Tesla liked pigeons.", "from the link"


class Fake:
    """A judge that finds an entailment where Smiljan is, and keeps what it judged."""

    judged: ClassVar[list[str]] = []

    def __init__(self, name: str) -> None:
        if name == "gone":
            raise EncoderError("gone is not here")

    def entailment(self, premises: Any, hypotheses: Any, *, progress: Any = None) -> Any:
        self.judged.extend(set(hypotheses))
        return np.array([0.9 if "Smiljan" in premise else 0.004 for premise in premises])


class FakeReader:
    """A reader that marks the third word of a passage, best where Smiljan is."""

    def read(self, questions: Any) -> Any:
        return [
            [TextSpan(text.split()[2], 0, float("Smiljan" in text)) for text in passages]
            for _, passages in questions
        ]


def test_each_list_has_the_answer_of_the_reader(
    app: AppTest, five: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.ui.claims.fields.list_readers", lambda: ["mine"])
    monkeypatch.setattr("entail.runtime.models.read_reader", lambda name: FakeReader())
    app = on_claims(app, question="Where was Tesla born?", **five)
    assert app.selectbox(key="claims_reader").value == "mine"
    answers = list(app.table[0].value["answer"])
    assert len(answers) == 4
    assert answers[0] == "born (passage 1)"
    app = settled(app.selectbox(key="claims_reader").set_value("nobody").run())
    assert not app.table or "answer" not in app.table[0].value


def test_passages_are_judged(app: AppTest, five: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.ui.claims.fields.list_judges", lambda: ["nli-fake", "gone"])
    monkeypatch.setattr("entail.runtime.models.NliJudge", Fake)
    app = on_claims(app, question="Where was Tesla born?", **five)
    assert app.selectbox(key="claims_by").value == "nli-fake"
    first = passages(tables(app)[0])
    assert "nli-fake: entails (90%)" in first[0]
    assert "does not entail (over 99%)" in first[1]
    figures = app.table[0].value
    assert next(iter(figures["entail, by nli-fake"])).startswith("1 of ")
    answered = state_answer("Where was Tesla born?", "Smiljan").text
    app = settled(app.text_input(key="claims_answer").set_value("Smiljan").run())
    assert Fake.judged == ["There exists a known place where Tesla was born.", answered]
    app = settled(app.selectbox(key="claims_by").set_value("gone").run())
    assert "gone is not here" in said(app)
    assert len(tables(app)) == 4
    app = settled(app.selectbox(key="claims_by").set_value("nobody").run())
    assert "entails" not in "".join(tables(app))
    assert app.query_params["by"] == "nobody"


def test_a_file_brings_passages_and_questions_with_gold(app: AppTest, tmp_path: Path) -> None:
    rows = [
        ("Tesla was born in Smiljan.", "Where was Tesla born?", "Smiljan"),
        ("<p>Graz is a <b>city</b>.</p>", "What is Graz?", "a city"),
        ("", "Why?", ""),
    ]
    paragraphs = [
        {"context": context, "qas": [{"id": question, "question": question, "answers": [{"text": answer}]}]}
        for context, question, answer in rows
    ]
    folder = tmp_path / "data" / "passage-files"
    folder.mkdir()
    content = json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]})
    (folder / "small.json").write_text(content, encoding="utf-8")
    app = on_claims(app, over="file-small.json", left="tfidf", right="bm25")
    assert "small.json: 2 passages · 2 questions with reference passages" in said(app)
    app = settled(app.selectbox(key="claims_pick").set_value("Where was Tesla born?").run())
    assert app.text_input(key="claims_answer").value == "Smiljan"
    assert "**With the answer:** Tesla was born in Smiljan." in said(app)
    assert app.table[0].value["answer at"].tolist() == ["1"] * 4
    (folder / "small.json").write_text('[{"question": "Who?", "positive_ctxs": [{"te', encoding="utf-8")
    app = settled(app.run())
    assert "small.json" in str(app.error[0].value).replace("\\", "")
    assert app.text_area(key="claims_question").value, "the claim is there without passages"


def test_passages_and_questions_are_uploaded(app: AppTest) -> None:
    app = on_claims(app, over="upload", left="tfidf", right="bm25", question="Where was Tesla born?")
    assert "Upload a file" in said(app)
    upload = app.file_uploader(key="claims_upload")
    content = gzip.compress("\n".join(PASSAGES).encode())
    app = settled(upload.upload("mine.txt.gz", content, "application/gzip").run())
    assert "mine.txt.gz: 5 passages" in said(app)
    assert len(tables(app)) == 4
    bad = b'[{"question": "Who?"}, {"que'
    app = settled(app.file_uploader(key="claims_upload").upload("cut.json", bad, "application/json").run())
    (error,) = (str(element.value).replace("\\", "") for element in app.error)
    assert error.startswith("cut.json")


def test_a_tree_starts_from_a_question(app: AppTest, shared: Workspace, five: dict[str, str]) -> None:
    app.session_state["author"] = "Ada"
    app = on_claims(app, question="When did Tesla die?", answer="1943", **five)
    assert "**With the answer:** Tesla died in 1943." in said(app)
    app.button(key="claims_start").click().run()
    app = app.switch_page("pages/Trees.py").run()  # the harness goes back to the page that was left
    assert app.segmented_control(key="start_pick").value == "A question"
    assert app.text_input(key="start_question").value == "When did Tesla die?"
    assert app.text_input(key="start_answer").value == "1943"
    assert app.text_area[0].value == "Tesla died in 1943."
    app = app.segmented_control(key="start_pick").set_value("A claim").run()
    assert "question" not in app.query_params
    assert app.text_input(key="start_text").value == ""
    app = app.segmented_control(key="start_pick").set_value("A question").run()
    app = app.button(key="start").click().run()
    assert "Enter the claim first" in said(app)
    app = app.text_input(key="start_question").set_value("Who discovered radium?").run()
    (area,) = app.text_area
    assert area.value == "There exists a known person who discovered radium."
    app = app.text_input(key="start_answer").set_value("Marie Curie").run()
    (area,) = app.text_area
    assert area.value == "Marie Curie discovered radium."
    app = area.set_value("Marie and Pierre Curie discovered radium.").run()
    assert app.query_params["hypothesis"] == "Marie and Pierre Curie discovered radium."
    app = app.button(key="start").click().run()
    assert [tree.hypothesis for tree in own_trees(shared)] == ["Marie and Pierre Curie discovered radium."]


def test_no_path_of_the_server_is_read(app: AppTest) -> None:
    app = on_claims(app, over="/proc/self/environ", by="/etc", left="tfidf", right="bm25")
    assert app.selectbox(key="claims_over").value.startswith("corpus-")
    assert app.selectbox(key="claims_by").value == "nobody"


# --- its four lists, and the judge of their passages ---


class FakeIndex:
    """An index whose scores of the question and of the claim are given."""

    def __init__(self, name: str, scores: Sequence[Sequence[float]], *, words: bool = False) -> None:
        self.name = name
        self._scores = np.array(scores, dtype=np.float32)
        self.manifest = Manifest(name, 0 if words else 2, "x", self._scores.shape[1], "h")

    def scores(self, queries: Sequence[str]) -> Floats:
        assert list(queries) == ["Who?", "Somebody."]
        return self._scores

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        return top_k(self.scores(queries), k)


def lists(k: int = 2) -> PassageLists:
    plain = FakeIndex("plain", [[0.9, 0.5, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4]])
    words = FakeIndex("words", [[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]], words=True)
    return search_wordings((plain, words), "Who?", "Somebody.", k=k, gold=frozenset({2}))  # type: ignore[arg-type]  # it has all that is asked of an index


def test_four_lists() -> None:
    rankings = lists()
    assert rankings.positions == {
        (0, "question"): (0, 1),
        (0, "claim"): (3, 2),
        (1, "question"): (1, 3),
        (1, "claim"): (),
    }
    left = rankings.rows((0, "question"), (1, "question"))
    assert [(row.position, row.rank, row.other) for row in left] == [(0, 1, 0), (1, 2, 1)]
    right = rankings.rows((1, "question"), (0, "question"))
    assert [(row.position, row.other) for row in right] == [(1, 2), (3, 4)]
    assert rankings.shared((0, "question"), (1, "question")) == 1
    golds = [rankings.first_gold(key) for key in rankings.positions]
    assert golds == [3, 2, 0, 0], "ties stand in order of position; without a shared word nothing is found"
    assert rankings.all_positions == (0, 1, 3, 2)


def test_of_many_passages_those_beyond_the_lists_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.ranking.ALL_SCORED", 3)
    monkeypatch.setattr("entail.index.ranking.LISTED", 2)
    rankings = lists(k=4)
    assert rankings.positions[0, "question"] == (0, 1)
    golds = [rankings.first_gold(key) for key in rankings.positions]
    assert golds == [0, 2, 0, 0]


def test_the_overview_of_the_lists() -> None:
    rankings = lists()
    scores = {"nli": {at: PassageScore(at / 4, at >= 2, "says") for at in range(4)}}
    summary = overview(rankings, scores)
    assert [row["answer at"] for row in summary] == ["3", "not found", "2", "not found"]
    assert [row["entail, by nli"] for row in summary] == ["0 of 2", "1 of 2", "2 of 2", "0 of 0"]


def test_a_beir_folder_and_too_many_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "Ice", "text": "is cold"}\n'
        '{"_id": "b", "title": "", "text": "Ice is  cold."}\n'
        '{"_id": "c", "text": "Fire is hot"}\n{"_id": "d", "text": "Fire is  hot"}\n',
        encoding="utf-8",
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "What is hot?"}\n', encoding="utf-8")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n1\td\t1\n", encoding="utf-8")
    pool = read_pool(tmp_path, name="beir")
    assert pool.corpus.texts == ("Ice is cold", "Ice is  cold.", "Fire is hot")
    known_question = pool.find_question("what is HOT ?")
    assert known_question is not None
    assert known_question.gold == frozenset({2}), "a repeated passage stands for both ids"
    alone = read_pool(tmp_path / "corpus.jsonl", name="corpus.jsonl")
    assert not alone.questions, "passages are no questions"
    monkeypatch.setattr(claims_pool, "MOST", 2)
    with pytest.raises(EvaluationError, match="expected at most 2 passages to search on a page"):
        read_pool(tmp_path, name="beir")
