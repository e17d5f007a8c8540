"""Reader of relevance judgements of passages: TREC, MS MARCO, BEIR and MTEB."""

from __future__ import annotations

import math
import os

from entail.data.passages.stream import lines, read_head
from entail.data.reading import parse_object, shorten
from entail.data.tables import TAB, named_columns, split_cells
from entail.errors import FormatError

QREL_FILES = (".tsv", ".jsonl")
"""Suffixes of the judgements in a BEIR folder."""

_PARTS = {
    "question": ("query-id", "query_id", "qid", "topic"),
    "passage": ("corpus-id", "corpus_id", "docno", "doc_id", "docid", "pid"),
    "grade": ("score", "rel", "relevance", "label", "grade"),
}
_COLUMNS = {3: ("qid", "docno", "label"), 4: ("qid", "iteration", "docno", "label")}
_HEAD = 1 << 10


def read_qrels(file: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Return question id -> ids of its relevant passages: those of grade 1 or more, as in trec_eval.

    TREC, MS MARCO and BEIR write three or four columns, MTEB JSONL. Ids may have spaces in lines with tabs.

    Raises:
        FormatError: With the line, unless it has a question, a passage and a number; or if it judges a
            passage relevant that another line does not.
    """
    relevant: dict[str, dict[str, bool]] = {}
    names: tuple[str, ...] = ()
    is_json = read_head(file, _HEAD).startswith("{")
    for number, line in lines(file):
        if not line.strip():
            continue
        if is_json:
            row = parse_object(line, source=str(file), line=number)
        else:
            cells = [cell.strip() for cell in split_cells(line)] if TAB in line else line.split()
            if not names:
                is_header = len(named_columns(cells, _PARTS)) == len(_PARTS)
                names = tuple(cells) if is_header else _COLUMNS.get(len(cells), ())
                if is_header:
                    continue
            row = dict(zip(names, cells, strict=True)) if len(cells) == len(names) else {}
        columns = named_columns(row, _PARTS)
        try:
            question, passage = str(row[columns["question"]]), str(row[columns["passage"]])
            grade = float(row[columns["grade"]])  # some write 1.0
        except (KeyError, TypeError, ValueError):
            grade = math.nan
        if not math.isfinite(grade):
            raise FormatError(
                "expected question id, passage id and a number (or with a 0 between, as TREC writes it), "
                f"found {shorten(line)!r}",
                source=str(file),
                line=number,
            )
        if relevant.setdefault(question, {}).setdefault(passage, grade >= 1) != (grade >= 1):
            raise FormatError(
                f"expected one judgement of a passage for a question, found {grade:g} after another one for "
                f"{shorten(question)!r} and {shorten(passage)!r}",
                source=str(file),
                line=number,
            )
    return {
        question: tuple(passage for passage, is_relevant in judged.items() if is_relevant)
        for question, judged in relevant.items()
    }
