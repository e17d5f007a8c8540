"""Passages and questions as retrieval data sets are released."""

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from entail.data.passages.files import (
    Passage,
    Question,
    read_passages,
    read_questions,
    unread_columns,
)
from entail.data.passages.qrels import read_qrels
from entail.data.text import premise_key
from entail.errors import FormatError

SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Ice",
            "paragraphs": [
                {
                    "context": "Ice is cold.",
                    "qas": [
                        {"id": "a", "question": " What is cold? ", "answers": [{"text": "Ice"}] * 2},
                        {"question": "How is ice?", "answers": [{"text": "cold"}]},
                    ],
                },
                {"context": "", "qas": []},
                {"context": "Fire burns.", "qas": []},
                {"context": "Ice is cold.", "qas": []},
            ],
        }
    ],
}
DPR: list[dict[str, Any]] = [
    {
        "question": f"who won cup {number}",
        "answers": ["Rome"],
        "positive_ctxs": [{"title": "Cup", "text": f"Rome won cup {number}.", "passage_id": f"p{number}"}],
        "hard_negative_ctxs": [{"title": "Cup", "text": "A cup of tea.", "passage_id": "h"}],
        "negative_ctxs": [],
    }
    for number in range(3)
]
COLD = premise_key("Ice is cold.")


def written(folder: Path, name: str, value: object) -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return file


def test_squad_paragraphs_are_passages_and_gold(tmp_path: Path) -> None:
    file = tmp_path / "dev.json.gz"
    file.write_bytes(gzip.compress(json.dumps(SQUAD).encode()))
    assert list(read_passages(file)) == [
        Passage(COLD, "Ice is cold."),
        Passage(premise_key("Fire burns."), "Fire burns."),
    ]
    assert list(read_questions(file)) == [
        Question("a", "What is cold?", ("Ice",), (COLD,)),
        Question("2", "How is ice?", ("cold",), (COLD,)),
    ]


@pytest.mark.parametrize("gap", ["\n", "\n  ", ""])
def test_squad_is_detected_whatever_its_line_breaks(tmp_path: Path, gap: str) -> None:
    text = f'{{"version": "v2.0",{gap}"data": {json.dumps(SQUAD["data"])}}}'
    assert [question.id for question in read_questions(written(tmp_path, "v2.json", text))] == ["a", "2"]


def test_rows_that_mention_data_are_no_squad(tmp_path: Path) -> None:
    row = json.dumps({"question": "what is it", "answer": ["data"], "meta": {"data": [1]}})
    long = json.dumps({"question": "which word", "answer": ["paragraphs", "x" * 70_000]})
    for content in (row, long):
        assert len(list(read_questions(written(tmp_path, "nq.jsonl", content)))) == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_dpr_questions_have_passages(tmp_path: Path, indent: int | None) -> None:
    file = written(tmp_path, "biencoder-nq-dev.json", json.dumps(DPR, indent=indent))
    assert [passage.id for passage in read_passages(file)] == ["p0", "h", "p1", "p2"]
    assert next(iter(read_passages(file))).whole == "Cup Rome won cup 0."
    assert list(read_questions(file))[2] == Question("3", "who won cup 2", ("Rome",), ("p2",), ("h",))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (json.dumps(DPR, indent=1).partition("cup 2")[0], ["who won cup 0", "who won cup 1"]),
        ('[{"question": "a"},\n{"question": "b"\n}\n{"question": "d"}]', ["a", "b"]),
        ('[{"question": "a"}, {"question": "\udcff"}]', ["a"]),
        ('[{"question": "a"}, 3]', ["a"]),
    ],
    ids=["cut", "comma", "encoding", "number"],
)
def test_elements_before_a_mistake_are_read(tmp_path: Path, text: str, whole: list[str]) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    questions = read_questions(file)
    assert [next(questions).text for _ in whole] == whole
    with pytest.raises(FormatError, match=f"x.json.*element {len(whole) + 1}"):
        next(questions)


