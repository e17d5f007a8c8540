"""Premise vectors are encoded once, kept whole, and never taken for another encoder's or corpus's."""

import json
import logging
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.errors import CorpusError, ManifestMismatchError
from entail.index import vectors as module
from entail.index.protocol import Manifest
from entail.index.vectors import KEEP, ShippedVectors, check_manifest, premise_vectors, shipped_vectors, slug
from entail.progress import Progress

TEXTS = ["ice is cold", "fire is hot", "the moon is a rock"]
CORPUS = Corpus.of("tiny", TEXTS)


def _entry(cache_dir: Path, corpus: Corpus = CORPUS) -> Path:
    return cache_dir / "stub@1" / corpus.hash


def test_vectors_stand_in_the_order_of_the_corpus(encoder: Any, cache_dir: Path) -> None:
    found = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [encoder.vector(text) for text in TEXTS], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_a_second_call_encodes_nothing_and_gives_the_same_numbers(encoder: Any, cache_dir: Path) -> None:
    first = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    encoder.premises.clear()
    second = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == []
    np.testing.assert_array_equal(first, second)


def test_only_new_lines_are_encoded_when_a_corpus_grows(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    encoder.premises.clear()
    grown = Corpus.of("grown", ["a star is hot", *reversed(TEXTS), "water is wet"])
    found = premise_vectors(grown, encoder, cache_dir=cache_dir)
    assert encoder.premises == ["a star is hot", "water is wet"]
    np.testing.assert_allclose(found, [encoder.vector(text) for text in grown.texts], atol=1e-3)


def test_premises_are_gathered_from_several_corpora(encoder: Any, cache_dir: Path) -> None:
    for text in TEXTS:
        premise_vectors(Corpus.of("one", [text]), encoder, cache_dir=cache_dir)
    encoder.premises.clear()
    found = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == []
    np.testing.assert_allclose(found, [encoder.vector(text) for text in TEXTS], atol=1e-3)


def test_a_retired_premise_costs_nothing(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    encoder.premises.clear()
    fewer = premise_vectors(Corpus.of("fewer", TEXTS[1:]), encoder, cache_dir=cache_dir)
    assert fewer.shape == (2, 16)
    assert encoder.premises == []


def test_texts_are_encoded_folded(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(Corpus.of("spaced", ["ice  is cold , too"]), encoder, cache_dir=cache_dir)
    assert encoder.premises == ["ice is cold, too"]


def test_another_revision_is_encoded_anew(encoder: Any, other_encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    premise_vectors(CORPUS, other_encoder, cache_dir=cache_dir)
    assert other_encoder.premises == TEXTS


def test_encoders_with_one_premise_tower_share_their_vectors(
    encoder: Any, other_encoder: Any, cache_dir: Path
) -> None:
    found = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    other_encoder.premises_by = encoder.revision
    grown = Corpus.of("grown", [*CORPUS.texts, "one more"])
    np.testing.assert_array_equal(premise_vectors(CORPUS, other_encoder, cache_dir=cache_dir), found)
    premise_vectors(grown, other_encoder, cache_dir=cache_dir)
    assert other_encoder.premises == ["one more"]
    assert [shelf.name for shelf in cache_dir.iterdir()] == ["stub@1"]


def test_an_entry_that_says_nothing_of_towers_is_read(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    file = _entry(cache_dir) / "manifest.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    del told["premise_revision"]
    file.write_text(json.dumps(told), encoding="utf-8")
    encoder.premises.clear()
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == []


def test_progress_counts_what_has_to_be_encoded(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    seen: list[Progress] = []
    premise_vectors(Corpus.of("more", [*TEXTS, "new"]), encoder, cache_dir=cache_dir, progress=seen.append)
    assert [(p.done, p.total) for p in seen] == [(1, 1)]


def test_the_entry_says_what_it_holds(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    told = json.loads((_entry(cache_dir) / "manifest.json").read_text(encoding="utf-8"))
    assert told.pop("sha256")
    assert Manifest(**told) == Manifest("stub@1", 16, "inner_product", 3, CORPUS.hash)
    assert (_entry(cache_dir) / "keys.txt").read_text(encoding="ascii").split() == list(CORPUS.keys)
    assert np.load(_entry(cache_dir) / "vectors.npy").dtype == np.float16


def test_an_empty_corpus_is_refused(encoder: Any, cache_dir: Path) -> None:
    with pytest.raises(CorpusError, match="'none' holds no premises"):
        premise_vectors(Corpus.of("none", []), encoder, cache_dir=cache_dir)


def test_a_corpus_of_one_line_is_a_corpus(encoder: Any, cache_dir: Path) -> None:
    assert premise_vectors(Corpus.of("one", ["ice"]), encoder, cache_dir=cache_dir).shape == (1, 16)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [_truncate, _flip, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("name", ["vectors.npy", "keys.txt", "manifest.json"])
def test_a_damaged_entry_is_made_again(encoder: Any, cache_dir: Path, name: str, damage: Any) -> None:
    first = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    damage(_entry(cache_dir) / name)
    encoder.premises.clear()
    np.testing.assert_array_equal(premise_vectors(CORPUS, encoder, cache_dir=cache_dir), first)
    assert encoder.premises == TEXTS
    encoder.premises.clear()
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == []


def test_a_pickle_in_place_of_vectors_is_not_opened(encoder: Any, cache_dir: Path, tmp_path: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    entry = _entry(cache_dir)
    np.save(entry / "vectors.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    told = json.loads((entry / "manifest.json").read_text(encoding="utf-8"))
    told["sha256"] = module.sha256((entry / "vectors.npy").read_bytes()).hexdigest()
    (entry / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    encoder.premises.clear()
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == TEXTS


def test_vectors_that_are_not_finite_are_made_again(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    broken = np.full((3, 16), np.nan, dtype=np.float16)
    shutil.rmtree(_entry(cache_dir))
    module._write_entry(
        _entry(cache_dir), broken, CORPUS.keys, Manifest("stub@1", 16, "inner_product", 3, CORPUS.hash)
    )
    assert np.isfinite(premise_vectors(CORPUS, encoder, cache_dir=cache_dir)).all()


def test_an_entry_of_another_corpus_is_refused_with_both_sides(encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    two = Corpus.of("two", TEXTS[:2])
    shutil.copytree(_entry(cache_dir), _entry(cache_dir, two))
    with pytest.raises(ManifestMismatchError) as caught:
        premise_vectors(two, encoder, cache_dir=cache_dir)
    assert CORPUS.hash in str(caught.value)
    assert two.hash in str(caught.value)
    assert "count 3 where 2" in str(caught.value)


def test_an_entry_of_another_encoder_is_refused_with_both_sides(
    encoder: Any, other_encoder: Any, cache_dir: Path
) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    shutil.move(cache_dir / "stub@1", cache_dir / "other@1")
    with pytest.raises(ManifestMismatchError, match=r"'stub@1' where 'other@1' was expected"):
        premise_vectors(CORPUS, other_encoder, cache_dir=cache_dir)


def test_another_encoders_entry_is_no_source_of_premises(
    encoder: Any, other_encoder: Any, cache_dir: Path
) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    shutil.move(cache_dir / "stub@1", cache_dir / "other@1")
    premise_vectors(Corpus.of("more", [*TEXTS, "new"]), other_encoder, cache_dir=cache_dir)
    assert other_encoder.premises == [*TEXTS, "new"]


def test_every_field_of_a_manifest_guards() -> None:
    expected = Manifest("a@1", 4, "inner_product", 2, "h")
    check_manifest(expected, expected, where="x")
    for change in (
        {"revision": "b@1"},
        {"dimension": 5},
        {"metric": "l2"},
        {"count": 3},
        {"corpus_hash": "i"},
    ):
        other = replace(expected, **change)  # type: ignore[arg-type]  # any field, of its own type
        with pytest.raises(ManifestMismatchError, match=f"x: holds {next(iter(change))} "):
            check_manifest(other, expected, where="x")


def test_only_the_last_used_entries_are_kept(encoder: Any, cache_dir: Path) -> None:
    corpora = [Corpus.of("c", [f"fact {i}"]) for i in range(KEEP + 3)]
    for age, corpus in enumerate(corpora[:KEEP]):
        premise_vectors(corpus, encoder, cache_dir=cache_dir)
        os.utime(_entry(cache_dir, corpus), (1000 + age, 1000 + age))
    premise_vectors(corpora[0], encoder, cache_dir=cache_dir)
    for corpus in corpora[KEEP:]:
        premise_vectors(corpus, encoder, cache_dir=cache_dir)
    kept = {corpus.premises[0].text for corpus in corpora if _entry(cache_dir, corpus).is_dir()}
    assert len(kept) == KEEP
    assert "fact 0" in kept
    assert not kept & {"fact 1", "fact 2", "fact 3"}


def test_a_cache_that_cannot_be_written_costs_only_time(
    encoder: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        found = premise_vectors(CORPUS, encoder, cache_dir=tmp_path / "file")
    assert found.shape == (3, 16)
    assert "could not be cached" in caplog.text


def test_threads_that_ask_at_once_encode_once(encoder: Any, cache_dir: Path) -> None:
    found: list[Any] = []
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        found.append(premise_vectors(CORPUS, encoder, cache_dir=cache_dir))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert encoder.premises == TEXTS
    assert len(found) == 4
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_an_encoder_that_fails_leaves_nothing_behind(
    encoder: Any, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode_premises", fail)
        with pytest.raises(RuntimeError):
            premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert not _entry(cache_dir).exists()
    assert premise_vectors(CORPUS, encoder, cache_dir=cache_dir).shape == (3, 16)


def test_the_bundled_corpus_needs_neither_encoder_nor_disk(encoder: Any, cache_dir: Path) -> None:
    encoder.revision, encoder.dimension = "minilm@53aa51172d14", 384
    found = premise_vectors(sample_corpus(), encoder, cache_dir=cache_dir)
    assert found.shape == (len(sample_corpus()), 384)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert encoder.premises == []
    assert not cache_dir.exists()


def test_a_corpus_grown_from_the_sample_encodes_its_own_lines_only(encoder: Any, cache_dir: Path) -> None:
    encoder.revision, encoder.dimension = "minilm@53aa51172d14", 384
    grown = Corpus.of("grown", [*sample_corpus().texts[:50], "my own fact", *sample_corpus().texts[50:60]])
    found = premise_vectors(grown, encoder, cache_dir=cache_dir)
    assert encoder.premises == ["my own fact"]
    shipped = shipped_vectors(encoder.revision)
    assert isinstance(shipped, ShippedVectors)
    np.testing.assert_allclose(found[0], shipped.premises[grown.keys[0]], atol=1e-3)
    np.testing.assert_allclose(found[50], encoder.vector("my own fact"), atol=1e-3)


def test_revisions_make_folder_names_that_differ_and_stay_in_place() -> None:
    names = [
        slug(r) for r in ("a@1", "../../a@1", "a/b@1", "a-b@1", "A@1", ".a", "x" * 300, "x" * 301, "a b")
    ]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 140 for name in names)
