"""Official EntailmentBank rows and authored trees, converted into each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from entail.data.entailment_bank.trees import MAX_NODES, format_trees, next_id, read_trees
from entail.data.reading import Source
from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree, Step
from entail.data.stored import parse_as
from entail.data.text import fold, premise_key
from entail.errors import ProofError
from entail.trees.log.acts import Create, GivenNode, to_json
from entail.trees.log.tree import ROOT, Node, Review, Tree, TreeBuilder


def to_jsonl(trees: Iterable[Tree]) -> str:
    """Return authored trees as official JSONL, one row a line; see `refold`."""
    return format_trees(map(refold, trees))


def from_jsonl(source: Source, *, name: str | None = None, corpus: Corpus | None = None) -> list[Create]:
    """Return the acts that create a tree for each row of an official file; see `read_trees` and `unfold`."""
    return [unfold(tree, corpus=corpus) for tree in read_trees(source, name=name)]


_SENTENCE, _CONCLUSION = re.compile(r"sent[0-9]+"), re.compile(r"int[0-9]+")


def unfold(tree: ExplanationTree, *, corpus: Corpus | None = None) -> Create:
    """Return the act that creates an authored tree from an official row.

    Each use of a sentence is a node, depth first, in the order of its step. Intermediate conclusions without
    a use are loose nodes. Labels are the row's ids. A node has a key if `corpus` has its text; without a
    corpus every leaf has one. `source` keeps, as plain JSON, what `refold` needs to write the row again.

    A proof that names an unknown sentence, has a cycle, or unfolds to more than `MAX_NODES` nodes raises
    `ProofError`.

    >>> steps = (Step(("sent1",), "hypothesis"),)
    >>> unfold(ExplanationTree("r", "ice is cold", {"sent1": "ice is frozen"}, steps=steps)).nodes
    (GivenNode(text='ice is frozen', parent=-1, label='sent1', key='...'),)
    """
    premises: dict[str, dict[str, None]] = {}
    for step in tree.steps:
        premises.setdefault(step.conclusion, {}).update(dict.fromkeys(step.premises))
    used = {premise for below in premises.values() for premise in below}
    loose = [conclusion for conclusion in premises if conclusion != HYPOTHESIS and conclusion not in used]
    stack: list[tuple[str, int | None]] = [(label, None) for label in reversed(loose)]
    stack += [(label, -1) for label in reversed(premises.get(HYPOTHESIS, {}))]
    nodes: list[GivenNode] = []
    while stack:
        label, parent = stack.pop()
        if len(nodes) == MAX_NODES:
            raise ProofError(f"the proof of row {tree.id!r} has a cycle or unfolds to over {MAX_NODES} nodes")
        try:
            text = tree.text(label)
        except KeyError:
            raise ProofError(f"the proof of row {tree.id!r} names an unknown sentence: {label}") from None
        is_premise = corpus.position(text) is not None if corpus else label not in premises
        nodes.append(GivenNode(text, parent, label, premise_key(text) if is_premise else None))
        stack += [(premise, len(nodes) - 1) for premise in reversed(premises.get(label, {}))]
    lost = premises.keys() - {HYPOTHESIS} - {node.label for node in nodes}
    if lost or HYPOTHESIS in used:
        cycle = ", ".join(sorted(lost or {HYPOTHESIS}))
        raise ProofError(f"the proof of row {tree.id!r} has a cycle: {cycle}")
    return Create(hypothesis=tree.hypothesis, nodes=tuple(nodes), source=_source(tree))


def grow(act: Create) -> Tree:
    """Return the tree that an act creates, without a log, but with the review that its row states."""
    builder = TreeBuilder(Tree({}))
    builder.apply(act, seq=1, author="")
    return replace(builder.freeze(seq=1), review=read_review(act.source.get("extra", {})))


def read_review(row: Mapping[str, Any]) -> Review | None:
    """Return the review that an exported row states, None without one, or if it is damaged."""
    try:
        review = parse_as(Review, json.dumps(row["review"]))
        return replace(review, at=review.at.astimezone(UTC))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _source(tree: ExplanationTree) -> dict[str, Any]:
    # Pairs rather than objects: a database may keep the keys of a JSON object in an order of its own.
    return {
        "format": "entailment_bank",
        "id": tree.id,
        "question": tree.question,
        "answer": tree.answer,
        "sentences": [list(pair) for pair in tree.sentences.items()],
        "intermediates": [list(pair) for pair in tree.intermediates.items()],
        "steps": [[step.conclusion, list(step.premises)] for step in tree.steps],
        "distractors": list(tree.distractors),
        "extra": to_json(tree.extra),
    }


@dataclass
class _Sentence:
    """Nodes that are one sentence of the row: same text, same sentences below it."""

    text: str
    below: tuple[int, ...]
    preferred: str | None
    label: str | None = None


def _imported_row(tree: Tree) -> ExplanationTree:
    """Return the row that a tree was imported with; an empty one for a tree that was not imported."""
    source = tree.source
    if source.get("format") != "entailment_bank":
        return ExplanationTree("", "", {})
    return ExplanationTree(
        id=source["id"],
        hypothesis=tree.root.text,
        sentences=dict(source["sentences"]),
        intermediates=dict(source["intermediates"]),
        steps=tuple(Step(tuple(premises), conclusion) for conclusion, premises in source["steps"]),
        distractors=tuple(source["distractors"]),
        question=source["question"],
        answer=source["answer"],
        extra=dict(source["extra"]),
    )


def refold(tree: Tree) -> ExplanationTree:
    """Return an authored tree as an official row; equal sentences with equal premises are one again.

    Sentences and conclusions of an imported tree keep their labels, also reworded, and new ones get the next
    free `sentN` and `intN`. An untouched imported tree gives exactly its original steps. Every conclusion
    precedes its uses. Distractors are the imported sentences that are not used and the rejected premises
    whose text is not in the tree. A conclusion without premises is a `sentN`. Loose nodes without premises
    are left out, and all steps if the hypothesis has no premises. The row has the tree's `review`, if any.
    """
    source = _imported_row(tree)
    imported = {step.conclusion: step.premises for step in source.steps}
    sentences, hypothesis = _join(tree)
    _keep_labels(sentences, source)
    order = _order(sentences, hypothesis, imported) if tree.root.children else []
    steps = _number(sentences, order, source, imported)
    used = dict.fromkeys(premise for step in steps for premise in step.premises)
    context = _context(tree, sentences, source, used)
    unused = [label for label in context if label not in used] if steps else []
    return ExplanationTree(
        id=source.id or premise_key(tree.root.text),
        hypothesis=tree.root.text,
        sentences=context,
        intermediates={str(sentences[i].label): sentences[i].text for i in order if i != hypothesis},
        steps=steps,
        distractors=tuple(dict.fromkeys([*(d for d in source.distractors if d in unused), *unused])),
        question=source.question,
        answer=source.answer,
        extra=_with_review(source.extra, tree.review),
    )


def _with_review(extra: Mapping[str, Any], review: Review | None) -> Mapping[str, Any]:
    """Return the fields of a row with the review of today in place of the imported one."""
    fields = dict(extra)
    if read_review(fields) is not None:
        del fields["review"]
    return fields | ({"review": review.to_json()} if review is not None else {})


def _bottom_up(tree: Tree, start: str) -> Iterator[Node]:
    """Yield a node and all below it, depth first, each after its premises."""
    stack = [(start, False)]
    while stack:
        node_id, below_done = stack.pop()
        node = tree.node(node_id)
        if below_done or not node.children:
            yield node
        else:
            stack.append((node_id, True))
            stack += [(child, False) for child in reversed(node.children)]


def _join(tree: Tree) -> tuple[list[_Sentence], int]:
    """Return the distinct sentences, each after those below it, and the position of the hypothesis."""
    sentences: list[_Sentence] = []
    same: dict[tuple[str, frozenset[int]], list[int]] = {}
    of_node: dict[str, int] = {}
    for start in (ROOT, *(id for id in tree.loose if tree.nodes[id].children)):
        for node in _bottom_up(tree, start):
            below = tuple(dict.fromkeys(of_node[child] for child in node.children))
            twins = [] if node.id == ROOT else same.setdefault((fold(node.text), frozenset(below)), [])
            own_label = (_CONCLUSION if below else _SENTENCE).fullmatch(node.label or "")
            preferred = node.label if own_label else None
            fits = (i for i in twins if preferred is None or sentences[i].preferred in (preferred, None))
            at = of_node[node.id] = next(fits, len(sentences))
            if at < len(sentences):
                sentences[at].preferred = sentences[at].preferred or preferred
            else:
                sentences.append(_Sentence(node.text, below, preferred))
                twins.append(at)
    sentences[of_node[ROOT]].label = HYPOTHESIS
    return sentences, of_node[ROOT]


def _keep_labels(sentences: list[_Sentence], source: ExplanationTree) -> None:
    """Give each sentence its imported label: first by text, then by the label of its node."""
    texts = {**source.sentences, **source.intermediates}
    by_text: dict[tuple[bool, str], list[str]] = {}
    for label, text in texts.items():
        by_text.setdefault((label in source.intermediates, fold(text)), []).append(label)
    claims: list[tuple[_Sentence, str | None]] = [
        *((s, s.preferred) for s in sentences if fold(texts.get(s.preferred or "", "")) == fold(s.text)),
        *((s, label) for s in sentences for label in by_text.get((bool(s.below), fold(s.text)), ())),
        *((s, s.preferred) for s in sentences),
    ]
    labels: set[str] = set()
    for sentence, claimed in claims:
        if sentence.label is None and claimed is not None and claimed not in labels:
            sentence.label = claimed
            labels.add(claimed)


def _order(sentences: list[_Sentence], hypothesis: int, imported: Mapping[str, Any]) -> list[int]:
    """Return the conclusions in the order of the row, a new one right before the first that uses it."""
    import networkx as nx

    position = {label: i for i, label in enumerate(imported)}
    graph = nx.DiGraph()
    sort_keys: dict[int, tuple[int, int, int]] = {}
    for i in reversed(range(len(sentences))):
        sentence = sentences[i]
        if not sentence.below:
            continue
        uses = [sort_keys[above] for above in graph.successors(i)] if i in graph else []
        row_position = position.get(sentence.label or "", len(imported) if i == hypothesis else None)
        first_use = min(uses, default=(len(imported), 0, 0))[0]
        sort_keys[i] = (first_use, 0, i) if row_position is None else (row_position, 1, i)
        graph.add_node(i)
        graph.add_edges_from((below, i) for below in sentence.below if sentences[below].below)
    return list(nx.lexicographical_topological_sort(graph, key=sort_keys.__getitem__))


def _number(
    sentences: list[_Sentence], order: list[int], source: ExplanationTree, imported: Mapping[str, Any]
) -> tuple[Step, ...]:
    """Give sentences without a label the next free number, in the order of the steps; return these."""
    labels = {*source.sentences, *source.intermediates, *(s.label for s in sentences if s.label)}
    steps = []
    for i in order:
        for sentence in (*(sentences[at] for at in sentences[i].below), sentences[i]):
            if sentence.label is None:
                sentence.label = next_id("int" if sentence.below else "sent", labels)
                labels.add(sentence.label)
        conclusion = str(sentences[i].label)
        premises = tuple(str(sentences[at].label) for at in sentences[i].below)
        # A few official steps name a premise twice; the tree shows it once, untouched it is written twice.
        original = imported.get(conclusion, ())
        steps.append(Step(original if tuple(dict.fromkeys(original)) == premises else premises, conclusion))
    return tuple(steps)


def _context(
    tree: Tree, sentences: list[_Sentence], source: ExplanationTree, used: Mapping[str, None]
) -> dict[str, str]:
    """Return label -> text of the sentences of the proof, of the imported row, and of rejected premises."""
    texts = {str(sentence.label): sentence.text for sentence in sentences if not sentence.below}
    concluded = {node.label for node in tree.nodes.values() if node.children}
    context = {
        label: texts.get(label, text)
        for label, text in source.sentences.items()
        if label in used or label not in concluded
    }
    context |= {label: texts[label] for label in used if label in texts}
    folded_texts = {*map(fold, context.values()), *tree.folded}
    labels = {*context, *source.sentences}
    judgements = sorted(tree.judgements.values(), key=lambda judgement: judgement.seq)
    for premise in (judgement.premise for judgement in judgements if not judgement.accepted):
        if premise.folded not in folded_texts:
            label = next_id("sent", labels)
            context[label] = premise.text
            folded_texts.add(premise.folded)
            labels.add(label)
    return context