@pytest.mark.parametrize("kind", ["dpr", "jsonl", "tsv", "squad"])
def test_a_cut_archive_gives_what_is_whole(tmp_path: Path, kind: str) -> None:
    words = [" ".join(sha256(f"{row} {word}".encode()).hexdigest() for word in range(5)) for row in range(30)]
    text = {
        "dpr": json.dumps([{"question": line} for line in words], indent=1),
        "jsonl": "".join(json.dumps({"question": line}) + "\n" for line in words),
        "tsv": "".join(f"{row}\t{line}\n" for row, line in enumerate(words)),
        "squad": json.dumps(SQUAD | {"words": words}, indent=1),
    }[kind]
    packed = gzip.compress(text.encode())
    file = tmp_path / "cut.gz"
    file.write_bytes(packed[: len(packed) * 2 // 3])
    texts: list[str] = []
    with pytest.raises(FormatError, match=r"cut|damaged"):
        texts.extend(question.text for question in read_questions(file))
    if kind != "squad":
        assert texts == words[: len(texts)]
        assert len(texts) >= 15


def test_dpr_and_ms_marco_tables(tmp_path: Path) -> None:
    dpr = written(tmp_path, "psgs.tsv", 'id\ttext\ttitle\n1\t"He said ""no"" twice."\tNo\n2\tYes.\tYes\n')
    assert list(read_passages(dpr)) == [
        Passage("1", 'He said "no" twice.', "No"),
        Passage("2", "Yes.", "Yes"),
    ]
    marco = written(tmp_path, "collection.tsv", '0\tThe "first" one\n7\tanother\n')
    assert list(read_passages(marco)) == [Passage("0", 'The "first" one'), Passage("7", "another")]
    answered = written(tmp_path, "nq.csv", "who won\t['Rome', \"Rome's army\"]\n")
    assert list(read_questions(answered)) == [Question("1", "who won", ("Rome", "Rome's army"))]
    queries = written(tmp_path, "queries.tsv", "100\twhen\n101\t[what] is ice\n102\t[1, 2]\nq3\t[x\n")
    assert [(question.id, question.text) for question in read_questions(queries)] == [
        ("100", "when"),
        ("101", "[what] is ice"),
        ("102", "[1, 2]"),
        ("q3", "[x"),
    ]


@pytest.mark.parametrize(
    ("text", "relevant"),
    [
        ("12\t0\t7\t1\n12 0 0 0\n1\t0\t7\t1.0\n1\t0\t8\t0.0\n", {"12": ("7",), "1": ("7",)}),
        ("2 0 9 -1\n3 Q0 8  2\n3 0 8 1\n3 0 7 .5\n", {"2": (), "3": ("8",)}),
        ("query-id\tcorpus-id\tscore\nq 1\tRed fox\t1\nq 1\tfox\t0\n", {"q 1": ("Red fox",)}),
        ("q 1\t0\tRed fox\t1\n", {"q 1": ("Red fox",)}),
        ("query_id doc_id relevance iteration\n1 d1 2 0\n", {"1": ("d1",)}),
        ("qid\tdocno\tlabel\n1\td1\t1\n", {"1": ("d1",)}),
        ('{"query-id": "q 1", "corpus-id": 7, "score": 1.0}\n', {"q 1": ("7",)}),
        ('{"qid": 1, "docno": "d1", "label": 0}\n', {"1": ()}),
    ],
)
def test_judgements(tmp_path: Path, text: str, relevant: dict[str, tuple[str, ...]]) -> None:
    assert read_qrels(written(tmp_path, "qrels", text)) == relevant


def test_nq_open_with_and_without_a_gold_passage(tmp_path: Path) -> None:
    plain = {"question": "who won", "answer": ["Rome"]}
    contexts = [{"title": "War", "text": "Carthage lost.", "isgold": True}, {"text": "Tea.", "isgold": False}]
    gold = {"question": "who lost", "answers": ["Carthage"], "ctxs": contexts}
    file = written(tmp_path, "nq.jsonl", f"{json.dumps(plain)}\n{json.dumps(gold)}\n")
    assert list(read_questions(file)) == [
        Question("1", "who won", ("Rome",)),
        Question("2", "who lost", ("Carthage",), (premise_key("Carthage lost."),)),
    ]
    only = written(tmp_path, "gold.jsonl", json.dumps(gold) + "\n")
    assert [passage.text for passage in read_passages(only)] == ["Carthage lost.", "Tea."]


def test_beir_folders(tmp_path: Path) -> None:
    corpus = [
        {"_id": "d1", "title": "Ice", "text": "Ice is cold."},
        {"_id": "d2", "title": "", "text": "Fire."},
    ]
    queries = [{"_id": "q1", "text": "what is cold"}, {"_id": "q2", "text": "not judged"}]
    written(tmp_path, "corpus.jsonl", "\n".join(map(json.dumps, corpus)))
    written(tmp_path, "queries.jsonl", "\n".join(map(json.dumps, queries)))
    (tmp_path / "qrels").mkdir()
    written(tmp_path, "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n")
    assert list(read_passages(tmp_path)) == [Passage("d1", "Ice is cold.", "Ice"), Passage("d2", "Fire.")]
    judged = Question("q1", "what is cold", (), ("d1",), ignored="q1")
    assert list(read_questions(tmp_path)) == [judged]
    row = {"query-id": "q1", "corpus-id": "d2", "score": 1.0}
    written(tmp_path, "qrels/train.jsonl", json.dumps(row))  # as MTEB stores it
    assert [question.gold for question in read_questions(tmp_path, split="train")] == [("d2",)]
    with pytest.raises(FormatError, match=r"dev.tsv in qrels, found test, train"):
        list(read_questions(tmp_path, split="dev"))
    written(tmp_path, "qrels/extra.jsonl", json.dumps({**row, "query-id": "q9"}))
    with pytest.raises(FormatError, match="'q9'"):
        list(read_questions(tmp_path, split="extra"))
    (tmp_path / "corpus.jsonl").unlink()
    with pytest.raises(FormatError, match=r"corpus\.jsonl"):
        list(read_passages(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("a.txt", "who won\n\nwhen\n", [("1", "who won"), ("3", "when")]),
        ("a.tsv", "id\tquestion\nq1\twho won\n", [("q1", "who won")]),
        ("a.tsv", "question\tanswer\nwho won\tRome\nwhen\t\n", [("1", "who won", "Rome"), ("2", "when")]),
        (
            "a.csv",
            "Question,Answers\r\n\"who, then\",Rome\r\nwhen,\"['1', '2']\"\r\n",
            [("1", "who, then", "Rome"), ("2", "when", "1", "2")],
        ),
        ("a.csv", 'Question\n"who, ""then"""\nwhen, where\n', [("1", 'who, "then"'), ("2", "when, where")]),
        ("a.csv", ",question\n0,who won\n", [("1", "who won")]),
        ("a.txt", "who won\tRome\nwhen is it\t\n", [("1", "who won", "Rome"), ("2", "when is it")]),
        (
            "dpr.csv",
            'who won\t"[""Rome\'s army"", \'it\']"\n"who said ""no"""\t[\'Ada\']\n',
            [("1", "who won", "Rome's army", "it"), ("2", 'who said "no"', "Ada")],
        ),
        ("np.csv", 'question,answer\nwho won,"[\'it\' ""Rome\'s""]"\n', [("1", "who won", "it", "Rome's")]),
        (
            "squad.csv",
            "id,question,answers\n7,who won,\"{'text': array(['Rome', 'it'], dtype=object), 'answer_start': "
            "array([3])}\"\n8,when,\"{'text': ['1971'], 'answer_start': [0]}\"\n",
            [("7", "who won", "Rome", "it"), ("8", "when", "1971")],
        ),
        (
            "lists.csv",
            'question,answer\nwho,"[""Rome"", null]"\nwhen,"(\'1\', None)"\nwhere,(Rome)\n',
            [("1", "who", "Rome"), ("2", "when", "1"), ("3", "where", "(Rome)")],
        ),
        ("a.tsv", "query_id\ttext\n7\twho won\n", [("7", "who won")]),
        ("a.csv", "qid,query\n7,who won\n", [("7", "who won")]),
        ("a.jsonl", '{"query_id": 7, "text": "who won"}\n', [("7", "who won")]),
        ("a.jsonl", '{"QID": 7, "Query": "who won"}\n', [("7", "who won")]),
    ],
)
def test_a_header_and_a_question_with_spaces_tell_questions_from_ids_and_answers(
    tmp_path: Path, name: str, text: str, asked: list[tuple[str, ...]]
) -> None:
    questions = read_questions(written(tmp_path, name, text))
    assert [(question.id, question.text, *question.answers) for question in questions] == asked


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'id,Text,title\n7,"ice, cold",Ice\n'),
        ("a.csv", "title;passage;pid\nIce;ice, cold;7\n"),
        ("a.tsv", "title\ttext\tid\nIce\tice, cold\t7\n"),
        ("a.tsv", "sep=\t\n\ndocid\tcontents\ttitle\n7\tice, cold\tIce\n"),
        ("a.tsv", "doc_id\ttext\ttitle\n7\tice, cold\tIce\n"),
        ("a.jsonl", '{"docno": 7, "docid": 0, "text": "ice, cold", "title": "Ice"}\n'),
        ("a.jsonl", '{"doc_id": "7", "contents": "ice, cold", "title": "Ice"}\n'),
        ("a.jsonl", '{"pid": "7", "passage": "ice, cold", "title": "Ice", "docid": "3"}\n'),
        ("a.jsonl", '{"DOCNO": "7", "Text": "ice, cold", "Title": "Ice"}\n'),
        ("a.json", '\ufeff[{"id": "7", "text": "ice, cold", "title": "Ice"}]'),
    ],
)
def test_a_header_names_the_columns_of_passages(tmp_path: Path, name: str, text: str) -> None:
    assert list(read_passages(written(tmp_path, name, text))) == [Passage("7", "ice, cold", "Ice")]


