"""Corpora encoded into a vector store, by this process and by a cluster that loses a node."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.errors import DemoError, EncoderError, SettingsError
from entail.index.encoding import encoding
from entail.index.encoding.cluster import encode_on_ray
from entail.index.encoding.encoding import Encoding, encode_corpus
from entail.index.store import VectorStore
from entail.index.vectors import premise_vectors, unit
from entail.progress import Progress
from tests.conftest import SYLLABLES


def corpus_of(count: int) -> Corpus:
    random = np.random.default_rng(4)
    texts = (" ".join(random.choice(SYLLABLES, size=6)) + f" {at}" for at in range(count))
    return Corpus.of("facts", texts)


def assert_whole(done: Encoding, corpus: Corpus, expected: Any) -> None:
    """Check that each premise has its row, and one alone."""
    store = VectorStore(done.folder, revision=done.revision, dimension=16, metric="inner_product")
    rows = store.read(corpus.numbers)
    assert rows is not None
    np.testing.assert_allclose(unit(rows), expected, atol=2e-3)
    times = Counter(number for segment in store.segments for number in segment.numbers.tolist())
    assert set(times.values()) == {1}
    assert len(times) == len(corpus)


@pytest.fixture
def store(tiny_home: Path, tmp_path: Path) -> Path:
    return tmp_path / "store"


def expected_of(corpus: Corpus) -> Any:
    return premise_vectors(corpus, BiEncoder("tiny", device="cpu"), cache_dir=None)


def test_what_a_store_lacks_is_encoded_and_an_index_reads_it(store: Path) -> None:
    corpus = corpus_of(300)
    first = encode_corpus(Corpus.of("part", corpus.texts[:100]), "tiny", store=store)
    done = encode_corpus(corpus, "tiny", store=store)
    again = encode_corpus(corpus, "tiny", store=store)
    assert [first.encoded, done.encoded, again.encoded] == [100, 200, 0]
    assert_whole(done, corpus, expected_of(corpus))
    encoder = BiEncoder("tiny", device="cpu")
    encoder.encode_premises = None  # type: ignore[method-assign,assignment]  # must not run
    assert premise_vectors(corpus, encoder, cache_dir=store).shape == (300, 16)


def test_an_encoding_that_fails_goes_on_where_it_was(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(300)
    monkeypatch.setattr(encoding, "ENCODED_AT_ONCE", 100)

    def stop(progress: Progress) -> None:
        raise EncoderError("stopped")

    with pytest.raises(EncoderError, match="stopped"):
        encode_corpus(corpus, "tiny", store=store, progress=stop)
    done = encode_corpus(corpus, "tiny", store=store)
    assert done.encoded == 200
    assert_whole(done, corpus, expected_of(corpus))


def test_gaussians_are_encoded_too(gaussian: str, tmp_path: Path) -> None:
    done = encode_corpus(corpus_of(20), gaussian, store=tmp_path / "store")
    assert done.encoded == 20
    assert encode_corpus(corpus_of(20), gaussian, store=tmp_path / "store").encoded == 0


def test_a_store_that_cannot_be_written_is_named(store: Path) -> None:
    store.write_text("a file", encoding="utf-8")
    with pytest.raises(EncoderError, match="store"):
        encode_corpus(corpus_of(10), "tiny", store=store)


def test_without_ray_the_error_says_what_to_install(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match="pip install"):
        encode_corpus(corpus_of(10), "tiny", store=store, engine="ray")


def test_a_demo_encodes_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    with pytest.raises(DemoError):
        encode_corpus(corpus_of(10), "tiny", store=store)
    assert not store.exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray, which leaves its own files and sockets open
def test_a_node_that_is_killed_on_the_way_loses_and_repeats_nothing(store: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'entail[ray]'")
    from ray.cluster_utils import Cluster

    corpus = corpus_of(6000)
    memory = 100 * 2**20
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": memory, "include_dashboard": False},
    )
    lost = cluster.add_node(num_cpus=1, object_store_memory=memory)
    killed = []

    def kill(progress: Progress) -> None:
        if not killed:
            killed.append(progress.done)
            cluster.remove_node(lost, allow_graceful=False)

    try:
        ray.init(address=cluster.address, log_to_driver=False)
        done = encode_corpus(corpus, "tiny", store=store, engine="ray", workers=2, progress=kill)
        numbers = corpus.numbers
        of_others = encode_on_ray(
            "tiny", numbers, corpus.texts, revision="tiny@other", workers=1, device="cpu"
        )
        with pytest.raises(EncoderError, match="tiny@other"):
            next(of_others)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert 0 < killed[0] < 6000
    assert done.encoded == 6000
    assert_whole(done, corpus, expected_of(corpus))
