"""The public surface: a name is added here on purpose, and taken away only with a major version."""

import pytest

import entail

PUBLIC = str.split(
    "AeencConfig ArcfConfig Client Corpus CorpusStore EntailError ExplanationTree "
    "GausscseConfig GaussianEncoder Jobs Judgements Premise Reranker Run Step TreeLog __version__ "
    "active average_adapters bias compare convert evaluate_premises export_encoder fold load "
    "load_scorer measure_effort open_database promote pull_encoder push_encoder push_trees "
    "read_corpus read_trees retriever roll_back sample serve train_aeenc train_arcf "
    "train_gausscse write_card write_trees"
)


def test_public_names() -> None:
    assert entail.__all__ == PUBLIC
    assert dir(entail) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_names_resolve(name: str) -> None:
    export = getattr(entail, name)
    if isinstance(export, type) or callable(export):
        assert export.__name__ == name
        assert export.__doc__


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'entail' has no attribute 'nothing'"):
        _ = entail.nothing