@pytest.mark.parametrize(
    ("name", "text", "of_passages", "of_questions"),
    [
        ("a.tsv", "docno\tdocid\ttext\tlang\n7\t0\tice\ten\n", ("docid", "lang"), ("docno", "docid", "lang")),
        ("a.csv", ",qid,query,year\n0,7,who,1\n", (), ("year",)),
        ("a.jsonl", '{"_id": "7", "text": "ice", "url": "x"}\n', ("url",), ("url",)),
        ("dpr.json", [{**DPR[0], "dataset": "nq"}], ("dataset",), ("dataset",)),
        ("squad.json", SQUAD, (), ()),
        ("a.txt", "ice, cold\nfire\n", (), ()),
    ],
)
def test_columns_that_are_not_read_are_named(
    tmp_path: Path, name: str, text: object, of_passages: tuple[str, ...], of_questions: tuple[str, ...]
) -> None:
    file = written(tmp_path, name, text)
    assert unread_columns(file) == of_passages
    assert unread_columns(file, questions=True) == of_questions


@pytest.mark.parametrize(
    ("read", "text", "line"),
    [
        (read_passages, "pid\tsentence\n7\tice\n", 1),
        (read_passages, "docno,body\n7,ice\n", 1),
        (read_passages, "# text = Ice melts.\n1\tIce\tice\tNOUN\n2\tmelts\tmelt\tVERB\n", 2),
        (read_passages, "<DOC>\n<DOCNO>7</DOCNO>\nice\n</DOC>\n", 1),
        (read_passages, "7\thttp://ice\tIce\tice is cold\n", 1),
        (read_passages, "id\ttext\n7\tice\tmore\n", 2),
        (read_passages, "id\ttext\n7\tice\n8\n", 3),
        (read_passages, 'id\ttext\ttitle\n7\t"ice\nis cold"\tIce\n', 2),
        (read_questions, "qid\tasked\n7\twho\n", 1),
        (read_questions, "7\twho won\t['Rome']\n", 1),
        (read_questions, "question\tanswer\nwho won\tRome\tCarthage\n", 2),
        (read_qrels, "1 0 7 1\n1 0 7 0\n", 2),
        (read_qrels, "12 seven\n", 1),
        (read_qrels, "1 0 7 nan\n", 1),
        (read_qrels, "1 0 7 1\n1 7 1\n", 2),
        (read_qrels, "Red fox 1 0 1\n", 1),
        (read_qrels, "query\tdocument\tscore\n1\t7\t1\n", 1),
        (read_qrels, '{"query-id": "q1", "score": 1}\n', 1),
    ],
)
def test_rows_that_are_not_understood_are_refused(tmp_path: Path, read: Any, text: str, line: int) -> None:
    with pytest.raises(FormatError, match=rf"line {line}\b"):
        list(read(written(tmp_path, "f", text)))


