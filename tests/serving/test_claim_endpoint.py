"""Questions as claims, over HTTP."""

import pytest

from entail.claims import existence_claim
from entail.errors import ServingError
from entail.serving.client import Client
from tests.serving.conftest import Served


def test_claims(served: Served) -> None:
    questions = ["When did Rome win?", "who plays the mom on modern family", "谁写了红楼梦"]
    with Client(served.url) as client:
        records = client.claim(questions).claims
    assert [(record.question, record.claim, record.rule, record.fallback) for record in records] == [
        (question, claim.text, claim.rule, claim.fallback)
        for question in questions
        for claim in [existence_claim(question)]
    ]
    assert [record.fallback for record in records] == [False, False, True]


def test_statements(served: Served) -> None:
    questions = ["When did Rome win?", "who won"]
    with Client(served.url) as client:
        records = client.claim(questions, answers=["202 BC", "Rome"]).claims
        assert [record.statement for record in records] == ["Rome won in 202 BC.", "Rome won."]
        assert [record.claim for record in records] == [
            existence_claim(question).text for question in questions
        ]
        assert client.claim(questions[:1]).claims[0].statement is None
        with pytest.raises(ServingError, match="as many answers as questions, 2, found 1"):
            client.claim(questions, answers=["Rome"])


def test_errors(served: Served) -> None:
    assert served.post("/claim", questions=[]).status == 422
    with Client(served.url) as client:
        with pytest.raises(ServingError, match="at most"):
            client.claim(["who?"] * 10_000)
        with pytest.raises(ServingError, match="empty"):
            client.claim([" "])
