"""Adapter of curation: acts by which a reviewer makes a reference tree of two noisy copies of it.

A model is a way to do so, and nothing is trained: `differences` takes those that bring the agreed tree nearer
to the reference, and mends the rest; `every difference` counts one that is left out as an act, too; `copy`
takes the better copy whole, and mends it; `copy, differences` takes what the other has better before that.
Nearness is the number of acts that would mend the tree.

At the rate of the noise each premise of a copy is missing or another, each conclusion is dissolved, and each
wording is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.data.records import Premise
from entail.teams.differences import consensus, differences, take_whole
from entail.trees.formats.entailment_bank import grow, unfold
from entail.trees.log.acts import Accept, Act, Create, Edit, Remove
from entail.trees.log.tree import ROOT, Tree, TreeBuilder
from lab.adapters import Measures
from lab.data import DataFolder

NOISE = (0.05, 0.1, 0.2)

DRAWS = 3
"""Pairs of copies of each tree."""


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the acts for each act of authoring the tree alone, by noise; weights are the latter."""
    trees = [grow(unfold(tree)) for tree in data.trees(sets["trees"]) if tree.steps]
    efforts = [len(take_whole(grow(Create(hypothesis=tree.root.text)), tree)) for tree in trees]
    pool = sorted({node.text for tree in trees for node in tree.nodes.values() if node.key})
    measures = {}
    for noise in NOISE:
        draw = np.random.default_rng(0)
        acts = [
            np.mean(
                [
                    count_acts(model, tree, [spoil(tree, noise, pool, draw) for _ in "ab"])
                    for _ in range(DRAWS)
                ]
            )
            for tree in trees
        ]
        weights = np.array(efforts, dtype=np.float64)
        measures[f"acts at {noise:.0%} noise"] = np.array(acts) / weights, weights
    return measures


def spoil(tree: Tree, noise: float, pool: Sequence[str], draw: np.random.Generator) -> Tree:
    """Return a copy of a tree with noise; a premise that is another comes from a pool of texts."""
    for node in list(tree.walk(ROOT))[1:]:
        if node.children and draw.random() < noise:
            tree = do(tree, Edit(node=node.id, text=f"{node.text}, in other words"))
        if draw.random() < noise:
            tree = do(tree, Remove(node=node.id, keep_premises=bool(node.children)))
            if not node.children and draw.random() < 0.5:
                parent = node.parent if node.parent and node.parent in tree.nodes else ROOT
                tree = do(tree, Accept(node=parent, premise=Premise(str(draw.choice(pool)))))
    return tree


def count_acts(model: str, reference: Tree, copies: Sequence[Tree]) -> int:
    """Return the acts of a reviewer by a way to make the reference of the copies."""
    tree, acts = grow(consensus(copies)), 0
    if model.startswith("copy"):
        tree, acts = min(copies, key=lambda copy: len(take_whole(copy, reference))), 1
    distance = len(take_whole(tree, reference))
    left: set[str] = set()
    while model != "copy" and (rest := [row for row in differences(tree, copies) if row.key not in left]):
        better = do(tree, *rest[0].acts)
        after = len(take_whole(better, reference))
        if after < distance:
            tree, distance, acts = better, after, acts + 1
        else:
            left.add(rest[0].key)
    return acts + distance + (len(left) if model == "every difference" else 0)


def do(tree: Tree, *acts: Act) -> Tree:
    """Return a tree after some acts."""
    builder = TreeBuilder(tree)
    for seq, act in enumerate(acts, start=tree.seq + 1):
        builder.apply(act, seq=seq, author="")
    return builder.freeze(seq=tree.seq + len(acts))
