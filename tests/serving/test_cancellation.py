"""Work of a request that ends with its answer: at the deadline, and when its client disconnects.

The first step of the work is held until the request has ended. Then the next request is answered by the same
threads, one of each kind, so whatever the first one still computed would have been counted before.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import faiss
import pytest

from entail.encoders import encoder as encoders
from entail.encoders.cross.reranker import Reranker
from entail.encoders.towers import BertTowers
from entail.index import ranking
from entail.index.gaussian import LiftedGaussians
from entail.index.lexical import TfidfIndex, load_bm25s
from entail.runtime import chains
from entail.serving import routes
from entail.serving.messages import Limits
from tests.arcf.conftest import FakeScorer
from tests.serving.conftest import SOON, Served
from tests.support.machine import until

PATIENT = Limits(requests=1, seconds=1_000)
HURRIED = Limits(requests=1, seconds=0.3)

TEXTS = [" ".join([word] * 20) for word in ("ba", "be", "bi", "bo", "bu", "da")]
"""Texts that make a forward pass each."""

Fields = Callable[[Sequence[str]], dict[str, Any]]


class Steps:
    """Counts steps of work and holds them until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.hold()

    def hold(self) -> None:
        """Count from 0, and hold the next step."""
        self.count = 0
        self.reached, self.released = threading.Event(), threading.Event()

    def of(self, owner: object, name: str) -> None:
        """Count the calls of a function of a class or module."""
        do = getattr(owner, name)

        @wraps(do)
        def step(*args: Any, **options: Any) -> Any:
            self.count += 1
            self.reached.set()
            assert self.released.wait(SOON)
            return do(*args, **options)

        self._monkeypatch.setattr(owner, name, step)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    counted = Steps(monkeypatch)
    yield counted
    counted.released.set()


@pytest.fixture
def mine(
    gaussian: str,
    write_reranker: Callable[..., Path],
    serve: Callable[..., Served],
    install_scorer: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> Served:
    """A server of encoders of points and of Gaussians, a re-ranker and a scorer; one thread for requests."""
    write_reranker("reader", depth=5)
    monkeypatch.setattr(encoders, "PASS_TOKENS", 30)
    monkeypatch.setattr(ranking, "SCORES_AT_ONCE", 1)
    install_scorer(lambda prefix, candidate: float(len(candidate)))
    return serve(limits=PATIENT, others=[gaussian])


def search(retriever: str, **options: str) -> Fields:
    return lambda texts: {"queries": texts, "corpus": "grove", "retriever": retriever, **options}


def chain(scorer: str) -> Fields:
    fields = {"question": "ba", "answer": "be", "facts": TEXTS, "scorer": scorer, "least": len(TEXTS)}
    return lambda texts: fields | {"length": len(texts)}


WORK: dict[str, tuple[object, str, str, Fields]] = {
    "vectors": (BertTowers, "encode", "/encode", lambda texts: {"texts": texts}),
    "dense": (faiss.IndexFlatIP, "search", "/search", search("tiny")),
    "by direction": (LiftedGaussians, "divergences", "/search", search("mine")),
    "bm25": (load_bm25s().BM25, "get_scores_from_ids", "/search", search("bm25")),
    "tfidf": (TfidfIndex, "scores", "/search", search("tfidf")),
    "re-ranked": (Reranker, "score", "/search", search("bm25", reranker="reader")),
    "direction": (BertTowers, "encode", "/direction", lambda texts: {"first": texts, "second": texts}),
    "claim": (routes, "existence_claim", "/claim", lambda texts: {"questions": texts}),
    "chain": (FakeScorer, "score", "/chain", chain("mine")),
}
"""Owner and name of a function that is a step of work, path of the request, and its fields by its texts."""


@pytest.mark.parametrize("work", WORK)
def test_work_ends_with_its_request(work: str, mine: Served, grove: dict[str, Any], steps: Steps) -> None:
    owner, name, path, fields = WORK[work]
    texts = grove["facts"][:6] if path == "/search" and owner is not BertTowers else TEXTS
    # So that weights, indexes and scorers are there.
    assert mine.post(path, **fields(texts[-1:])).status == 200
    steps.of(owner, name)
    for end in (time_out, disconnect):
        steps.hold()
        end(mine, path, fields(texts), once=steps.reached)
        steps.released.set()
        assert mine.post(path, **fields(texts[:1])).status == 200
        assert steps.count == 2


def time_out(served: Served, path: str, fields: dict[str, Any], *, once: threading.Event) -> None:
    """Let a request time out after its work has begun."""
    served.service.limits = HURRIED
    while not once.is_set():  # again if it took longer to get there
        reply = served.post(path, **fields)
        assert (reply.status, reply.error["kind"]) == (504, "timeout")
    served.service.limits = PATIENT


def disconnect(served: Served, path: str, fields: dict[str, Any], *, once: threading.Event) -> None:
    """Send a request, disconnect when its work has begun, and wait until the server knows."""
    body = json.dumps(fields).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        assert once.wait(SOON)
        assert served.post(path).status == 429
    until(lambda: served.post(path).status == 422)


def test_one_chain_at_a_time(mine: Served, steps: Steps) -> None:
    mine.service.limits = Limits(requests=2)
    steps.of(FakeScorer, "score")
    first = mine.send_together(("/chain", chain("mine")(TEXTS)))
    assert steps.reached.wait(SOON)
    mine.service.limits = Limits(requests=2, seconds=0.3)
    assert mine.post("/chain", **chain("mine")(TEXTS)).status == 504
    mine.service.limits = PATIENT
    steps.released.set()
    assert first()[0].status == 200
    assert mine.post("/chain", **chain("mine")(TEXTS[:1])).status == 200
    assert steps.count == len(TEXTS) + 1


def test_work_for_all_requests_is_finished(mine: Served, steps: Steps) -> None:
    # Else a corpus that takes longer to prepare than a request may last would never be ready.
    steps.of(chains, "fact_similarities")
    fields = {"question": "ba", "answer": "be", "corpus": "grove", "scorer": "tfidf", "length": 2}
    time_out(mine, "/chain", fields, once=steps.reached)
    steps.released.set()
    assert mine.post("/chain", **fields).status == 200
    assert steps.count == 1
