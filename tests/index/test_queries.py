"""A query's vector is made once and remembered."""

import threading
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_trees
from entail.index.queries import QueryVectors


def test_a_known_query_is_not_encoded_again(encoder: Any) -> None:
    queries = QueryVectors(encoder)
    first = queries.encode(["ice", "fire", "ice"])
    assert encoder.queries == ["ice", "fire"]
    np.testing.assert_array_equal(first[0], first[2])
    second = queries.encode(["fire", "moon", "ice"])
    assert encoder.queries == ["ice", "fire", "moon"]
    np.testing.assert_array_equal(second, [encoder.vector(text) for text in ("fire", "moon", "ice")])


def test_white_space_makes_no_other_query(encoder: Any) -> None:
    queries = QueryVectors(encoder)
    queries.encode(["ice  is cold , yes"])
    queries.encode(["ice is cold, yes "])
    assert encoder.queries == ["ice is cold, yes"]


def test_the_last_used_are_kept(encoder: Any) -> None:
    queries = QueryVectors(encoder, capacity=2)
    for text in ("a", "b", "a", "c"):
        queries.encode([text])
    encoder.queries.clear()
    queries.encode(["a", "c"])
    assert encoder.queries == []
    queries.encode(["b"])
    assert encoder.queries == ["b"]
    assert len(queries) == 2


def test_more_queries_than_are_kept_are_answered(encoder: Any) -> None:
    texts = [f"query {i}" for i in range(10)]
    found = QueryVectors(encoder, capacity=3).encode(texts)
    np.testing.assert_array_equal(found, [encoder.vector(text) for text in texts])


def test_vectors_known_from_elsewhere_are_taken(encoder: Any) -> None:
    queries = QueryVectors(encoder)
    from entail.data.text import premise_key

    vector = np.ones(16, dtype=np.float32)
    found = queries.encode(["ice"], also={premise_key("ice"): vector})
    np.testing.assert_array_equal(found, [vector])
    assert encoder.queries == []


def test_no_queries_are_no_vectors(encoder: Any) -> None:
    assert QueryVectors(encoder).encode([]).shape == (0, 16)


def test_bundled_hypotheses_need_no_encoder(encoder: Any) -> None:
    encoder.revision, encoder.dimension = "minilm@53aa51172d14", 384
    tree = sample_trees()[0]
    texts = [tree.hypothesis, *tree.intermediates.values()]
    found = QueryVectors(encoder).encode(texts)
    assert found.shape == (len(texts), 384)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert encoder.queries == []


def test_an_encoder_that_fails_is_asked_again(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = QueryVectors(encoder)

    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode_queries", fail)
        with pytest.raises(RuntimeError):
            queries.encode(["ice"])
    assert queries.encode(["ice"]).shape == (1, 16)


def test_a_known_query_does_not_wait_for_a_new_one(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = QueryVectors(encoder)
    queries.encode(["known"])
    begun, released = threading.Event(), threading.Event()
    encode = encoder.encode_queries

    def slow(*args: Any, **options: Any) -> Any:
        begun.set()
        assert released.wait(10)
        return encode(*args, **options)

    monkeypatch.setattr(encoder, "encode_queries", slow)
    thread = threading.Thread(target=queries.encode, args=(["new"],))
    thread.start()
    assert begun.wait(10)
    assert queries.encode(["known"]).shape == (1, 16)
    released.set()
    thread.join()
    assert encoder.queries == ["known", "new"]
