"""What a key does that was pressed before the screen had caught up."""

import pytest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.index.lexical import TfidfIndex
from entail.trees.acts import Create, Finish, Write
from entail.ui.author import Visitor
from entail.ui.authoring import Place, set_desk, stamp, take_press
from entail.ui.keyboard import KeyPress
from entail.ui.resources import Building, Workspace
from entail.ui.screen import Screen


@pytest.fixture
def place(shared: Workspace) -> Place:
    """Return Ada's place at a tree over twelve facts: two pages of candidates."""
    corpus = Corpus.of("twelve", [f"ice is cold as number {word}" for word in "abcdefghijkl"])
    info = shared.corpora.add_corpus(corpus, author="Ada")
    tree = shared.log.create(Create(hypothesis="ice is cold"), author="Ada", corpus_id=info.id)
    building = Building(index=TfidfIndex(corpus))
    return Place(shared, shared.log.summary(tree), corpus, 1, building, Screen(tree), Visitor("Ada"))


def press(place: Place, key: str, drawn: str) -> None:
    """Press a key while what `drawn` stamps is on the screen."""
    take_press(place, KeyPress(key, 1, drawn))


def test_a_search_that_fails_is_told_and_the_tree_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise EncoderError("the weights are broken")

    with monkeypatch.context() as broken:
        broken.setattr(TfidfIndex, "search", fail)
        desk = set_desk(place)
        assert (desk.shown, desk.evidence) == ((), None)
        assert place.screen.notice == ("error", "the weights are broken")
        assert desk.act(Write(node="n1", text="written meanwhile"))
    assert set_desk(place).shown


def test_finish_rejects_what_was_on_the_screen(place: Place) -> None:
    press(place, "f", stamp(set_desk(place)))
    act = place.shared.log.history(place.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 10


@pytest.mark.parametrize("key", ["f", "1", "shift+1"])
def test_a_key_about_a_list_not_yet_drawn_does_nothing_and_says_so(place: Place, key: str) -> None:
    drawn = stamp(set_desk(place))
    press(place, "n", drawn)  # the second page is asked for, but not on the screen yet
    press(place, key, drawn)
    assert len(place.shared.log.history(place.summary.id).events) == 1
    assert place.screen.notice is not None
    assert place.screen.notice[0] == "stale"
    press(place, "f", stamp(set_desk(place)))
    act = place.shared.log.history(place.summary.id).events[-1].act
    assert isinstance(act, Finish)
    assert len(act.premises) == 12
