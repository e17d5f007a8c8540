"""Adapter of re-rankers: trainings on the lists of a retriever, measured on these lists.

A model is a folder of a re-ranker, or a retriever of the catalogue, whose own lists are then the control.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entail.aeenc.reranking.method import RERANKER
from entail.aeenc.reranking.training import train_reranker
from entail.encoders.cross.reranker import Reranker
from entail.encoders.weights import read_object
from entail.index.factory import rerank, retriever
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.adapters.aeenc import measure_premises
from lab.data import DataFolder, source_of


def train(work: Work) -> None:
    """Train a re-ranker on the lists of the configured retriever for the trees of `train`."""
    corpus, config = work.data.corpus(work.sets["corpus"]), work.config(RERANKER)
    train_reranker(
        corpus,
        config,
        retriever(config.retriever, corpus, cache_dir=work.cache / "vectors"),
        trees=work.data.trees(work.sets["train"]),
        run=Run(data=[source_of(work.sets["train"])], out=work.out),
    )


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the lists of the retriever that it learnt from, re-ranked, on `trees`."""
    corpus, folder = data.corpus(sets["corpus"]), Path(model)
    if not folder.is_dir():
        return measure_premises(retriever(model, corpus, cache_dir=cache / "vectors"), data, sets)
    record = read_object(folder / "entail.json")
    config = record.get("config") or record["averaged"]["encoders"][0]["config"]
    index = retriever(str(config["retriever"]), corpus, cache_dir=cache / "vectors")
    return measure_premises(rerank(index, corpus, Reranker(folder)), data, sets)
