"""Count the rules that turn the questions of SQuAD into claims; write figures and a page to docs/results/.

::

    python scripts/measure_claims.py --train train-v1.1.json.gz --dev dev-v1.1.json.gz
    python scripts/measure_claims.py --train train-v1.1.json.gz --draw 2026   # 200 claims to read
    python scripts/measure_claims.py --table                                  # only the page

The verdicts of the reader stay in the result file: a count rewrites the rest of it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from entail.claims import existence_claim, state_answer
from entail.data.passages.files import read_questions
from entail.results import write_page, write_result

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "claims.json"
READ = 200


def count_rules(questions: list[str]) -> dict[str, Any]:
    """Return how many questions each rule takes, and the share that falls back."""
    start = perf_counter()
    claims = [existence_claim(question) for question in questions]
    seconds = perf_counter() - start
    return {
        "questions": len(claims),
        "rules": dict(Counter(claim.rule for claim in claims).most_common()),
        "fallback": round(sum(claim.fallback for claim in claims) / len(claims), 5),
        "milliseconds_per_question": round(1_000 * seconds / len(claims), 3),
    }


def time_long_word(length: int = 40_000) -> float:
    """Return the milliseconds for a question and an answer of one long word; it should stay below 100."""
    start = perf_counter()
    state_answer("Who won?", "b" * length)
    existence_claim("b" * length)
    return round(1_000 * (perf_counter() - start), 3)


def count_lines() -> int:
    """Return the lines of Python of the package."""
    files = (ROOT / "entail" / "claims").rglob("*.py")
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def markdown(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures = record["figures"]
    before = figures["before"]
    yield "<!-- Made from claims.json by `python scripts/measure_claims.py --table`; do not edit. -->"
    yield "# Claims of questions"
    yield ""
    yield "`entail.claims` beside the rules that it replaced (`before`)."
    yield ""
    yield "| | before | now |"
    yield "| --- | ---: | ---: |"
    yield f"| lines of Python | {before['lines']:,} | {figures['lines']:,} |"
    yield f"| rules | {before['rules']} | {len(figures['train']['rules'])} |"
    for part in ("train", "dev"):
        yield f"| fallback, SQuAD {part} | {before['fallback'][part]:.2%} | {figures[part]['fallback']:.2%} |"
    for reading in figures["readings"]:
        old, new = (READ - len(reading["unacceptable"][when]) for when in ("before", "now"))
        yield f"| acceptable of {READ}, seed {reading['seed']} ({reading['use']}) | {old} | {new} |"
    yield ""
    yield "One reader read each claim of questions drawn from SQuAD train; a claim is acceptable if it is"
    yield "grammatical wherever its question is, and claims what the question asks. The package was improved"
    yield "after the reading of the first sample; the last one was drawn when it was finished."
    yield ""
    yield "| rule | SQuAD train | SQuAD dev |"
    yield "| --- | ---: | ---: |"
    for rule, count in figures["train"]["rules"].items():
        yield f"| {rule} | {count:,} | {figures['dev']['rules'].get(rule, 0):,} |"


def main() -> None:
    """Count, draw or write the page."""
    parser = argparse.ArgumentParser(description="Count the rules of claims over SQuAD.")
    parser.add_argument("--train", type=Path, help="SQuAD v1.1 train, JSON, may be gzipped")
    parser.add_argument("--dev", type=Path, help="SQuAD v1.1 dev, JSON, may be gzipped")
    parser.add_argument("--draw", type=int, metavar="SEED", help=f"print {READ} claims of train to read")
    parser.add_argument("--table", action="store_true", help="write only the page")
    options = parser.parse_args()
    if options.draw is not None:
        for question in random.Random(options.draw).sample(list(read_questions(options.train)), READ):
            print(question.id, question.text, existence_claim(question.text).text, sep="\t")
        return
    if not options.table:
        before = json.loads(RESULT.read_text(encoding="utf-8"))["figures"]
        started = datetime.now(UTC)
        figures = {
            "before": before["before"],
            "lines": count_lines(),
            "milliseconds_of_a_long_word": time_long_word(),
            "train": count_rules([question.text for question in read_questions(options.train)]),
            "dev": count_rules([question.text for question in read_questions(options.dev)]),
            "readings": before["readings"],
        }
        write_result(RESULT, figures=figures, seed=None, started=started)
    print(write_page(RESULT, markdown).relative_to(ROOT))


if __name__ == "__main__":
    main()