@pytest.mark.parametrize("read", [read_passages, read_questions])
@pytest.mark.parametrize("header", ["ID,Question text,Source", "number,prompt"])
def test_a_csv_whose_header_names_no_text_is_refused(tmp_path: Path, read: Any, header: str) -> None:
    with pytest.raises(FormatError, match=header.replace(",", ", ")):
        list(read(written(tmp_path, "a.csv", f"{header}\n0,what puffins eat\n")))


def test_questions_without_answers_have_no_gold_as_squads_scorer_counts_them(tmp_path: Path) -> None:
    questions = [squad(answers=[]), squad(is_impossible=True), squad(is_impossible=False)]
    gold = [[q.gold for q in read_questions(written(tmp_path, "x.json", value))] for value in questions]
    passage = (premise_key("Ice."),)
    assert gold == [[passage, ()], [passage, ()], [passage, passage]]


def test_an_excel_file_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04\x14\x00\xff")
    with pytest.raises(FormatError, match="Excel"):
        list(read_passages(tmp_path / "a.xlsx"))


def test_an_id_names_one_text(tmp_path: Path) -> None:
    first = written(tmp_path, "a.tsv", "1\tice\n2\tfire\n1\tice\n")
    same, second = written(tmp_path, "b.tsv", "2\tfire\n3\tsteam\n"), written(tmp_path, "c.tsv", "1\tsteam\n")
    lines = written(tmp_path, "d.txt", "ice\nfire\nice \n")  # without ids a text is its own
    texts = [passage.text for passage in read_passages(first, same, lines)]
    assert texts == ["ice", "fire", "steam", "ice", "fire"]
    with pytest.raises(FormatError, match=r"c\.tsv.*'1'"):
        list(read_passages(first, second))
    rows = '{"_id": "4", "title": "Ice", "text": ""}\n{"_id": "5", "text": " "}'
    title_alone = written(tmp_path, "e.jsonl", rows)
    assert [passage.id for passage in read_passages(title_alone)] == ["4"]


