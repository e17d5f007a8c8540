r"""Training of a re-ranker on gold trees or on the decisions of a team: lists of premises, softmax loss, MAP.

For a query with positives P and sampled negatives N the loss is

.. math:: L = -\frac{1}{|P|} \sum_{p \in P} \log \frac{e^{r(q, p)}}{e^{r(q, p)} + \sum_{n \in N} e^{r(q, n)}}

A constant added to all scores of a query changes nothing, so that scores of two queries do not compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from entail.aeenc.config import RerankerConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs, sort_positions
from entail.aeenc.training import dev_figures
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.encoders.cross.reranker import METHOD, Reranker, RerankerForm
from entail.errors import TrainingError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.combined import RerankedIndex
from entail.index.protocol import Floats, Ints, PremiseIndex
from entail.training.adapters.tower import CrossTower
from entail.training.loop.batches import BatchTask
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class QueryList:
    """Training example: positions of premises that explain a folded query, and of others that do not."""

    query: str
    positives: Ints
    negatives: Ints


def query_lists(
    corpus: Corpus, pairs: TrainingPairs, index: PremiseIndex, *, nearest: int, closed: bool
) -> list[QueryList]:
    """Return the training examples of some pairs; queries without negatives are left out.

    With gold trees (`closed`) no other premise of a list of the `nearest` explains the query. Else the
    negatives are those of the pairs.
    """
    if not closed:
        every = zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
        return [QueryList(*example) for example in every if len(example[2])]
    lists = []
    positions = index.search(list(pairs.queries), k=nearest).positions
    equals = [premise.folded.casefold() for premise in corpus.premises]
    for query, positives, near in zip(pairs.queries, pairs.positives, positions, strict=True):
        # What differs in capitals alone would be a positive and a negative at once.
        spared = {query.casefold(), *(equals[position] for position in positives)}
        negatives = sort_positions({position for position in near.tolist() if equals[position] not in spared})
        if len(negatives):
            lists.append(QueryList(query, positives, negatives))
    return lists


class RerankTask(BatchTask):
    """Task of a re-ranker; it evaluates the lists of an index for the parents of dev trees, re-ranked."""

    name = revision = "training"

    def __init__(
        self,
        config: RerankerConfig,
        corpus: Corpus,
        lists: Sequence[QueryList],
        tower: CrossTower,
        *,
        index: PremiseIndex,
        dev: Sequence[ExplanationTree] = (),
    ) -> None:
        self.config, self.corpus, self.lists, self.tower, self.dev = config, corpus, lists, tower, dev
        reader = cast(Reranker, self)  # of a name, a revision and `score`
        self._ranked = RerankedIndex(index, corpus, reader, weight=config.weight, depth=config.depth)
        super().__init__(config, list(map(len, tower.tokenize([row.query for row in lists]))))

    def sample(self, at: int) -> Ints:
        """Return the negatives of a list in the current epoch, the same for the same seed."""
        negatives = self.lists[at].negatives
        draw = np.random.default_rng((self.config.seed, self._epoch, at))
        sample: Ints = draw.choice(negatives, size=min(self.config.negatives, len(negatives)), replace=False)
        return sample

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean loss of some lists, and the share whose positives all lead."""
        import torch

        rows = [(self.lists[at].query, self.lists[at].positives, self.sample(at)) for at in batch.tolist()]
        parts = [part for _, positives, negatives in rows for part in (positives, negatives)]
        queries = [query for query, *sides in rows for side in sides for _ in side]
        texts = [self.corpus.texts[position] for position in np.concatenate(parts).tolist()]
        outputs = self.tower.outputs(self._pairs(queries, texts))[:, 0]
        scores = torch.split(outputs, [len(part) for part in parts])
        lists = list(zip(scores[::2], scores[1::2], strict=True))
        losses = [list_loss(positive, negative) for positive, negative in lists]
        leading = [bool(a.detach().min() > b.detach().max()) for a, b in lists]
        return torch.stack(losses).mean(), {"all lead": sum(leading) / len(lists)}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights on dev, combined with the retriever's score; None without dev."""
        return dev_figures(evaluate_premises(self.corpus, self.dev, self._ranked)) if self.dev else None

    def score(self, query: str, premises: Sequence[str]) -> Floats:
        """Return the score of each premise under the current weights, shape (premises,)."""
        return self.tower.values(self._pairs([query] * len(premises), premises))[:, 0]

    def _pairs(self, queries: Sequence[str], premises: Sequence[str]) -> list[Pair]:
        tower = self.tower
        return cut_pairs(tower.tokenize, tower.frame, premises, queries, max_length=tower.max_length)[0]


def list_loss(positives: Tensor, negatives: Tensor) -> Tensor:
    """Return L of one list from its scores: positives (p,), negatives (n,).

    >>> import torch
    >>> round(list_loss(torch.tensor([0.0]), torch.tensor([0.0])).item(), 4)
    0.6931
    """
    import torch

    log_sum = torch.logsumexp(negatives, dim=0)
    return torch.nn.functional.softplus(log_sum - positives).mean()


def train_reranker(
    corpus: Corpus,
    config: RerankerConfig,
    index: PremiseIndex,
    *,
    trees: Sequence[ExplanationTree] = (),
    judgements: Judgements | None = None,
    dev: Sequence[ExplanationTree] = (),
    run: Run | None = None,
) -> Training[RerankerConfig]:
    """Train a re-ranker.

    The best weights are those of the highest MAP of dev trees; without them the last are kept.

    The index is a retriever over the corpus, whose lists it learns to order. With gold trees, premises of a
    list that do not explain the query are negatives; with judgements of a team, rejected premises are.

    Raises:
        TrainingError: If there is no query with positives and negatives; see `prepare`.
    """
    pairs = gold_pairs(corpus, trees) if judgements is None else judged_pairs(corpus, judgements)
    lists = query_lists(corpus, pairs, index, nearest=config.nearest, closed=judgements is None)
    if not lists:
        raise TrainingError(
            f"expected queries with premises that explain them and premises that do not, found "
            f"{len(pairs.queries)} queries, none with both; reject some candidates first"
        )
    setup = prepare(config, run, method=METHOD)
    tower = CrossTower(setup.base, max_length=config.max_length, seed=config.seed, **setup.tower)
    dev = sample_rows(dev, config.dev_trees)
    task = RerankTask(config, corpus, lists, tower, index=index, dev=dev)
    rows = [[item.query, item.positives.tolist(), item.negatives.tolist()] for item in lists]
    bound_to = {
        "corpus": corpus.hash,
        "data": digest(rows),
        "dev": digest([tree.pairs for tree in dev]),
    }
    fitted = setup.fit(task, tower.parameters, bound_to=bound_to)
    form = RerankerForm(max_length=tower.max_length, weight=config.weight, depth=config.depth)
    training = setup.result(
        fitted,
        {
            "queries": len(lists),
            "positives": sum(len(query_list.positives) for query_list in lists),
            "negatives to sample from": sum(len(query_list.negatives) for query_list in lists),
            "steps": fitted.steps,
        },
        measure="MAP",
        reranker=form.to_json(),
        missing=list(pairs.missing),
    )
    keys = [premise_key(query_list.query) for query_list in lists]

    def write(folder: Path) -> None:
        tower.save(folder)
        write_training_queries(folder, keys)

    setup.save(
        training,
        write,
        reranker=form.to_json(),
        retriever={"name": index.name, "revision": index.manifest.revision},
    )
    return training
