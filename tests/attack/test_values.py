"""Odd values from a command line, a client, a file, a name and a log: a short error, and no secret shown."""

import contextlib
import json
import re
from dataclasses import replace

import pytest

from entail.cli import main
from entail.data.nli.pairs import read_nli
from entail.errors import EntailError
from entail.trees.formats.entailment_bank import from_jsonl, grow, to_jsonl
from entail.trees.log.acts import Create, GivenNode, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database

LONG = "1" * 100_000
"""More digits than Python reads as a number."""

SHORT = 3_000
"""Characters of an answer that quotes a value in part."""

COMMANDS = [
    *(["jobs", "show", LONG], ["logs", LONG], ["logs", "--lines", LONG], ["promote", LONG], ["card", LONG]),
    *(["export", LONG, "x"], ["convert", LONG, "x.html"], [LONG], ["train", LONG], ["serve", "--port", LONG]),
    *(["train", "aeenc", "--set", f"rank={LONG}"], ["doctor", "--json"]),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: re.sub("1+", "1", " ".join(arguments)))
def test_commands(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENTAIL_DEVICE", f"cuda:{LONG[:5000]}")
    assert main(arguments) in (1, 2)
    output = capsys.readouterr()
    assert "ValueError" not in output.err
    if arguments[0] != "doctor":  # which shows its settings
        assert len(output.out + output.err) < SHORT


def test_ids(blank_url: str) -> None:
    with contextlib.closing(open_database(blank_url)) as database:
        log = TreeLog(database)
        tree = log.create(Create(hypothesis="ice is cold"), author="Ada")
        for call in (
            lambda: log.act(tree, Write(node=f"n{LONG}", text="x"), author="Ada", base=1),
            lambda: log.act(LONG, Write(node="n1", text="x"), author="Ada", base=1),
            lambda: log.create(Create(hypothesis="x"), author=LONG),
            lambda: log.create(Create(hypothesis="x"), author="Ada", corpus_id=LONG),
        ):
            with pytest.raises(EntailError) as caught:
                call()
            assert len(str(caught.value)) < SHORT


def test_ids_in_files() -> None:
    sentences = {"sent1": "ice is frozen", f"sent{LONG}": "frozen is cold"}
    proof = f"sent1 -> int{LONG}: so; sent{LONG} -> int3: then; int{LONG} & int3 -> hypothesis; "
    row = {"id": "a", "hypothesis": "ice is cold", "proof": proof, "meta": {"triples": sentences}}
    (act,) = from_jsonl(json.dumps(row).encode())
    assert json.loads(to_jsonl([grow(act)]))["proof"] == proof
    more = replace(act, nodes=(*act.nodes, GivenNode(text="cold melts", parent=-1, key="k")))
    assert "int3 & sent2 -> hypothesis" in json.loads(to_jsonl([grow(more)]))["proof"]


def test_labels_in_files() -> None:
    pairs = f"premise\thypothesis\tlabel\na\tb\t{LONG}\nc\td\t0\ne\tf\t1\n"
    assert len(read_nli(pairs.encode(), name="pairs.tsv", numbered=True).pairs) == 2
