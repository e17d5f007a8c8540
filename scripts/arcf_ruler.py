"""Plain loop of Algorithm 1 of ARCF, against which its engine is measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entail.arcf.chains.chain import Search
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs, as_sentence, question_text
from entail.arcf.scoring.scorer import ScorerForm, scorer_folder
from entail.arcf.scoring.terms import PremiseTerms, QuestionTerms
from entail.data.worldtree.questions import Question
from entail.encoders.card import read_card
from entail.encoders.cross.encoder import ADAPTER, HEAD, WHOLE
from entail.encoders.row_batches import Spent
from entail.encoders.stock import sentence_transformer
from entail.index.protocol import Ints
from entail.statistics.ranking import Values

BATCHES = (8, 16, 32, 64, 128)


@dataclass
class Ruler:
    """Algorithm 1 as it is told: no token is kept, every visible candidate is scored at every step."""

    model: Any
    head: Any
    tokenizer: Any
    inputs: Inputs
    near: Neighbourhoods
    search: Search
    base: Any = None  # encodes the candidates of a bi-encoder
    terms: PremiseTerms | None = None
    batch_size: int = 32
    spent: Spent = field(default_factory=Spent)

    def scores(
        self, question: Question, chosen: Sequence[int], candidates: Sequence[int]
    ) -> dict[int, float]:
        """Return the score of each candidate after a prefix; -1 is the bare prefix."""
        import torch

        texts = self.near.facts.texts
        rows = [texts[fact] if fact >= 0 else "" for fact in [-1, *candidates]]
        prefix = self._prefix(question, chosen)
        values: list[float] = []
        with torch.inference_mode():
            for at in range(0, len(rows), self.batch_size):
                chunk = rows[at : at + self.batch_size]
                if self.base is not None:
                    values += self._by_two(prefix, chunk)
                    continue
                batch = self.tokenizer([prefix] * len(chunk), chunk, padding=True, return_tensors="pt")
                hidden = self.model(**batch.to(self.head.weight.device)).last_hidden_state[:, 0]
                values += self.head(hidden)[:, 0].tolist()
                self.spent.add(len(chunk), int(batch["attention_mask"].sum()), batch["input_ids"].numel())
        added = self._added(question, chosen, candidates)
        return dict(zip([-1, *candidates], (np.array(values) + added).tolist(), strict=True))

    def nearest(self, question: Question) -> Ints:
        """Return the facts that are visible behind a question."""
        terms = self._terms_of(question)
        return self.near.of_text(question.text, bonus=terms.neighbour_bonus if terms else None)

    def _terms_of(self, question: Question) -> QuestionTerms | None:
        return self.terms.of_questions([question.text])[0] if self.terms is not None else None

    def _added(self, question: Question, facts: Sequence[int], candidates: Sequence[int]) -> Values:
        """Return the weighted terms of the bare prefix, 0, and of candidates."""
        added = np.zeros(1 + len(candidates))
        terms = self._terms_of(question)
        if terms is not None:
            (ids,) = self.inputs.questions([(question.stem, question.answer)])
            prefix = self.inputs.prefix(ids, facts).ids
            names = terms.of.terms.names
            weights = [np.exp(self.head.get_parameter(name).item()) for name in names]
            added[1:] = terms(prefix, facts, candidates) @ np.array(weights)
        return added

    def _by_two(self, prefix: str, candidates: Sequence[str]) -> list[float]:
        """Score a batch: the prefix read once by the weights that were learnt, candidates by the base's."""
        import torch

        device = self.head.weight.device
        means = []
        for model, texts in ((self.model, [prefix]), (self.base, list(candidates))):
            batch = self.tokenizer(texts, padding=True, return_tensors="pt").to(device)
            mask = batch["attention_mask"][:, :, None].float()  # (rows, tokens, 1)
            states = model(**batch).last_hidden_state
            means.append((states * mask).sum(1) / mask.sum(1))
            self.spent.add(len(texts), int(mask.sum()), batch["input_ids"].numel())
        cosine = torch.nn.functional.cosine_similarity(means[1], means[0], dim=-1)
        scale = self.head.get_parameter("scale")
        scores: list[float] = (self.head(means[1])[:, 0] + scale * cosine).tolist()
        return scores

    def chain(self, question: Question) -> tuple[list[int], list[dict[int, float]]]:
        """Return the chosen facts, and the scores of every step."""
        facts: list[int] = []
        steps: list[dict[int, float]] = []
        nearest = self.nearest(question)
        while len(facts) < self.search.length:
            visible = self.near.visible(nearest, facts)
            if not visible:
                break
            scores = self.scores(question, facts, visible)
            steps.append(scores)
            best = max(visible, key=lambda fact: scores[fact])
            if len(facts) >= self.search.least and scores[-1] >= scores[best]:
                break
            facts.append(best)
        return facts, steps

    def _prefix(self, question: Question, facts: Sequence[int]) -> str:
        (ids,) = self.inputs.questions([(question.stem, question.answer)])
        tail = facts[max(0, self.inputs.prefix(ids, facts).dropped) :]  # as the engine drops them
        texts = [as_sentence(self.near.facts.texts[fact]) for fact in tail]
        return " ".join([question_text(question.stem, question.answer), *texts])


def ruler(name: str, ranker: ChainRanker, near: Neighbourhoods) -> Ruler:
    """Load the same weights as any user of transformers would, the adapter merged."""
    import torch
    from peft.tuners.tuners_utils import BaseTunerLayer
    from safetensors.torch import load_file

    folder = scorer_folder(name)
    card = read_card(folder, folder.name)
    assert card is not None
    form = ScorerForm.read(card.scorer, name=name)
    model = sentence_transformer(card.base or folder / WHOLE)
    if card.base:
        model.load_adapter(str(folder / ADAPTER))
    first: Any = next(iter(model.children()))
    with torch.no_grad():
        for module in first.auto_model.modules():
            if isinstance(module, BaseTunerLayer):
                module.merge()
    weights = load_file(folder / HEAD)
    head = torch.nn.Linear(weights["weight"].shape[1], 1)
    for term in weights.keys() - {"weight", "bias"}:
        head.register_parameter(term, torch.nn.Parameter(torch.zeros(1)))
    head.load_state_dict(weights)
    base: Any = None
    if form.architecture == "bi":
        below: Any = next(iter(sentence_transformer(card.base or folder / WHOLE).children()))
        base = below.auto_model.eval()
    return Ruler(
        first.auto_model.eval(),
        head,
        first.tokenizer,
        ranker.inputs,
        near,
        ranker.search,
        base=base,
        terms=ranker.terms,
    )


def tuned(plain: Ruler, questions: Sequence[Question]) -> int:
    """Return the batch size with which the first steps of some questions are quickest."""
    times = {}
    for size in BATCHES:
        plain.batch_size, begun = size, time.perf_counter()
        for question in questions[:3]:
            plain.scores(question, (), plain.nearest(question).tolist())
        times[size] = time.perf_counter() - begun
    return min(times, key=lambda size: times[size])
