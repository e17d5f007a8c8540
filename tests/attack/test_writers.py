"""Two and ten writers at once, on one tree and on ten: every confirmed act is there once, in order."""

from contextlib import closing
from itertools import groupby

import pytest

from entail.errors import LockedDatabaseError
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.attack.conftest import FULL, Tally
from tests.attack.forks import Report, Work, run

ACTS = 50 if FULL else 5


def writer(url: str, trees: list[str], name: str) -> Work:
    """Return work that writes sentences one after another, and again where a lock was not to be had."""

    def work(report: Report) -> None:
        log = TreeLog(open_database(url))
        for number in range(ACTS):
            tree, act = trees[number % len(trees)], Write(node="n1", text=f"{name} {number}")
            while True:
                try:
                    seq = log.act(tree, act, author=name, base=1).seq
                except LockedDatabaseError:
                    continue
                break
            report(tree, seq, name, number)

    return work


@pytest.mark.parametrize("trees", [1, 10])
@pytest.mark.parametrize("writers", [2, 10])
def test_acts_of_writers(blank_url: str, writers: int, trees: int, tally: Tally) -> None:
    with closing(open_database(blank_url)) as database:
        acts = [Create(hypothesis=f"h{number}") for number in range(trees)]
        ids = TreeLog(database).create_all(acts, author="Ann")
    reports = run(*(writer(blank_url, ids, f"writer {number}") for number in range(writers)))
    rows = []
    with closing(open_database(blank_url)) as database:
        for tree in ids:
            events = TreeLog(database).history(tree).events
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert sorted(event.at for event in events) == [event.at for event in events]
            for event in events[1:]:
                assert isinstance(event.act, Write)
                number = int(event.act.text.removeprefix(f"{event.author} "))
                rows.append([tree, event.seq, event.author, number])
        assert examine(database).problems == ()
    confirmed = [report for part in reports for report in part]
    assert sorted(rows) == sorted(confirmed)
    assert len(confirmed) == writers * ACTS
    by_author = sorted(rows, key=lambda row: (row[0], row[2], row[1]))
    for _, group in groupby(by_author, key=lambda row: (row[0], row[2])):
        numbers = [number for *_, number in group]
        assert numbers == sorted(numbers)
    tally(attempts=len(confirmed), failures=0)
