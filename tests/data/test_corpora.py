"""Corpora in every format, their ids, limits and names."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.corpora import (
    corpus_name,
    likely_text_column,
    read_corpus,
    sample_columns,
)
from entail.data.records import Premise
from entail.errors import CorpusError, FormatError
from entail.progress import Progress

FACTS = ("ice is cold", "fire is hot", "a cat is an animal")
TREE = {
    "id": "MINI_1",
    "context": "sent1: ice is cold sent2: fire is hot sent3: a cat is an animal",
    "hypothesis": "ice melts",
    "proof": "sent1 & sent2 -> hypothesis; ",
}


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


IN_EVERY_FORMAT = [
    ("f.txt", "text", "\n".join(FACTS)),
    ("f.csv", "csv", "id,text\n1,ice is cold\n2,fire is hot\n3,a cat is an animal\n"),
    ("f.csv", "csv", "id;Text\n1;ice is cold\n2;fire is hot\n3;a cat is an animal\n"),
    ("f.csv", "csv", 'premise\nice is cold\n\n"fire is hot"\na cat is an animal'),
    ("f.tsv", "tsv", "fact\tuid\nice is cold\t1\nfire is hot\t2\na cat is an animal\t3\n"),
    ("f.jsonl", "jsonl", lines(*({"sentence": fact} for fact in FACTS))),
    ("f.json", "json", json.dumps(dict(zip("abc", FACTS, strict=True)), indent=1)),
    ("f.json", "json", json.dumps(list(FACTS))),
    ("f.json", "json", json.dumps([{"Fact": fact} for fact in FACTS], indent=2)),
    ("f.json", "jsonl", lines(*({"text": fact} for fact in FACTS))),
    ("f.jsonl", "entailment_bank", lines(TREE, TREE)),
]


@pytest.mark.parametrize(("name", "kind", "text"), IN_EVERY_FORMAT)
@pytest.mark.parametrize("packed", [False, True])
def test_the_same_facts_in_every_format(
    tmp_path: Path, name: str, kind: str, text: str, packed: bool
) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode("utf-16"))
    data = text.encode()
    for reading in (read_corpus(path), read_corpus(data, name=name), read_corpus(data, name="f")):
        assert reading.corpus.texts == FACTS
        assert reading.corpus.name == "f"
        assert reading.format == kind
        assert reading.read == len(FACTS) * (2 if kind == "entailment_bank" else 1)


def test_counts_add_up() -> None:
    text = "ice  , cold\n\nice, cold\n   \nfire is hot\n" + "x" * 11 + "\nice is cold ."
    reading = read_corpus(text.encode(), name="f.txt", skip_too_long=True, max_premise_chars=12)
    assert (reading.repeats, reading.empty, reading.too_long, reading.read) == (1, 2, 1, 7)
    assert reading.corpus.premises[0] == Premise("ice  , cold")  # raw, and the first of repeats


def test_reading_tells_its_progress() -> None:
    reports: list[Progress] = []
    content = b"text\n" + b"".join(b"fact %d\n" % number for number in range(100_000))
    read_corpus(content, name="f.csv", progress=reports.append)
    assert reports[0].done < reports[-1].done == len(content)
    assert all(0 < progress.fraction <= 1 for progress in reports)


def test_ids_of_every_format() -> None:
    table = read_corpus(b"id,text\n7,ice\n,fire\n", name="f.csv").corpus.premises
    assert table == (Premise("ice", "7"), Premise("fire"))
    rows = read_corpus(lines({"text": "ice"}, {"text": "fire", "uid": 7}).encode()).corpus.premises
    assert rows == (Premise("ice"), Premise("fire", "7"))
    mapping = read_corpus(b'{"a.1": "ice", "b": "fire"}', name="f.json").corpus.premises
    assert mapping == (Premise("ice", "a.1"), Premise("fire", "b"))


@pytest.mark.parametrize("quotes", ["", '"'])
@pytest.mark.parametrize("delimiter", ",;|\t")
def test_a_single_column_is_never_split(delimiter: str, quotes: str) -> None:
    premise = f"ice is cold{delimiter} very"
    table = f"text\n{quotes}{premise}{quotes}\nfire is hot\n".encode()
    assert read_corpus(table, name="f.csv").corpus.texts == (premise, "fire is hot")


def test_the_placeholder_of_worldtree_is_no_premise() -> None:
    data = json.dumps({"ET_addon:0": "DUMMY", "ET_addon:1": "a star produces light"}).encode()
    reading = read_corpus(data, name="worldtree_corpus_sentences_extended.json")
    assert reading.corpus.texts == ("a star produces light",)
    assert reading.empty == 1
    assert read_corpus(b"DUMMY", name="f.txt").corpus.texts == ("DUMMY",)


def test_a_column_can_be_named() -> None:
    table = b"text,Note,id\nice,snow,1\n"
    assert read_corpus(table, name="f.csv").corpus.texts == ("ice",)
    assert read_corpus(table, name="f.csv", column="note").corpus.texts == ("snow",)
    assert read_corpus(table, column="Note").corpus.texts == ("snow",)
    twins = b"text,Text,ID\nice,snow,1\n"
    assert read_corpus(twins, name="f.csv").corpus.texts == ("ice",)
    assert read_corpus(twins, name="f.csv", column="Text").corpus.texts == ("snow",)
    assert read_corpus(twins, name="f.csv", column="id").corpus.texts == ("1",)
    assert read_corpus(b'{"ID": "ice"}', column="id").corpus.premises == (Premise("ice"),)
    assert read_corpus(lines(TREE).encode(), column="hypothesis").corpus.texts == ("ice melts",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.csv", "docno,text,source,page\n7,ice,book,\n8,fire,,3\n"),
        (
            "f.jsonl",
            lines(
                *(
                    {"doc_id": n, "text": t, **more}
                    for n, t, more in ((7, "ice", {"source": "book", "page": None}), (8, "fire", {"page": 3}))
                )
            ),
        ),
    ],
)
def test_further_columns_are_kept_but_for_those_that_are_no_values(name: str, text: str) -> None:
    reading = read_corpus(text.encode(), name=name)
    assert reading.corpus.premises == (
        Premise("ice", "7", (("source", "book"),)),
        Premise("fire", "8", (("page", "3"),)),
    )
    assert reading.dropped == ()
    reading = read_corpus(lines({"text": "ice", "tags": ["cold"], "by": "Ada"}).encode())
    assert (reading.dropped, reading.corpus.premises[0].extra) == (("tags",), (("by", "Ada"),))


CONLLU = "# text = Ice melts.\n" + "".join(f"{n}" + 9 * "\t_" + "\n" for n in (1, 2)) + "\n"
NEAR = "Ice is cold.\nice is cold\nice is  cold .\nfire is hot\nFire is hot!\nIce is cold.\n"


@pytest.mark.parametrize(
    ("merge", "texts", "repeats"),
    [
        (False, ("Ice is cold.", "ice is cold", "ice is  cold .", "fire is hot", "Fire is hot!"), 1),
        (True, ("Ice is cold.", "fire is hot", "Fire is hot!"), 1),
    ],
)
def test_similar_premises_are_counted_and_merged(merge: bool, texts: tuple[str, ...], repeats: int) -> None:
    reading = read_corpus(NEAR.encode(), name="f.txt", merge_similar=merge)
    assert (reading.corpus.texts, reading.repeats, reading.similar, reading.read) == (texts, repeats, 2, 6)


def test_columns_are_those_of_tables_and_lines_of_json() -> None:
    by_name = sample_columns(b"Premise,remark\nice,seen in the winter of last year\n", name="f.csv")
    assert likely_text_column(by_name) == "Premise"
    by_length = sample_columns(b"number of the row;Fakt;Quelle\n1;ice is cold and hard;WT\n", name="f.csv")
    assert likely_text_column(by_length) == "Fakt"
    lines_of_json = b'{"id": 1, "note": "ice"}\n{"id": 2, "by": "Ada"}\n'
    assert sample_columns(lines_of_json, name="f.jsonl") == {"id": (), "note": ("ice",), "by": ("Ada",)}
    table = b"note,by\nice\nfire,Ada\n"
    assert sample_columns(table, name="f.csv") == {"note": ("ice", "fire"), "by": ("Ada",)}
    for name, text in (("f.txt", "ice is cold"), ("f.json", json.dumps(FACTS)), ("f.csv", "")):
        assert sample_columns(text.encode(), name=name) == {}


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("f.csv", "a,b\n1,2\n", None),
        ("f.csv", "a,b\n1,2\n", "c"),
        ("f.jsonl", '{"a": "x", "b": 1}', None),
        ("f.json", '[{"a": "x", "b": 1}]', "c"),
    ],
)
def test_an_unknown_column_lists_those_there_are(name: str, text: str, column: str) -> None:
    with pytest.raises(FormatError, match="'a', 'b'"):
        read_corpus(text.encode(), name=name, column=column)


@pytest.mark.parametrize(
    ("name", "text", "line", "part"),
    [
        ("f.csv", "text,id\nice,1\nhot, dry,2\n", 3, "double quotes"),
        ("f.csv", "id,text\n1,ice\n2\n", 3, "nothing"),
        ("f.csv", 'text\nice\n"fire\n', 3, "CSV"),
        ("f.jsonl", '{"text": "ice"}\n{"text": "fire"\n', 2, "JSON"),
        ("f.jsonl", '{"text": "ice"\n{"text": "fire"}\n', 1, "JSON"),
        ("f.jsonl", '["ice"]\n', 1, r'found \["ice'),
        ("f.jsonl", '{"text": "ice"}\n{"txt": "fire"}\n', 2, "'text'"),
        ("f.jsonl", '{"text": "ice"}\n{"text": 3}\n', 2, "3"),
        ("f.json", '{"a": "ice",\n"b" "fire"}', 2, "JSON"),
        ("f.json", '{"a": ["ice"]}', None, "entry 'a'"),
        ("f.json", '["ice", 3]', None, "entry 2"),
        ("f.json", '[{"text": "ice"}, {"txt": "fire"}]', None, "entry 2"),
        ("f.json", "3", None, "list"),
        ("f.json", "ice is cold", 1, "JSON"),
    ],
)
def test_malformed_files_name_the_place(name: str, text: str, line: int | None, part: str) -> None:
    with pytest.raises(FormatError, match=part) as caught:
        read_corpus(text.encode(), name=name)
    assert caught.value.line == line
    assert str(caught.value).startswith(name)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("f.txt", "", CorpusError),
        ("f.txt", "\n \n\t\n", CorpusError),
        ("f.csv", "", CorpusError),
        ("f.csv", "text\n", CorpusError),
        ("f.jsonl", "", CorpusError),
        ("f.jsonl", '{"text": " "}', CorpusError),
        ("f.json", "{}", CorpusError),
        ("f.json", "[]", CorpusError),
        ("f.json", '{"a": "DUMMY"}', CorpusError),
        ("", "", CorpusError),
        ("f.conllu", CONLLU, FormatError),
        ("f.txt", CONLLU * 9, FormatError),
        ("f", CONLLU, FormatError),
        ("f.txt", "1\tice is cold\n2\tfire is hot\n", FormatError),
        ("f.txt", '{"id": 1, "text": "ice"}\n', FormatError),
        ("f.txt", '["ice", "fire"]', FormatError),
        ("f.txt", "id,text\n1,ice\n", FormatError),
        ("f.txt", "<DOC>\n<TEXT>ice</TEXT>\n</DOC>\n", FormatError),
        ("f.md", "ice is cold\n", FormatError),
        ("f.unknown.gz", "ice is cold\n", FormatError),
    ],
)
def test_what_has_no_premises_or_is_no_list_of_them_is_refused(
    name: str, text: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        read_corpus(text.encode(), name=name)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("f.csv", "text,id\nice,x\n" + 140_000 * "x" + ",y\n", "line 3"),  # over the default limit of csv
        ("f.txt", "ice\ntoo long\n", "line 2"),
        ("f.csv", "text\nice\ntoo long\n", "line 3"),
        ("f.jsonl", lines({"text": "ice"}, {"text": "too long"}), "line 2"),
        ("f.json", json.dumps({"a": "ice", "b": "too long"}), "entry 'b'"),
        ("f.jsonl", lines(TREE | {"context": "sent1: ice sent2: too long", "proof": ""}), "row 1, sent2"),
    ],
    ids=["long", "text", "csv", "jsonl", "json", "entailment_bank"],
)
def test_a_premise_over_the_limit(name: str, text: str, place: str) -> None:
    with pytest.raises(CorpusError, match=place):
        read_corpus(text.encode(), name=name, max_premise_chars=7)
    reading = read_corpus(text.encode(), name=name, skip_too_long=True, max_premise_chars=7)
    assert (reading.corpus.texts, reading.too_long) == (("ice",), 1)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ('text\tid\n"hot" means warm\t1\n"so-called ""ice"""\t2\n', ('"hot" means warm', 'so-called "ice"')),
        ('id\ttext\tnote\n1\tice\t"two\nlines"\n2\tsun\tok\n', ("ice", "sun")),
        ('text\tid\n"ice\n\nmelts ""fast"""\t1\nsun\t2\n', ('ice\nmelts "fast"', "sun")),
        ('text\n"ice\nmelts"\nsun\n', ("ice\nmelts", "sun")),
        ('text\tid\n"ice\t1\nsun\t2\n', ('"ice', "sun")),
        ('id\ttext\n1\t"ice\n2\tof 5"\n', ('"ice', 'of 5"')),
    ],
    ids=["stray", "last-cell", "first-cell", "one-column", "stray-first", "stray-last"],
)
def test_a_quotation_mark_of_a_tsv_spans_lines_or_is_a_character(text: str, texts: tuple[str, ...]) -> None:
    assert read_corpus(text.encode(), name="f.tsv").corpus.texts == texts


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;\r", "\ufeffsep=;"])
@pytest.mark.parametrize("name", ["f.csv", "f"])
def test_the_first_line_may_name_the_delimiter(first: str, name: str) -> None:
    text = f"{first}\nid;text, as written;text\n1;a;ice\n".encode()
    assert read_corpus(text, name=name).corpus.premises == (
        Premise("ice", "1", (("text, as written", "a"),)),
    )
    with pytest.raises(FormatError, match="line 3"):
        read_corpus(f"{first}\nid;text\n1;ice;x;y\n".encode(), name="f.csv")


