"""An adapter is on both towers, on the query tower alone, or each has its own; one base serves all."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.towers import BertTowers
from entail.errors import EncoderError
from tests.encoders.conftest import card

TEXTS = ["ice is cold", "", "the moon is a kind of rock", "water " * 90, "a star is hot", "fire"]
KINDS = ["siamese", "single", "dual"]

Save = Callable[..., Path]


def by_peft(base: Path, adapter: Path | None, texts: Sequence[str] = TEXTS) -> Any:
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(base), device="cpu")
    if adapter is not None:
        first: Any = model[0]
        first.model = PeftModel.from_pretrained(first.model, str(adapter)).merge_and_unload()
        model.float()
    return model.encode(list(texts), normalize_embeddings=True)


def towers_of(encoder: BiEncoder) -> BertTowers:
    encoder.load()
    assert isinstance(encoder._towers, BertTowers)
    return encoder._towers


def expected(kind: str, base: Path, folder: Path, texts: Sequence[str] = TEXTS) -> tuple[Any, Any]:
    premise = {"siamese": folder, "single": None, "dual": folder / "premise_tower"}[kind]
    return by_peft(base, folder, texts), by_peft(base, premise, texts)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("siamese", {}),
        ("single", {}),
        ("dual", {}),
        (
            "dual",
            {
                "r": 3,
                "lora_alpha": 5,
                "use_rslora": True,
                "target_modules": ["query", "key", "value", "dense"],
            },
        ),
        (
            "dual",
            {
                "target_modules": "all-linear",
                "exclude_modules": ".*pooler.*",
                "lora_dropout": 0.5,
                "half": True,
            },
        ),
        ("dual", {"target_modules": ["output.dense", "key"], "init_lora_weights": "gaussian"}),
    ],
    ids=["siamese", "single", "dual", "all", "as trained here", "ends of names"],
)
def test_vectors_are_those_of_peft(
    make: Callable[..., Path], tiny: Path, kind: str, options: dict[str, Any]
) -> None:
    folder = make(kind, **options)
    encoder = BiEncoder(folder)
    towers_of(encoder)
    queries, premises = expected(kind, tiny, folder)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), queries, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_premises(TEXTS), premises, atol=1e-5)
    assert np.abs(queries - by_peft(tiny, None)).max() > 0.01
    assert bool(np.abs(queries - premises).max() < 1e-6) == (kind == "siamese")


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True},
        {"modules_to_save": ["intermediate.dense"]},
        {"rank_pattern": {"query": 1}},
        {"target_modules": r".*attention\.self\.key"},
        {"target_modules": ["query", "word_embeddings"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_adapters_are_left_to_peft(
    make: Callable[..., Path], tiny: Path, options: dict[str, Any]
) -> None:
    kind = "dual"
    folder = make(kind, **options)
    encoder = BiEncoder(folder)
    encoder.load()
    assert not isinstance(encoder._towers, BertTowers)
    queries, premises = expected(kind, tiny, folder)
    for _ in range(2):  # there and back
        np.testing.assert_allclose(encoder.encode_queries(TEXTS), queries, atol=1e-5)
        np.testing.assert_allclose(encoder.encode_premises(TEXTS), premises, atol=1e-5)
    assert np.abs(queries - premises).max() > 0.01


def test_the_packaged_base_takes_an_adapter_as_peft_does(make: Callable[..., Path]) -> None:
    base = resolve("minilm").path
    assert base is not None
    options = {"r": 16, "lora_alpha": 32, "target_modules": "all-linear", "half": True}
    folder = make("dual", base=base, said="minilm", **options)
    encoder = BiEncoder(folder)
    towers_of(encoder)
    texts = [*TEXTS, *sample_corpus().texts[::400]]
    queries, premises = expected("dual", base, folder, texts)
    np.testing.assert_allclose(encoder.encode_queries(texts), queries, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_premises(texts), premises, atol=1e-5)
    assert np.abs(queries - premises).max() > 0.01


def test_all_encoders_on_one_base_hold_one_copy_of_it(make: Callable[..., Path], tiny: Path) -> None:
    encoders = [BiEncoder(tiny), *(BiEncoder(make(kind, name=kind)) for kind in KINDS)]
    berts = [towers_of(encoder).bert for encoder in encoders]
    assert len({bert.words.data_ptr() for bert in berts}) == 1
    assert len({weight.data_ptr() for bert in berts for weight, _ in bert.linears.values()}) == 4
    alone = BiEncoder(tiny).encode_queries(TEXTS)
    for encoder in encoders:
        encoder.encode_queries(TEXTS)
    np.testing.assert_array_equal(encoders[0].encode_queries(TEXTS), alone)


def test_premise_vectors_are_bound_to_the_premise_tower(make: Callable[..., Path], tiny: Path) -> None:
    base = BiEncoder(tiny)
    single, siamese, dual = (BiEncoder(make(kind, name=kind)) for kind in ("single", "siamese", "dual"))
    assert base.premise_revision == base.revision
    assert single.premise_revision == base.revision
    assert siamese.premise_revision == siamese.revision
    assert len({base.revision, single.revision, siamese.revision, dual.revision, dual.premise_revision}) == 5
    assert [encoder.symmetric for encoder in (base, single, siamese, dual)] == [True, False, True, False]
    assert (single.entry.towers, dual.entry.towers) == ("single", "dual")


def test_revisions_follow_towers_and_weights_but_not_figures(
    make: Callable[..., Path], save_adapter: Save, tiny: Path
) -> None:
    folder = make("dual")
    dual = resolve(folder).revision
    card(folder, base=str(tiny), towers="dual", figures={"MAP": 0.5})
    assert resolve(folder).revision == dual
    # Encoders with other queries and the same premise tower share an index.
    premises = resolve(folder).premise_revision
    other = make("dual", name="other", seed=7)
    assert resolve(other).revision != dual
    assert resolve(other).premise_revision == premises
    save_adapter(folder / "premise_tower", tiny, seed=3)
    assert resolve(folder).revision != dual
    assert resolve(folder).premise_revision != premises


def test_towers_that_contradict_the_card_are_refused(
    make: Callable[..., Path], tiny: Path, tmp_path: Path
) -> None:
    folder = make("dual")
    for kind in ("siamese", "single"):
        card(folder, base=str(tiny), towers=kind)
        with pytest.raises(EncoderError):
            resolve(folder)
    card(folder, base=str(tiny), towers="dual")
    (folder / "premise_tower" / "adapter_model.safetensors").unlink()
    with pytest.raises(EncoderError):
        resolve(folder)
    shutil.rmtree(folder / "premise_tower")
    with pytest.raises(EncoderError):
        resolve(folder)
    whole = card(Path(shutil.copytree(tiny, tmp_path / "whole")), towers="dual")
    with pytest.raises(EncoderError):
        resolve(whole)


def test_a_whole_model_with_routes_stays_a_router(tiny: Path, save_tiny: Save, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Router

    parts = [
        list(SentenceTransformer(str(f), device="cpu")) for f in (tiny, save_tiny(tmp_path / "two", seed=5))
    ]
    router = Router.for_query_document(query_modules=parts[0], document_modules=parts[1])
    model = SentenceTransformer(modules=[router], device="cpu")
    model.save_pretrained(str(tmp_path / "routed"), create_model_card=False)
    encoder = BiEncoder(card(tmp_path / "routed", towers="dual"))
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), by_peft(tiny, None), atol=1e-5)
    np.testing.assert_allclose(encoder.encode_premises(TEXTS), by_peft(tmp_path / "two", None), atol=1e-5)
    assert not encoder.symmetric
    assert encoder.premise_revision == encoder.revision
