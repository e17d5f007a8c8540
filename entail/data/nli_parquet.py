"""NLI pairs in Parquet, the form in which the Hub keeps data sets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from entail.data.nli_tables import Row, Table
from entail.data.reading import Source
from entail.errors import FormatError


def read_parquet(source: Source, *, name: str, parses: bool = False) -> Table:
    """Return the rows of a Parquet file; a data set's own names of its labels come with it.

    Args:
        source: Path, or the bytes of an upload.
        name: Name for messages.
        parses: See `entail.data.nli_tables.read_rows`.

    Raises:
        FormatError: If the file is damaged, now or as its rows are gone through.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(
            pa.BufferReader(source) if isinstance(source, bytes) else os.fspath(source)
        )
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error, name) from error
    columns = tuple(column for column in schema.names if parses or not column.endswith("_parse"))
    return Table("parquet", columns, _rows(file, columns, name), _label_names(schema.metadata or {}))


def _rows(
    file: Any,  # noqa: ANN401 - pyarrow has no types
    columns: tuple[str, ...],
    name: str,
) -> Iterator[tuple[str, Row | FormatError]]:
    import pyarrow as pa

    number = 0
    try:
        for batch in file.iter_batches(columns=list(columns)):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged(error, name) from error


def _label_names(metadata: dict[bytes, bytes]) -> tuple[str, ...]:
    """Return what `datasets` wrote of the numbers in the column `label`."""
    try:
        names = json.loads(metadata[b"huggingface"])["info"]["features"]["label"]["names"]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _damaged(error: Exception, name: str) -> FormatError:
    return FormatError(f"expected a whole Parquet file, found a damaged one ({error})", source=name)
