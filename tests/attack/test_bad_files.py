"""Every reader over bad files: a value, or an error of the library, in bounded time and memory."""

import functools
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from entail.data.bundled import sample_dir
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import read_nli
from entail.data.passages import files as passages
from entail.data.passages.qrels import read_qrels
from entail.data.reading import read_text
from entail.data.worldtree.questions import read_questions
from entail.data.worldtree.tables import read_fact_tables
from entail.encoders.card import read_card
from entail.errors import EntailError, FormatError
from entail.trees.formats.convert import read_acts
from entail.trees.installation.archive import open_archive, write_archive
from tests.attack.bad_files import ODD_PATHS, bad_backups, bomb, damages
from tests.attack.conftest import FULL, Tally

EVERY = 1 if FULL else 23
"""Every reader meets every damage in the whole attack, else a few of each kind."""

SQUAD = {
    "data": [
        {
            "title": "Ice",
            "paragraphs": [
                {
                    "context": "Ice is frozen water.",
                    "qas": [
                        {
                            "id": "q1",
                            "question": "What is ice?",
                            "answers": [{"text": "frozen water", "answer_start": 7}],
                        }
                    ],
                }
            ],
        }
    ]
}
DPR = [
    {
        "question": "what is ice",
        "answers": ["water"],
        "positive_ctxs": [{"title": "Ice", "text": "Ice is water.", "passage_id": "1"}],
        "negative_ctxs": [],
        "hard_negative_ctxs": [{"title": "Sun", "text": "The sun is hot.", "passage_id": "2"}],
    }
]
NLI = "\n".join(
    json.dumps({"premise": f"A dog runs {n}.", "hypothesis": "An animal moves.", "label": label})
    for n, label in enumerate(("entailment", "neutral", "contradiction"))
)
QUESTIONS = (
    "QuestionID\tAnswerKey\tquestion\texplanation\tflags\tarcset\n"
    "Q1\tA\tWhat is ice? (A) cold (B) hot\tu-1|CENTRAL u-2|GROUNDING\tSUCCESS\tTrain\n"
)
CARD = {
    "method": "aeenc",
    "base": "minilm",
    "towers": "dual",
    "licence": "apache-2.0",
    "metrics": {"dev": {"map": 0.5}},
}
TEXTS = ("ice is cold", "the sun is hot")


def drain(read: Callable[[Path], Iterator[Any]]) -> Callable[[Path], list[Any]]:
    return lambda path: list(read(path))


def card(path: Path) -> Any:
    shutil.copy(path, path.with_name("entail.json"))
    return read_card(path.parent, "model")


def archive(path: Path) -> Any:
    with open_archive(path) as opened:
        return [list(opened.rows(part)) for part in opened.parts if part.startswith("tables/")]


@functools.cache
def tree() -> str:
    return read_text(sample_dir() / "trees.jsonl.gz").splitlines()[0] + "\n"


read_passages, read_passage_questions = drain(passages.read_passages), drain(passages.read_questions)
READERS: dict[str, tuple[str, Callable[[], str], Callable[[Path], Any]]] = {
    "corpus.csv": ("f.csv", lambda: "id,text\n1,{}\n2,{}\n".format(*TEXTS), read_corpus),
    "corpus.tsv": ("f.tsv", lambda: "id\ttext\n1\t{}\n2\t{}\n".format(*TEXTS), read_corpus),
    "corpus.jsonl": ("f.jsonl", lambda: "\n".join(json.dumps({"text": text}) for text in TEXTS), read_corpus),
    "corpus.json": ("f.json", lambda: json.dumps(dict(zip("ab", TEXTS, strict=True))), read_corpus),
    "corpus.txt": ("f.txt", lambda: "\n".join(TEXTS), read_corpus),
    "trees": ("f.jsonl", tree, read_trees),
    "acts.jsonl": ("f.jsonl", tree, read_acts),
    "nli": ("f.jsonl", lambda: NLI, read_nli),
    "passages.squad": ("f.json", lambda: json.dumps(SQUAD), read_passages),
    "questions.squad": ("f.json", lambda: json.dumps(SQUAD), read_passage_questions),
    "passages.dpr": ("f.json", lambda: json.dumps(DPR), read_passages),
    "questions.dpr": ("f.json", lambda: json.dumps(DPR), read_passage_questions),
    "passages.tsv": ("f.tsv", lambda: "id\ttext\ttitle\n1\tIce is cold.\tIce\n", read_passages),
    "questions.tsv": ("f.tsv", lambda: "what is ice\t['water', 'cold']\n", read_passage_questions),
    "qrels": ("f.tsv", lambda: "query-id\tcorpus-id\tscore\nq1\td1\t1\n", drain(read_qrels)),
    "worldtree questions": ("f.tsv", lambda: QUESTIONS, read_questions),
    "worldtree facts": (
        "tables/f.tsv",
        lambda: "A\t[SKIP] UID\nice is cold\tu-1\n",
        lambda path: read_fact_tables(path.parent),
    ),
    "card": ("f.json", lambda: json.dumps(CARD), card),
}


