"""Segments of premise vectors: appended, merged, read by several, and those of earlier versions."""

import json
import logging
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.index import store as module
from entail.index import vectors
from entail.index.store import VectorStore, write_segment
from entail.index.vectors import PremiseRows, premise_vectors
from entail.progress import Progress

ABOUT: dict[str, Any] = {"revision": "stub@1", "metric": "inner_product"}
TEXTS = ["ice is cold", "fire is hot", "the moon is a rock"]


def _rows(count: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    numbers = draw.integers(0, 2**64 - 1, count, dtype=np.uint64, endpoint=True)
    return numbers, draw.normal(size=(count, 4)).astype(np.float16)


def _store(folder: Path | None) -> VectorStore:
    return VectorStore(folder, dimension=4, **ABOUT)


def _read(store: VectorStore, numbers: np.ndarray) -> np.ndarray:
    rows = store.read(numbers)
    assert rows is not None
    return rows


def _write_entry(folder: Path, corpus: Corpus, rows: np.ndarray, *, tower: bool = True) -> Path:
    """Write vectors as versions up to 3 did: a folder for each version of a corpus."""
    entry = folder / corpus.hash
    entry.mkdir(parents=True)
    np.save(entry / "vectors.npy", rows)
    (entry / "keys.txt").write_text("\n".join(corpus.keys) + "\n")
    manifest = {
        "revision": "stub@1",
        "dimension": rows.shape[1],
        "metric": "inner_product",
        "count": len(corpus),
        "corpus_hash": corpus.hash,
        "sha256": sha256((entry / "vectors.npy").read_bytes()).hexdigest(),
    }
    (entry / "manifest.json").write_text(
        json.dumps(manifest | ({"premise_revision": "stub@1"} if tower else {}))
    )
    return entry


@pytest.mark.parametrize("in_memory", [False, True])
def test_rows_are_read_in_any_order_from_all_segments(
    tmp_path: Path, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAPPED_ROWS", 3)
    numbers, rows = _rows(10)
    store = _store(None if in_memory else tmp_path)
    store.add(numbers[:3], rows[:3])
    store.add(numbers[3:9], rows[3:9])
    assert store.find_missing(numbers).tolist() == [False] * 9 + [True]
    for _ in range(3):
        np.testing.assert_array_equal(_read(store, numbers[8::-2]), rows[8::-2])
    assert store.read(numbers) is None


def test_a_large_segment_is_read_without_verifying_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    numbers, rows = _rows(4)
    file = write_segment(tmp_path, numbers, rows, **ABOUT).with_suffix(".rows.npy")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert _store(tmp_path).find_missing(numbers).all()
    assert len(caplog.records) == 1
    monkeypatch.setattr(module, "VERIFIED_BYTES", 8)
    assert not _store(tmp_path).find_missing(numbers).any()


def test_many_small_segments_become_one(tmp_path: Path) -> None:
    numbers, rows = _rows(module.MOST_SMALL + 1)
    reader = _store(tmp_path)
    for at in range(len(numbers)):
        write_segment(tmp_path, numbers[at : at + 1], rows[at : at + 1], **ABOUT)
        reader.refresh()
        reader.merge()
        assert not reader.find_missing(numbers[: at + 1]).any()
    assert len(list(tmp_path.glob("*.json"))) == len(list(tmp_path.glob("*.rows.npy"))) == 1
    for store in (reader, _store(tmp_path)):
        np.testing.assert_array_equal(_read(store, numbers), rows)


def test_an_encoding_that_was_stopped_goes_on(
    encoder: Any, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "ENCODED_AT_ONCE", 2)
    corpus = Corpus.of("five", [*TEXTS, "a fourth", "a fifth"])
    encode, progress = encoder.encode_premises, list[Progress]()

    def stop(texts: Sequence[str], **options: Any) -> Any:
        if len(encoder.premises) == 2:
            raise KeyboardInterrupt
        return encode(texts, **options)

    encoder.encode_premises = stop
    with pytest.raises(KeyboardInterrupt):
        premise_vectors(corpus, encoder, cache_dir=cache_dir, progress=progress.append)
    encoder.encode_premises = encode
    premise_vectors(corpus, encoder, cache_dir=cache_dir, progress=progress.append)
    assert encoder.premises == list(corpus.texts)
    assert [(part.done, part.total) for part in progress] == [(2, 5), (2, 3), (3, 3)]


@pytest.mark.parametrize("tower", [True, False])
def test_entries_of_earlier_versions_are_read_and_become_one_segment(
    encoder: Any, cache_dir: Path, tower: bool
) -> None:
    folder = cache_dir / "stub@1"
    rows = np.stack([encoder.vector(text) for text in TEXTS]).astype(np.float16)
    entries = [
        _write_entry(folder, Corpus.of("tiny", TEXTS[:count]), rows[:count], tower=tower) for count in (2, 3)
    ]
    corpus = Corpus.of("tiny", [*TEXTS[::-1], "new"])
    assert premise_vectors(corpus, encoder, cache_dir=cache_dir).shape == (4, 16)
    assert encoder.premises == ["new"]
    assert not any(entry.exists() for entry in entries)
    stored = PremiseRows(corpus, encoder, cache_dir=cache_dir).read(np.arange(3))
    np.testing.assert_array_equal(stored, rows[::-1])
    assert encoder.premises == ["new"]


@pytest.mark.parametrize("name", ["vectors.npy", "keys.txt", "manifest.json"])
def test_a_damaged_entry_of_an_earlier_version_is_ignored(encoder: Any, cache_dir: Path, name: str) -> None:
    rows = np.stack([encoder.vector(text) for text in TEXTS]).astype(np.float16)
    corpus = Corpus.of("tiny", TEXTS)
    file = _write_entry(cache_dir / "stub@1", corpus, rows) / name
    file.write_bytes(file.read_bytes()[:-9])
    premise_vectors(corpus, encoder, cache_dir=cache_dir)
    assert encoder.premises == TEXTS


def test_a_folder_that_cannot_be_written_costs_a_warning(
    encoder: Any, cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache_dir.mkdir()
    (cache_dir / "stub@1").write_text("a file, not a folder")
    corpus = Corpus.of("tiny", TEXTS)
    with caplog.at_level(logging.WARNING):
        assert premise_vectors(corpus, encoder, cache_dir=cache_dir).shape == (3, 16)
    assert caplog.records
    premise_vectors(corpus, encoder, cache_dir=cache_dir)
    assert encoder.premises == TEXTS


def test_a_demo_reads_and_writes_nothing(
    encoder: Any, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus.of("tiny", TEXTS)
    premise_vectors(Corpus.of("one", TEXTS[:1]), encoder, cache_dir=cache_dir)
    before = sorted(cache_dir.rglob("*"))
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    premise_vectors(corpus, encoder, cache_dir=cache_dir)
    premise_vectors(corpus, encoder, cache_dir=cache_dir)
    assert encoder.premises == TEXTS
    assert sorted(cache_dir.rglob("*")) == before
