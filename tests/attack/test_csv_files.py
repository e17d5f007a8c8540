"""CSV files of texts that end a cell or a line and go on with a formula."""

import csv
import io
from contextlib import closing
from pathlib import Path
from random import Random

from entail.data.records import Corpus, Premise
from entail.hub.trees import push_trees
from entail.trees.formats.tables import to_judged_csv, to_pairs_csv
from entail.trees.log.acts import Accept, Create, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.attack.conftest import FULL, SEED, Tally


def hostile_texts(count: int) -> list[str]:
    """Return texts that differ in more than white space."""
    random, texts = Random(SEED), []
    for number in range(count):
        ends = "".join(random.choices('\r\n\t\v\x1c\x85\u2028",; ', k=3))
        texts.append(f"{random.choice(['', 'snow'])}{ends}{random.choice('=+-@')}1+{number}{ends}")
    return texts


def test_hostile_texts(tmp_path: Path, tally: Tally) -> None:
    """Write a record for each pair and judgement; no reader finds more, or a formula."""
    texts = hostile_texts(1000 if FULL else 200)
    with closing(open_database(f"sqlite:///{tmp_path / 'entail.db'}")) as database:
        store, log = CorpusStore(database), TreeLog(database)
        corpus = store.add_corpus(Corpus.of("snow", texts), author="=Ada")
        tree = log.create(Create(hypothesis=texts[0]), author="=Ada", corpus_id=corpus.id)
        for number, text in enumerate(texts[1:], start=1):
            premise = Premise(text)
            act = Accept(node="n1", premise=premise) if number % 2 else Reject(node="n1", premise=premise)
            log.act(tree, act, author="=Ada", base=number)
        history = log.history(tree)
        push = push_trees("snow", "a/b", log=log, store=store, dry_run=True)
    pairs, judged = len(texts) // 2, len(texts) - 1
    assert f"| {pairs:,} |" in push.card
    formulas = []
    for file, count in (
        (to_pairs_csv({tree: history.tree}), pairs),
        (to_judged_csv({tree: (history, {})}), judged),
    ):
        header, *rows = csv.reader(io.StringIO(file, newline=""), strict=True)
        assert (len(rows), {len(row) for row in rows}) == (count, {len(header)})
        for delimiter in ",;\t":
            opened = csv.reader(io.StringIO(file, newline=None), delimiter=delimiter)
            formulas += [cell for row in opened for cell in row if cell.strip(' "').startswith(tuple("=+-@"))]
    tally(attempts=len(texts), failures=len(formulas))
    assert formulas == []
