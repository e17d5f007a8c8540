"""Pairs of sentences out of tables of whatever columns."""

import gzip

import pytest

from entail.data.nli.sentence_pairs import MAX_COLUMNS, PairTable, read_pairs
from entail.errors import FormatError


def taken(content: bytes) -> PairTable:
    return read_pairs(content, name="pairs.csv", most=3)


def test_columns_are_known_by_their_names() -> None:
    table = taken(b"hypothesis,x,Premise\nh,1,p\n\n")
    assert (table.first, table.second, table.named) == (["p"], ["h"], True)
    table = taken(b"second;note;first\nb, c;1;a\n")
    assert (table.first, table.second, table.named) == (["a"], ["b, c"], True)
    table = taken(b"first,second,premise,hypothesis\n1,2,p,h\n")
    assert (table.first, table.second) == (["p"], ["h"]), "as the readers of NLI files say"


def test_just_two_columns_are_taken_where_they_stand() -> None:
    table = taken(b"a\tb\n1, 2\t3\n")
    assert (table.first, table.second, table.named) == (["1, 2"], ["3"], False)
    table = taken(b"hypothesis,text\nh,p\n")
    assert (table.first, table.second, table.named) == (["p"], ["h"], False), "one of them is known"


def test_columns_without_usual_names_are_those_with_the_longest_texts() -> None:
    table = taken(b"Nr,Satz A,Satz B,Quelle\n1,a dog runs,an animal moves,book\n")
    assert (table.columns, table.named) == ((1, 2), False)
    table = taken(b"id,hyp,premise\n1,an animal moves,p\n")
    assert (table.first, table.second, table.named) == (["p"], ["an animal moves"], False), "one is known"


def test_every_column_is_kept_under_its_name() -> None:
    table = taken(b" id ,premise,hypothesis,note,note,\n7,p,h,one,two\n8,p,h\n")
    assert table.header == ("id", "premise", "hypothesis", "note", "note (2)", "")
    assert table.rows == (("7", "p", "h", "one", "two", ""), ("8", "p", "h", "", "", ""))


def test_rows_of_jsonl_may_have_columns_of_their_own() -> None:
    first = b'{"premise": "p", "hypothesis": "h", "n": [1, null]}'
    second = b'{"premise": "q", "hypothesis": "i", "m": "x"}'
    table = taken(gzip.compress(first + b"\n" + second))
    assert table.header == ("premise", "hypothesis", "n", "m")
    assert table.rows == (("p", "h", "[1, null]", ""), ("q", "i", "", "x"))


def test_rows_that_cannot_be_read_are_left_out_and_named() -> None:
    table = taken(b'premise,hypothesis\nq,"i"\nr\np,"h\n')
    assert (table.first, table.second, table.unreadable) == (["q"], ["i"], 2)
    assert table.problems[0] == "pairs.csv, line 3: expected text in 'hypothesis', found nothing"
    assert table.problems[1].startswith("pairs.csv, line 4: expected CSV")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"one\nx\n",
        b"a,b\n",
        b"a,b\nx\n",
        b"a,b\n" + 4 * b"x,y\n",
        b"premise,hypothesis" + MAX_COLUMNS * b",x" + b"\np,h\n",
    ],
    ids=["empty", "one column", "no rows", "no second", "too many rows", "too many columns"],
)
def test_tables_that_hold_no_pairs_are_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        taken(content)