def squad(**changed: object) -> dict[str, Any]:
    row = {"id": "a", "question": "What?", "answers": [{"text": "ice"}], **changed}
    return {"data": [{"title": "T", "paragraphs": [{"context": "Ice.", "qas": [{"question": "Why?"}, row]}]}]}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (squad(question=None), "field 'data[0].paragraphs[0].qas[1].question'"),
        (squad(answers=["x"]), "field 'data[0].paragraphs[0].qas[1].answers[0]'"),
        (squad(answers={"text": ["x"]}), "qas[1].answers'"),
        ({"data": 3}, "field 'data'"),
        ({"data": [{"paragraphs": []}, "x"]}, "field 'data[1]'"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "paragraphs[0].context'"),
        ([{"question": "q", "positive_ctxs": ["text"]}], "element 1, field 'positive_ctxs[0]'"),
        ([{"question": "q", "positive_ctxs": {"a": 1}}], "element 1, field 'positive_ctxs'"),
        ([{"question": "q", "positive_ctxs": [{"text": ["a"]}]}], "'positive_ctxs[0].text'"),
        ([{"question": "q", "answers": 3}], "element 1, field 'answers'"),
        ([{"question": "q", "answers": [None]}], "element 1, field 'answers[0]'"),
        ('{"question": "q"}\n{"a": 1}', "line 2, field 'question'"),
        ('{"question": "q"}\n{"question"', "line 2"),
    ],
)
def test_a_wrong_row_names_its_place(tmp_path: Path, value: object, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(read_questions(written(tmp_path, "x.json", value)))
    assert place in str(caught.value)
    assert "x.json" in str(caught.value)


def test_passages_of_wrong_rows_name_their_place(tmp_path: Path) -> None:
    rows = [{"question": "q", "positive_ctxs": [{"text": "Ice."}]}, {"question": "q", "negative_ctxs": ["t"]}]
    passages = read_passages(written(tmp_path, "x.json", rows))
    assert next(passages).text == "Ice."
    with pytest.raises(FormatError, match=r"field 'negative_ctxs\[0\]'"):
        next(passages)
    with pytest.raises(FormatError, match="found question"):
        list(read_passages(written(tmp_path, "y.jsonl", '{"question": "q"}')))


def test_absent_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"can be read"):
        list(read_passages(tmp_path / "none.json"))
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00\x01" * 100)
    with pytest.raises(FormatError, match=r"UTF-8"):
        list(read_passages(tmp_path / "bin"))
