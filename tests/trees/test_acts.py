"""JSON form of acts and evidence, and acts in words."""

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.records import Premise
from entail.data.stored import parse_as
from entail.data.text import quote
from entail.trees.log.acts import (
    Accept,
    AnyAct,
    Conclude,
    Create,
    Edit,
    Evidence,
    Finish,
    GivenNode,
    Move,
    Proposal,
    Redo,
    Reject,
    Remove,
    Reorder,
    Restore,
    ShownCandidate,
    Undo,
    Write,
    act_to_json,
    describe,
    evidence_to_json,
    parse_act,
)

PREMISE = Premise("ice is cold", "uid-1")
EVERY_ACT = [
    Create(
        hypothesis="h", nodes=(GivenNode("a", -1, "int1"), GivenNode("b", 0, "sent1", "k")), source={"id": 1}
    ),
    Accept(node="n1", premise=PREMISE),
    Reject(node="n1", premise=PREMISE),
    Finish(node="n1", premises=(PREMISE, Premise("b"))),
    Write(node="n1", text="x"),
    Conclude(node="n1", premises=("n2", "n3"), text="x"),
    Edit(node="n1", text="x"),
    Remove(node="n2", keep_premises=True),
    Reorder(node="n1", order=("n3", "n2")),
    Move(node="n2", parent="n3"),
    Restore(seq=2),
    Undo(seq=2),
    Redo(seq=2),
]


@pytest.mark.parametrize("act", EVERY_ACT, ids=lambda act: act.kind)
def test_acts_come_back_from_json_and_descriptions_quote_their_sentences(act: Any) -> None:
    assert parse_act(act.kind, json.dumps(act_to_json(act))) == act
    texts = {"n1": "snow", "n2": "frost"}
    own = [getattr(act, "text", None), getattr(getattr(act, "premise", None), "text", None)]
    own += [] if isinstance(act, Conclude) else [texts.get(getattr(act, "node", ""))]
    assert all(quote(text) in describe(act, texts) for text in own if text is not None)


def test_every_kind_of_act_is_tried_here() -> None:
    assert {type(act) for act in EVERY_ACT} == set(get_args(AnyAct))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.text(), json_values, max_size=3))
def test_any_text_and_any_source_come_back(text: str, source: dict[str, Any]) -> None:
    act = Create(hypothesis=text, nodes=(GivenNode(text, -1),), source=MappingProxyType(source))
    back = parse_act("create", json.dumps(act_to_json(act)))
    assert back == Create(hypothesis=text, nodes=(GivenNode(text, -1),), source=source)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("accept", {"node": "n1", "premise": "x"}),
        ("accept", {"node": "n1", "premise": {"text": "x", "key": "y"}}),
        ("create", {"hypothesis": "h", "nodes": [{"text": "x", "parent": "n1"}]}),
        ("remove", {"node": "n1", "keep_premises": "no"}),
        ("undo", {"seq": "2"}),
    ],
)
def test_a_payload_of_other_fields_or_types_is_refused(kind: str, payload: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"text|node|premise|parent|seq|keep"):
        parse_act(kind, json.dumps(payload))


def test_evidence_comes_back_from_json() -> None:
    payload = {
        **{"retriever": "minilm", "revision": "abc", "corpus_version": 3, "query": "ice", "own_words": True},
        "shown": [{"key": "k1", "rank": 1, "score": 0.5}, {"key": "k2", "rank": 2, "score": 0.25}],
    }
    evidence = parse_as(Evidence, json.dumps(payload))
    assert evidence_to_json(evidence) == payload, "what is not proposed is written as it always was"
    assert evidence_to_json(None) is None
    proposal = Proposal(means="next", after=("k3", "k4"), k=60, among="minilm@1")
    proposed = replace(evidence, shown=(ShownCandidate("k1", 1, 2.5, 7),), proposal=proposal)
    assert parse_as(Evidence, json.dumps(evidence_to_json(proposed))) == proposed
