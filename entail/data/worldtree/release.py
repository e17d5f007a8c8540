"""A whole release of WorldTree, as a folder or a ZIP: its fact tables and its files of questions."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from entail.data.reading import MAX_BYTES
from entail.data.worldtree.questions import QuestionReading, read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.errors import FormatError

_SUFFIXES = (".tsv", ".tsv.gz")
_TABLES = "tables"


@dataclass(frozen=True)
class WorldtreeRelease:
    """Contents of a folder or a ZIP.

    Attributes:
        name: Of the folder or file.
        facts: All facts.
        readings: Its files of questions by name, those with explanations first.
        problems: Files beside the tables that are none of questions, one line each.
    """

    name: str
    facts: FactTables
    readings: tuple[QuestionReading, ...]
    problems: tuple[str, ...] = ()


def read_release(place: Path, *, name: str | None = None) -> WorldtreeRelease:
    """Read a release: `tables/` and, beside it or in `questions/`, the files of questions.

    Args:
        place: The folder that holds `tables/`, or a ZIP of it.
        name: What it is called; default: as its file.

    Raises:
        FormatError: If it is not there, is damaged or too large, or has no tables; having no questions is
            no error.
    """
    called = name or place.name
    if place.is_dir():
        tables = place / _TABLES
        if not tables.is_dir():
            raise FormatError(
                f"expected a folder with {_TABLES}/ in it, found none; give the release's own folder",
                source=called,
            )
        some = [
            *place.iterdir(),
            *((place / "questions").glob("*") if (place / "questions").is_dir() else ()),
        ]
        return _release(called, tables, [path for path in some if path.name.lower().endswith(_SUFFIXES)])
    if not place.is_file():
        raise FormatError("expected a release's folder, or a ZIP of it, found nothing here", source=called)
    with tempfile.TemporaryDirectory() as folder:
        return _release(called, place, _unzipped(place, Path(folder), called))


def _release(name: str, tables: Path, files: list[Path]) -> WorldtreeRelease:
    facts = read_fact_tables(tables)
    readings, problems = [], []
    for file in sorted(files, key=lambda path: path.name):
        try:
            readings.append(read_questions(file))
        except FormatError as error:
            problems.append(str(error))
    readings.sort(key=lambda reading: not reading.scored)
    return WorldtreeRelease(name, facts, tuple(readings), tuple(problems))


def _unzipped(place: Path, folder: Path, name: str) -> list[Path]:
    try:
        with zipfile.ZipFile(place) as packed:
            files = [
                info
                for info in packed.infolist()
                if info.filename.lower().endswith(_SUFFIXES)
                and _TABLES not in (path := PurePosixPath(info.filename)).parts[:-1]
                and not path.name.startswith(".")
            ]
            size = sum(info.file_size for info in files)
            if size > MAX_BYTES:
                raise FormatError(
                    f"expected at most {MAX_BYTES:,} bytes of questions, found {size:,}", source=name
                )
            for info in files:
                # By its own name alone, wherever the ZIP would have it.
                (folder / PurePosixPath(info.filename).name).write_bytes(packed.read(info))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError) as error:
        raise FormatError(
            f"expected a ZIP of a release, found another file ({error})", source=name
        ) from error
    return list(folder.iterdir())
