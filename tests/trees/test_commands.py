"""Commands of the keys, without a browser."""

import pytest

from entail.data.records import Premise
from entail.trees.log.acts import Conclude, Write
from entail.trees.log.tree import ROOT, Tree
from entail.trees.review.commands import KEYS, LISTENED, Command, command_for, neighbour, swap_siblings
from entail.trees.review.suggestions import Candidate
from tests.trees.conftest import Story


def small_tree() -> Tree:
    """Return n1 over (n4 over n2), n3."""
    story = Story("snow is cold")
    for text in ("snow is ice", "ice is cold"):
        story.ann(Write(node=ROOT, text=text))
    story.ann(Conclude(node=ROOT, premises=("n2",), text="snow is a kind of ice"))
    return story.tree


SHOWN = [Candidate(Premise(f"fact {i}"), i, 1 / i) for i in range(1, 4)]


def means(key: str, selected: str = ROOT) -> Command | None:
    return command_for(key, tree=small_tree(), selected=selected, candidates=SHOWN)


def test_digits_accept_and_shifted_digits_reject() -> None:
    assert means("2") == Command("accept", SHOWN[1].premise.key)
    assert means("shift+3") == Command("reject", SHOWN[2].premise.key)
    assert [means(key) for key in ("4", "0", "shift+9")] == [None] * 3
    ten = [Candidate(Premise(f"fact {i}"), i, 1.0) for i in range(1, 11)]
    tenth = command_for("0", tree=small_tree(), selected=ROOT, candidates=ten)
    assert tenth == Command("accept", ten[9].premise.key)


def test_every_key_listened_to_means_something_or_moves_nowhere() -> None:
    quiet = {key for key in LISTENED if means(key) is None}
    assert quiet <= {"4", "5", "6", "7", "8", "9", "0", "up", "left"} | {f"shift+{d}" for d in "4567890"}


def test_the_list_on_screen_names_every_letter() -> None:
    listed = " ".join(key for key, _ in KEYS)
    assert all(key in listed for key in LISTENED if len(key) == 1 and not key.isdigit())


@pytest.mark.parametrize(
    ("start", "key", "end", "collapsed"),
    [
        *((ROOT, "down", "n4", ""), ("n4", "down", "n2", ""), ("n2", "down", "n3", "")),
        *(("n3", "down", "n3", ""), ("n3", "up", "n2", ""), (ROOT, "up", ROOT, "")),
        *(("n2", "left", "n4", ""), (ROOT, "left", ROOT, ""), (ROOT, "right", "n4", "")),
        *(("n3", "right", "n3", ""), ("n4", "down", "n3", "n4"), ("n3", "up", "n4", "n4")),
        *(("n4", "right", "n2", "n4"), ("n2", "down", "n3", "n4"), ("n2", "up", "n4", "n4")),
    ],
)
def test_arrows_walk_the_outline_and_pass_over_what_is_folded_away(
    start: str, key: str, end: str, collapsed: str
) -> None:
    assert neighbour(small_tree(), start, key, collapsed={collapsed, "n99"}) == end


def test_moving_among_siblings_stops_at_the_edges() -> None:
    tree = small_tree()
    assert swap_siblings(tree, "n4", 1) == ("n3", "n4")
    assert swap_siblings(tree, "n4", -1) is None
    assert swap_siblings(tree, ROOT, 1) is None
