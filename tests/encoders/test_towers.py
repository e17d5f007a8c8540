"""Adapters on both towers, on the query tower alone, or on each; damaged adapters are refused."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.bert.lora import read_lora_config
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.towers import BertTowers
from entail.errors import EncoderError
from tests.encoders.conftest import card, edit_json, edit_tensors, save_adapter

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


def expected(kind: str, base: Path, folder: Path, texts: Sequence[str] = TEXTS) -> tuple[Any, Any]:
    premise = {"siamese": folder, "single": None, "dual": folder / "premise_tower"}[kind]
    return by_peft(base, folder, texts), by_peft(base, premise, texts)


ALL = {"r": 3, "lora_alpha": 5, "use_rslora": True, "target_modules": ["query", "key", "value", "dense"]}
TRAINED = {"target_modules": "all-linear", "exclude_modules": ".*pooler.*", "lora_dropout": 0.5, "half": True}
ENDS = {"target_modules": ["output.dense", "key"], "init_lora_weights": "gaussian"}


@pytest.mark.parametrize(
    ("kind", "options", "is_plain"),
    [
        *((kind, {}, True) for kind in KINDS),
        *(("dual", options, True) for options in (ALL, TRAINED, ENDS)),
        ("dual", {"use_dora": True}, False),
        ("dual", {"modules_to_save": ["intermediate.dense"]}, False),
        ("dual", {"rank_pattern": {"query": 1}}, False),
        ("dual", {"target_modules": r".*attention\.self\.key"}, False),
        ("dual", {"target_modules": ["query", "word_embeddings"]}, False),
    ],
)
def test_vectors_are_those_of_peft(
    make: Callable[..., Path], tiny: Path, kind: str, options: dict[str, Any], is_plain: bool
) -> None:
    folder = make(kind, **options)
    encoder = BiEncoder(folder)
    encoder.load()
    assert isinstance(encoder._towers, BertTowers) == is_plain
    queries, premises = expected(kind, tiny, folder)
    for _ in range(2):  # there and back
        np.testing.assert_allclose(encoder.encode_queries(TEXTS), queries, atol=1e-5)
        np.testing.assert_allclose(encoder.encode_premises(TEXTS), premises, atol=1e-5)
    assert np.abs(queries - by_peft(tiny, None)).max() > 0.01
    difference = np.abs(queries - premises).max()
    assert difference < 1e-6 if kind == "siamese" else difference > 0.01


def test_all_encoders_on_one_base_hold_one_copy_of_it(make: Callable[..., Path], tiny: Path) -> None:
    encoders = [BiEncoder(tiny), *(BiEncoder(make(kind, name=kind)) for kind in KINDS)]
    for encoder in encoders:
        encoder.load()
    berts = [encoder._towers.bert for encoder in encoders]
    assert len({bert.words.data_ptr() for bert in berts}) == 1
    assert len({weight.data_ptr() for bert in berts for weight, _ in bert.linears.values()}) == 4
    alone = BiEncoder(tiny).encode_queries(TEXTS)
    for encoder in encoders:
        encoder.encode_queries(TEXTS)
    np.testing.assert_array_equal(encoders[0].encode_queries(TEXTS), alone)


OWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pooling": ({"pooling": "cls"}, {}),
    "lengths": ({"pooling": "max", "norm": False}, {"similarity_fn_name": "dot"}),
    "dense": ({"dense": 4}, {}),
    "truncated texts": ({"limit": 6}, {}),
    "truncated vectors": ({}, {"truncate_dim": 4}),
    "prompts": ({}, {"prompts": {"query": "fire ", "document": "moon "}}),
}


@pytest.mark.parametrize(("parts", "settings"), OWN.values(), ids=OWN)
@pytest.mark.parametrize(
    "of_base", [{}, {"prompts": {"query": "ice ice ", "document": ""}}], ids=["", "asking"]
)
def test_an_adapter_by_sentence_transformers_brings_its_own_modules(
    save_tiny: Save, tmp_path: Path, parts: Any, settings: Any, of_base: Any
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    base = save_tiny(tmp_path / "base", **of_base)
    first = Transformer(str(base), max_seq_length=parts.get("limit", 32))
    modules: list[Any] = [first, Pooling(8, parts.get("pooling", "mean"))]
    modules += [Dense(8, parts["dense"])] if "dense" in parts else []
    modules += [Normalize()] if parts.get("norm", True) else []
    folder = save_adapter(tmp_path / "own", base, modules=modules, settings=settings)
    stock = SentenceTransformer(str(folder), device="cpu")
    edit_json(folder / "adapter_config.json", {"base_model_name_or_path": "/elsewhere/base"})
    card(folder, base=str(base))
    encoder = BiEncoder(folder)
    texts = [text for text in TEXTS if text]
    queries, premises = stock.encode_query(texts), stock.encode_document(texts)
    own, own_premises = encoder.encode_queries(texts), encoder.encode_premises(texts)
    assert encoder.dimension == own.shape[1] == queries.shape[1]
    for expected_vectors, vectors in ((queries, own), (premises, own_premises)):
        lengths = np.linalg.norm(expected_vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True), expected_vectors / lengths, atol=1e-5
        )
    ranks = np.argsort(-stock.similarity(queries, premises).numpy(), axis=1)
    np.testing.assert_array_equal(np.argsort(-own @ own_premises.T, axis=1), ranks)
    assert encoder.symmetric == (not settings.get("prompts") and "norm" not in parts)
    alone = resolve(folder).revision
    (folder / "modules.json").unlink()
    assert "-own+" in str(alone)
    assert resolve(folder).revision != alone


def test_revisions_follow_towers_and_weights_but_not_figures(make: Callable[..., Path], tiny: Path) -> None:
    base = BiEncoder(tiny)
    single, siamese, dual = (BiEncoder(make(kind, name=kind)) for kind in ("single", "siamese", "dual"))
    assert base.premise_revision == base.revision == single.premise_revision
    assert siamese.premise_revision == siamese.revision
    assert len({base.revision, single.revision, siamese.revision, dual.revision, dual.premise_revision}) == 5
    assert [encoder.symmetric for encoder in (base, single, siamese, dual)] == [True, False, True, False]
    folder = make("dual")
    before, premises = resolve(folder).revision, resolve(folder).premise_revision
    card(folder, base=str(tiny), towers="dual", figures={"MAP": 0.5})
    assert resolve(folder).revision == before
    # Encoders with other queries and the same premise tower share an index.
    other = resolve(make("dual", name="other", seed=7))
    assert other.revision != before
    assert other.premise_revision == premises
    save_adapter(folder / "premise_tower", tiny, seed=3)
    assert resolve(folder).revision != before
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
    with pytest.raises(EncoderError):  # a base of another size
        BiEncoder(card(make("single", name="small"), base="minilm", towers="single")).load()


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


QUERY = "base_model.model.encoder.layer.0.attention.self.query"
LORA_A = f"{QUERY}.lora_A.weight"


def _add(tensors: dict[str, Any]) -> None:
    for letter in "AB":
        other = f"{QUERY}.lora_{letter}.weight".replace("self.query", "output.dense")
        tensors[other] = tensors[f"{QUERY}.lora_{letter}.weight"].clone()


@pytest.mark.parametrize(
    "edit",
    [
        lambda tensors: tensors.pop(f"{QUERY}.lora_B.weight"),
        lambda tensors: tensors.update({LORA_A: tensors[LORA_A][:1].contiguous()}),
        lambda tensors: tensors.update({LORA_A: tensors[LORA_A].repeat(1, 2)}),
        lambda tensors: tensors.update({f"{QUERY}.lora_C.weight": tensors.pop(f"{QUERY}.lora_B.weight")}),
        _add,
        lambda tensors: tensors.update({LORA_A: tensors[LORA_A].int()}),
        lambda tensors: [
            tensors.update({name.replace("layer.0", "layer.7"): tensors.pop(name)}) for name in [*tensors]
        ],
    ],
    ids=["no B", "rank", "inputs", "renamed", "another", "integers", "layer"],
)
@pytest.mark.parametrize("options", [{}, {"alpha_pattern": {"value": 32}}], ids=["plain", "by PEFT"])
def test_a_damaged_adapter_is_refused(
    make: Callable[..., Path], edit: Callable[[dict[str, Any]], object], options: dict[str, Any]
) -> None:
    """PEFT would fill what is missing with random numbers."""
    folder = make("single", **options)
    edit_tensors(folder / "adapter_model.safetensors", edit)
    with pytest.raises(EncoderError, match="tuned"):
        BiEncoder(folder).load()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("use_dora", True),
        ("r", 4),
        ("lora_alpha", float("nan")),
        ("lora_alpha", "much"),
        ("target_modules", ["query"]),
        ("target_modules", ["query", "value", "key"]),
        ("modules_to_save", ["intermediate.dense"]),
    ],
)
def test_a_configuration_that_does_not_fit_its_tensors_is_refused(
    make: Callable[..., Path], field: str, value: object
) -> None:
    folder = make("single")
    edit_json(folder / "adapter_config.json", {field: value})
    with pytest.raises(EncoderError):
        BiEncoder(folder).load()


@pytest.mark.parametrize("options", [{}, {"alpha_pattern": {"query": 8}}], ids=["plain", "by PEFT"])
def test_an_adapter_that_changes_nothing_warns(
    make: Callable[..., Path], options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    folder = make("single", **options)
    BiEncoder(folder).load()
    assert not caplog.records
    edit_tensors(
        folder / "adapter_model.safetensors",
        lambda tensors: [tensors[name].zero_() for name in tensors if "lora_B" in name],
    )
    BiEncoder(folder).load()
    assert [record.args for record in caplog.records] == [("tuned",)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("r", "2"),
        ("lora_alpha", None),
        ("peft_type", "IA3"),
        ("init_lora_weights", "pissa"),
        ("something_new", {"on": True}),
        ("target_modules", "all-linear"),
    ],
)
def test_a_configuration_that_is_not_plain_lora_is_not_taken_for_it(
    make: Callable[..., Path], field: str, value: object
) -> None:
    folder = make("single")
    assert read_lora_config(folder) is not None
    edit_json(folder / "adapter_config.json", {field: value})
    assert read_lora_config(folder) is None
