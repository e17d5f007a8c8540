"""Tables of pairs and of judgements as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

from entail.data.records import Premise
from entail.data.spreadsheets import escape_cell
from entail.trees.formats import to_judged_csv, to_pairs_csv
from entail.trees.formats.entailment_bank import grow
from entail.trees.log.acts import (
    Accept,
    Conclude,
    Create,
    Edit,
    Evidence,
    Finish,
    GivenNode,
    Proposal,
    Reject,
    Remove,
    ShownCandidate,
    Write,
)
from entail.trees.log.tree import Tree


def test_one_line_for_each_premise_of_each_node(story: Any) -> None:
    other = grow(Create(hypothesis="h", nodes=(GivenNode("l", None), GivenNode("m", 0))))
    text = to_pairs_csv({"1": story.tree, "2": other})
    assert [",".join(cells) for cells in csv.reader(io.StringIO(text, newline=""))] == [
        "tree,parent,child,parent_kind,child_kind",
        "1,snow is cold,snow is ice,hypothesis,intermediate",
        "1,snow is ice,ice is frozen,intermediate,intermediate",
        "1,ice is frozen,water freezes,intermediate,premise",
        "2,l,m,intermediate,premise",
    ]


def test_nasty_texts_stay_in_their_cells(nasty: Tree) -> None:
    rows = [*csv.DictReader(io.StringIO(to_pairs_csv({"=t": nasty}), newline=""))]
    edges = [(node.text, nasty.nodes[child].text) for node in nasty.nodes.values() for child in node.children]
    expected = sorted((escape_cell(parent), escape_cell(child)) for parent, child in edges)
    assert sorted((row["parent"], row["child"]) for row in rows) == expected
    assert {row["tree"] for row in rows} == {"'=t"}
    assert {len(row) for row in rows} == {5}
    assert "'=HYPERLINK(1)" in {row["child"] for row in rows} | {row["parent"] for row in rows}


SNOW, FIRE, SUN = (Premise(text) for text in ("snow is ice", "fire is hot", "the sun is hot"))
SEEN = Evidence(
    retriever="minilm",
    revision="rev 1",
    corpus_version=4,
    query="cold things",
    own_words=True,
    shown=(ShownCandidate(SNOW.key, 1, 0.75), ShownCandidate(FIRE.key, 2, 0.5)),
)


def rows(*trees: Any, **evidence: Any) -> list[dict[str, str]]:
    text = to_judged_csv({f"t{i}": (tree.history, evidence) for i, tree in enumerate(trees, start=1)})
    return [*csv.DictReader(io.StringIO(text, newline=""))]


def test_a_judgement_with_its_evidence(tell: Any) -> None:
    story = tell("snow is cold")
    story.ann(Accept(node="n1", premise=SNOW))
    story.bob(Finish(node="n1", premises=(FIRE, SUN)))
    text = to_judged_csv({"4fd2e37a": (story.history, {2: SEEN, 3: SEEN})})
    cells = "minilm,rev 1,4,cold things,yes"
    assert [",".join(cells) for cells in csv.reader(io.StringIO(text, newline=""))] == [
        "tree,node,query,premise,key,verdict,author,time,retriever,revision,corpus_version,searched,"
        "own_words,rank,score,verified,proposed,after,retrieved",
        f"4fd2e37a,n1,snow is cold,snow is ice,{SNOW.key},accepted,Ann,2026-01-02T03:04:07+00:00,"
        f"{cells},1,0.75,no,,,",
        f"4fd2e37a,n1,snow is cold,fire is hot,{FIRE.key},rejected,Bob,2026-01-02T03:04:08+00:00,"
        f"{cells},2,0.5,no,,,",
        f"4fd2e37a,n1,snow is cold,the sun is hot,{SUN.key},rejected,Bob,2026-01-02T03:04:08+00:00,"
        f"{cells},,,no,,,",
    ]


def test_a_decision_on_a_proposal_is_told_from_one_on_what_was_retrieved(tell: Any) -> None:
    story = tell("snow is cold")
    story.ann(Accept(node="n1", premise=SNOW))
    story.ann(Reject(node="n1", premise=FIRE))
    candidates = tuple(replace(candidate, retrieved=5 - candidate.rank) for candidate in SEEN.shown)
    after_snow = Proposal(means="next", after=(SNOW.key, SUN.key), k=60, among="minilm@1")
    following = replace(SEEN, retriever="arcf-minilm", shown=candidates, proposal=after_snow)
    drafted = replace(SEEN, retriever="arcf-minilm", proposal=Proposal(means="draft"))
    text = to_judged_csv({"t": (story.history, {2: drafted, 3: following})})
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    columns = ("retriever", "rank", "proposed", "after", "retrieved")
    assert [first[name] for name in columns] == ["arcf-minilm", "1", "draft", "", ""]
    assert [second[name] for name in columns] == ["arcf-minilm", "2", "next", f"{SNOW.key} {SUN.key}", "3"]


def test_the_query_is_the_text_at_that_time_and_the_place_where_it_was_judged(tell: Any) -> None:
    story = tell("snow is cold")
    story.ann(Accept(node="n1", premise=SNOW))
    story.ann(Conclude(node="n1", premises=("n2",), text="snow is frozen"))
    story.ann(Edit(node="n1", text="snow is icy"))
    (row,) = rows(story)
    assert (row["node"], row["query"]) == ("n1", "snow is cold")


def test_only_judgements_in_force_are_listed(tell: Any) -> None:
    story = tell("snow is cold")
    story.ann(Accept(node="n1", premise=SNOW))
    story.ann(Reject(node="n1", premise=FIRE))
    story.ann(Write(node="n1", text="by hand"))
    assert [row["premise"] for row in rows(story)] == [SNOW.text, FIRE.text]
    story.ann(Remove(node="n2"))
    assert [row["premise"] for row in rows(story)] == [FIRE.text]
    story.undo()
    story.undo()
    story.undo()
    assert [row["premise"] for row in rows(story)] == [SNOW.text]


def test_no_cell_is_a_formula(tell: Any) -> None:
    text = "=cmd|' /C calc'!A0"
    story = tell(text)
    story.ann(Reject(node="n1", premise=Premise(f"{text} too")))
    evidence = Evidence(retriever=text, revision=text, corpus_version=1, query=text)
    table = to_judged_csv({text: (story.history, {2: evidence})})
    (row,) = csv.DictReader(io.StringIO(table, newline=""))
    for column in ("tree", "query", "premise", "retriever", "revision", "searched"):
        assert row[column].startswith(f"'{text}")
    assert row["key"] == Premise(f"{text} too").key
