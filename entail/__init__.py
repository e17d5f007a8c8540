"""Author explanation trees over your own corpus, with retrieval that learns what entails.

The names below load their modules when first used, so that ``import entail`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from entail.version import __version__

if TYPE_CHECKING:
    from entail.aeenc.bias import bias
    from entail.aeenc.config import AeencConfig
    from entail.aeenc.sampling import sample
    from entail.aeenc.training import train_aeenc
    from entail.arcf.config import ArcfConfig
    from entail.arcf.scoring.scorer import load_scorer
    from entail.arcf.training import train_arcf
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees, write_trees
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus, ExplanationTree, Premise, Step
    from entail.data.text import fold
    from entail.encoders.cross.reranker import Reranker
    from entail.encoders.encoder import load
    from entail.encoders.gaussian.encoder import GaussianEncoder
    from entail.errors import EntailError
    from entail.evaluation.retrieval.comparison import compare
    from entail.evaluation.retrieval.effort import measure_effort
    from entail.evaluation.retrieval.premises import evaluate_premises
    from entail.gausscse.config import GausscseConfig
    from entail.gausscse.training import train_gausscse
    from entail.hub.export import export_encoder
    from entail.hub.pull import pull_encoder
    from entail.hub.push import push_encoder
    from entail.hub.trees import push_trees
    from entail.index.factory import retriever
    from entail.jobs.jobs import Jobs
    from entail.registry.models import active, promote, roll_back
    from entail.serving.app import serve
    from entail.serving.client import Client
    from entail.training.adapters.averaging import average_adapters
    from entail.training.cards.template import write_card
    from entail.trees.formats.convert import convert
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.corpora import CorpusStore
    from entail.trees.store.database import open_database

_HOMES = {
    "AeencConfig": "entail.aeenc.config",
    "ArcfConfig": "entail.arcf.config",
    "Client": "entail.serving.client",
    "Corpus": "entail.data.records",
    "CorpusStore": "entail.trees.store.corpora",
    "EntailError": "entail.errors",
    "ExplanationTree": "entail.data.records",
    "GaussianEncoder": "entail.encoders.gaussian.encoder",
    "GausscseConfig": "entail.gausscse.config",
    "Jobs": "entail.jobs.jobs",
    "Judgements": "entail.data.judgements",
    "Premise": "entail.data.records",
    "Reranker": "entail.encoders.cross.reranker",
    "Step": "entail.data.records",
    "TreeLog": "entail.trees.log.event_log",
    "active": "entail.registry.models",
    "average_adapters": "entail.training.adapters.averaging",
    "bias": "entail.aeenc.bias",
    "compare": "entail.evaluation.retrieval.comparison",
    "convert": "entail.trees.formats.convert",
    "evaluate_premises": "entail.evaluation.retrieval.premises",
    "export_encoder": "entail.hub.export",
    "fold": "entail.data.text",
    "load": "entail.encoders.encoder",
    "load_scorer": "entail.arcf.scoring.scorer",
    "measure_effort": "entail.evaluation.retrieval.effort",
    "open_database": "entail.trees.store.database",
    "promote": "entail.registry.models",
    "pull_encoder": "entail.hub.pull",
    "push_encoder": "entail.hub.push",
    "push_trees": "entail.hub.trees",
    "read_corpus": "entail.data.corpora",
    "read_trees": "entail.data.entailment_bank.trees",
    "retriever": "entail.index.factory",
    "roll_back": "entail.registry.models",
    "sample": "entail.aeenc.sampling",
    "serve": "entail.serving.app",
    "train_aeenc": "entail.aeenc.training",
    "train_arcf": "entail.arcf.training",
    "train_gausscse": "entail.gausscse.training",
    "write_card": "entail.training.cards.template",
    "write_trees": "entail.data.entailment_bank.trees",
}

__all__ = [
    "AeencConfig",
    "ArcfConfig",
    "Client",
    "Corpus",
    "CorpusStore",
    "EntailError",
    "ExplanationTree",
    "GausscseConfig",
    "GaussianEncoder",
    "Jobs",
    "Judgements",
    "Premise",
    "Reranker",
    "Step",
    "TreeLog",
    "__version__",
    "active",
    "average_adapters",
    "bias",
    "compare",
    "convert",
    "evaluate_premises",
    "export_encoder",
    "fold",
    "load",
    "load_scorer",
    "measure_effort",
    "open_database",
    "promote",
    "pull_encoder",
    "push_encoder",
    "push_trees",
    "read_corpus",
    "read_trees",
    "retriever",
    "roll_back",
    "sample",
    "serve",
    "train_aeenc",
    "train_arcf",
    "train_gausscse",
    "write_card",
    "write_trees",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes are of any type
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'entail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
