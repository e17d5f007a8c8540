"""Author explanation trees over your own corpus, with retrieval that learns what entails.

The names below load their modules when first used, so that ``import entail`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from entail.version import __version__ as __version__

if TYPE_CHECKING:
    from entail.aeenc.bias import bias as bias
    from entail.aeenc.config import AeencConfig as AeencConfig
    from entail.aeenc.sampling import sample as sample
    from entail.aeenc.training import train_aeenc as train_aeenc
    from entail.arcf.config import ArcfConfig as ArcfConfig
    from entail.arcf.scoring.scorer import load_scorer as load_scorer
    from entail.arcf.training import train_arcf as train_arcf
    from entail.data.corpora import read_corpus as read_corpus
    from entail.data.entailment_bank.trees import read_trees as read_trees
    from entail.data.entailment_bank.trees import write_trees as write_trees
    from entail.data.judgements import Judgements as Judgements
    from entail.data.records import Corpus as Corpus
    from entail.data.records import ExplanationTree as ExplanationTree
    from entail.data.records import Premise as Premise
    from entail.data.records import Step as Step
    from entail.data.text import fold as fold
    from entail.encoders.cross.reranker import Reranker as Reranker
    from entail.encoders.encoder import load as load
    from entail.encoders.gaussian.encoder import GaussianEncoder as GaussianEncoder
    from entail.errors import EntailError as EntailError
    from entail.evaluation.retrieval.comparison import compare as compare
    from entail.evaluation.retrieval.effort import measure_effort as measure_effort
    from entail.evaluation.retrieval.premises import evaluate_premises as evaluate_premises
    from entail.gausscse.config import GausscseConfig as GausscseConfig
    from entail.gausscse.training import train_gausscse as train_gausscse
    from entail.hub.export import export_encoder as export_encoder
    from entail.hub.pull import pull_encoder as pull_encoder
    from entail.hub.push import push_encoder as push_encoder
    from entail.hub.trees import push_trees as push_trees
    from entail.index.factory import retriever as retriever
    from entail.jobs.jobs import Jobs as Jobs
    from entail.registry.models import active as active
    from entail.registry.models import promote as promote
    from entail.registry.models import roll_back as roll_back
    from entail.serving.app import serve as serve
    from entail.serving.client import Client as Client
    from entail.training.adapters.averaging import average_adapters as average_adapters
    from entail.training.cards.template import write_card as write_card
    from entail.training.method import Run as Run
    from entail.trees.formats.convert import convert as convert
    from entail.trees.log.event_log import TreeLog as TreeLog
    from entail.trees.store.corpora import CorpusStore as CorpusStore
    from entail.trees.store.database import open_database as open_database

_NAMES = {
    "entail.aeenc.bias": "bias",
    "entail.aeenc.config": "AeencConfig",
    "entail.aeenc.sampling": "sample",
    "entail.aeenc.training": "train_aeenc",
    "entail.arcf.config": "ArcfConfig",
    "entail.arcf.scoring.scorer": "load_scorer",
    "entail.arcf.training": "train_arcf",
    "entail.data.corpora": "read_corpus",
    "entail.data.entailment_bank.trees": "read_trees write_trees",
    "entail.data.judgements": "Judgements",
    "entail.data.records": "Corpus ExplanationTree Premise Step",
    "entail.data.text": "fold",
    "entail.encoders.cross.reranker": "Reranker",
    "entail.encoders.encoder": "load",
    "entail.encoders.gaussian.encoder": "GaussianEncoder",
    "entail.errors": "EntailError",
    "entail.evaluation.retrieval.comparison": "compare",
    "entail.evaluation.retrieval.effort": "measure_effort",
    "entail.evaluation.retrieval.premises": "evaluate_premises",
    "entail.gausscse.config": "GausscseConfig",
    "entail.gausscse.training": "train_gausscse",
    "entail.hub.export": "export_encoder",
    "entail.hub.pull": "pull_encoder",
    "entail.hub.push": "push_encoder",
    "entail.hub.trees": "push_trees",
    "entail.index.factory": "retriever",
    "entail.jobs.jobs": "Jobs",
    "entail.registry.models": "active promote roll_back",
    "entail.serving.app": "serve",
    "entail.serving.client": "Client",
    "entail.training.adapters.averaging": "average_adapters",
    "entail.training.cards.template": "write_card",
    "entail.training.method": "Run",
    "entail.trees.formats.convert": "convert",
    "entail.trees.log.event_log": "TreeLog",
    "entail.trees.store.corpora": "CorpusStore",
    "entail.trees.store.database": "open_database",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(["__version__", *_HOMES])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'entail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