def test_texts_are_composed_and_turn_nothing_around_them() -> None:
    text = "cafe\u0301s\ncaf\xe9s\n\u200fice \u202eis\u2066 cold\u200e\n\u0645\u06cc\u200c\u062e\n"
    reading = read_corpus(text.encode(), name="f.txt")
    assert reading.corpus.texts == ("caf\xe9s", "ice is cold", "\u0645\u06cc\u200c\u062e")
    assert reading.repeats == 1


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("facts.txt", "facts"),
        ("..\\..\\windows\\facts.csv", "facts"),
        ("../..", "corpus"),
        ("", "corpus"),
        ("<script>.txt", "script"),
        ("a\0b\x1b[31m\u202e.txt", "a_b__31m"),
        ("x" * 300 + ".txt", "x" * 80),
    ],
)
def test_names_are_made_safe(file_name: str, expected: str) -> None:
    assert corpus_name(file_name) == expected


@given(st.text())
def test_any_name_is_made_safe(file_name: str) -> None:
    name = corpus_name(file_name)
    assert name
    assert len(name) <= 80
    assert not set("/\\\0<>\n") & set(name)
    assert not name.startswith(".")


@pytest.mark.parametrize("name", ["facts", "Facts v1.2"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1] ice is cold\n{2} fire is hot", "text"),
        ("ice, fire\ncold, hot", "text"),
        ("The text of the premise\nice", "text"),
        ("'text' is a word", "text"),
        ('{"a": "ice", "b": "fire"}', "json"),
        ('{"text": "ice"}', "jsonl"),
    ],
)
def test_without_a_suffix_the_content_tells(text: str, kind: str, name: str) -> None:
    assert read_corpus(text.encode(), name=name).format == kind
