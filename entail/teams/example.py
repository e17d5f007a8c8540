"""Example project: bundled trees, annotated twice, so that review and agreement have something to show."""

from __future__ import annotations

from entail.data.bundled import sample_corpus, sample_trees
from entail.teams.differences import Leaves, take_whole
from entail.teams.projects import Plan, Project, Projects
from entail.teams.work import Work
from entail.trees.formats.entailment_bank import grow, unfold
from entail.trees.installation.seed import SAMPLE_ID
from entail.trees.log.acts import Remove
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import Tree, TreeBuilder
from entail.trees.store.database import Database

NAME, ANNOTATORS = "Example: two annotators", ("Ann (example)", "Ben (example)")

HYPOTHESES, STEPS = 8, (2, 4)
"""Number of hypotheses, the last of which is left to do, and fewest and most steps of their trees."""

_GUIDELINES = """\
Accept premises of the corpus before you write your own. Draw a conclusion where two or three premises say
something together that you need above. One sentence, one statement.
"""


def create_example(database: Database, log: TreeLog, *, owner: str) -> Project:
    """Create the example project over the bundled sample.

    One annotator builds the reference trees. The other leaves out a conclusion or a premise of most of them.

    Raises:
        TeamError: If there is one already.
    """
    projects, work, corpus = Projects(database), Work(database), sample_corpus()
    small = [tree for tree in sample_trees() if STEPS[0] <= len(tree.steps) <= STEPS[1]][:HYPOTHESES]
    project = projects.create(NAME, author=owner, corpus_id=SAMPLE_ID, plan=Plan(overlap=len(ANNOTATORS)))
    projects.write_guidelines(project.id, _GUIDELINES, actor=owner)
    projects.add_hypotheses(project.id, [tree.hypothesis for tree in small], actor=owner)
    for name in ANNOTATORS:
        projects.set_member(project.id, name, "annotator", actor=owner)
        for at, tree in enumerate(small[:-1]):
            piece = work.next_piece(project.id, actor=name)
            assert piece is not None
            assert piece.tree_id is not None
            begun = log.viewed_by(name).history(piece.tree_id)
            target = grow(unfold(tree, corpus=corpus))
            if name != ANNOTATORS[0]:
                target = _vary(target, at)
            log.act_all(piece.tree_id, take_whole(begun.tree, target), author=name, base=begun.seq)
            work.move(piece.id, "submit", actor=name)
    return project


def _vary(tree: Tree, number: int) -> Tree:
    """Return a tree without its lowest conclusion, without its last premise, or as it is, in turn."""
    leaves = Leaves(tree)
    acts = (
        Remove(node=leaves.conclusions[-1].id, keep_premises=True),
        Remove(node=list(leaves.nodes.values())[-1].id),
        None,
    )
    act = acts[number % len(acts)]
    if act is None:
        return tree
    builder = TreeBuilder(tree)
    builder.apply(act, seq=tree.seq + 1, author="")
    return builder.freeze(seq=tree.seq + 1)