def attempt(read: Callable[[Path], Any], path: Path) -> str | None:
    """Return the kind of an error that is not the library's, None if there is none."""
    try:
        read(path)
    except EntailError as error:
        return None if str(error).strip() else "an error without words"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


def try_damages(file: Path, content: str, read: Callable[[Path], Any], tally: Tally, *, seed: int) -> None:
    """Check that a reader gives a value of each damaged file, or raises an error of the library."""
    file.write_text(content)
    assert attempt(read, file) is None
    failures, attempts = {}, 0
    for kind, damaged in islice(damages(content.encode(), seed=seed), None, None, EVERY):
        attempts += 1
        file.write_bytes(damaged)
        if failure := attempt(read, file):
            failures[kind] = failure
    tally(attempts=attempts, failures=len(failures))
    assert failures == {}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name: str, tmp_path: Path, tally: Tally) -> None:
    filename, content, read = READERS[name]
    file = tmp_path / filename
    file.parent.mkdir(exist_ok=True)
    try_damages(file, content(), read, tally, seed=len(name))
    assert file.exists()


def at_path(path: Path) -> dict[str, str | None]:
    """Return what each reader of single files makes of a path."""
    return {name: attempt(read, path) for name, (_, _, read) in READERS.items() if name in OF_FILES}


OF_FILES = READERS.keys() - {"card", "worldtree facts"}


@pytest.mark.parametrize("kind", list(ODD_PATHS)[: None if FULL else 3])
def test_paths_of_no_regular_file(kind: str, tmp_path: Path, tally: Tally) -> None:
    """None of them may make a reader wait, or read for ever."""
    code = (
        "from pathlib import Path; from tests.attack import test_bad_files as attack\n"
        "from tests.attack.bad_files import ODD_PATHS\n"
        f"path = ODD_PATHS[{kind!r}](Path({str(tmp_path)!r}))\n"
        "print([found for found in attack.at_path(path).items() if found[1]])"
    )
    done = run_limited(code)
    assert done.stdout.strip() == "[]", done.stderr[-2000:]
    tally(attempts=len(OF_FILES), failures=0)


BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: bomb(3000),
    "one line": lambda: bomb(3000, b"x"),
    "lines": lambda: bomb(3000, b"ice is cold\tice\n"),
    "objects": lambda: bomb(3000, b'{"text":"ice"}\n'),
    "array": lambda: bomb(3000, b'["ice",'),
    "brackets": lambda: bomb(3000, b"["),
}


@pytest.mark.attack
@pytest.mark.parametrize("kind", BOMBS)
def test_bombs(kind: str, tmp_path: Path, tally: Tally) -> None:
    """Each reader gives up within half a gigabyte."""
    content = BOMBS[kind]()
    for name in ("f.csv", "f.tsv", "f.json", "f.jsonl", "f.txt"):
        (tmp_path / f"{name}.gz").write_bytes(content)
    code = (
        "import resource; from pathlib import Path; from tests.attack import test_bad_files as attack\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "failures = []\n"
        "for name, (filename, _, read) in attack.READERS.items():\n"
        "    if name in attack.OF_FILES:\n"
        f"        found = attack.attempt(read, Path({str(tmp_path)!r}, f'{{filename}}.gz'))\n"
        "        failures += [(name, found)] if found else []\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(failures, (after - before) // 1000 < 500 or (after - before) // 1000)"
    )
    done = run_limited(code)
    assert done.stdout.strip() == "[] True", done.stderr[-2000:]
    tally(attempts=len(OF_FILES), failures=0)


def run_limited(code: str) -> subprocess.CompletedProcess[str]:
    """Run code with 6 GB of address space for at most three minutes of a processor."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
        resource.setrlimit(resource.RLIMIT_CPU, (180, 180))

    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=1200,  # of a busy machine, or a reader that waits for ever
        check=False,
    )


@pytest.mark.parametrize("number", range(40 if FULL else 4))
def test_damaged_backups(number: int, tmp_path: Path, tally: Tally) -> None:
    """Refuse a backup that is cut, altered, or has other parts."""
    file = tmp_path / "backup.zip"
    row = b'{"name": "Ada", "folded": "ada"}\n'
    write_archive(
        file, [("tables/authors.jsonl", [row] * 20), ("models/a/x.bin", [b"x" * 1000])], revision="0002"
    )
    content = file.read_bytes()
    failures = {}
    offsets = range(number, len(content), 40 if FULL else 211)
    for at in offsets:
        file.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        if failure := attempt(archive, file):
            failures[at] = failure
    file.write_bytes(content[: len(content) * number // 40])
    failures |= {"cut": failure} if (failure := attempt(archive, file)) else {}
    tally(attempts=len(offsets) + 1, failures=len(failures))
    assert failures == {}


@pytest.mark.parametrize("kind", [kind for kind in bad_backups() if FULL or kind != "parts too many"])
def test_backups_that_are_too_much(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    bad_backups()[kind](file)
    with pytest.raises(FormatError), open_archive(file):
        pass
