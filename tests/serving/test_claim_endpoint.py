"""Questions as claims, over HTTP."""

from entail.claims import existence_claim
from entail.serving.client import Client
from tests.serving.conftest import Served


def test_claims(served: Served) -> None:
    questions = ["When did Rome win?", "who plays the mom on modern family", "谁写了红楼梦"]
    with Client(served.url) as client:
        records = client.claim(questions).claims
        stated = client.claim(questions[:1], answers=["202 BC"]).claims
    assert [(record.question, record.claim, record.rule) for record in records] == [
        (question, claim.text, claim.rule) for question in questions for claim in [existence_claim(question)]
    ]
    assert [record.fallback for record in records] == [False, False, True]
    assert [record.statement for record in (*records, *stated)] == [None, None, None, "Rome won in 202 BC."]
