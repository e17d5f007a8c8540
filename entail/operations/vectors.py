"""Files of the vector cache that are damaged: segments, and indexes of approximate search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.stored import read_json
from entail.errors import DataError
from entail.index.store import SegmentManifest, digest_of
from entail.index.vectors import slug


def list_damaged(vectors_dir: Path) -> Iterator[tuple[Path, str]]:
    """Yield the manifest of each segment or index that is ignored, and the reason.

    Every file is read whole. A manifest that is not there may be about to be written.
    """
    for folder in sorted(path for path in vectors_dir.glob("[!.]*") if not path.is_symlink()):
        yield from _damaged_segments(folder)
        for manifest in _manifests(folder / "ivf", "[!.]*"):
            try:
                content = read_json(manifest, dict[str, Any])
                if content is None or content.get("sha256") != digest_of(manifest.with_suffix(".faiss")):
                    yield manifest, "the index is not the one of its manifest"
            except (OSError, DataError) as error:
                yield manifest, str(error)


def parts_of(manifest: Path) -> list[Path]:
    """Return the files of a segment or an index that are there, the manifest first."""
    return sorted(manifest.parent.glob(f"{manifest.stem}.*"), key=lambda path: path != manifest)


def _manifests(folder: Path, pattern: str) -> list[Path]:
    """Return the manifests of the files of a folder, which may be missing."""
    return sorted({path.with_name(f"{path.name.partition('.')[0]}.json") for path in folder.glob(pattern)})


def _damaged_segments(folder: Path) -> Iterator[tuple[Path, str]]:
    contents: dict[Path, SegmentManifest] = {}
    widths: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for manifest in _manifests(folder, "[0-9]*.*"):
        try:
            contents[manifest] = content = _check_segment(manifest)
            widths[content.metric][content.dimension] += content.count
        except (OSError, EOFError, ValueError, DataError) as error:
            yield manifest, str(error)
    for manifest, content in contents.items():
        ((width, _),) = widths[content.metric].most_common(1)
        if slug(content.revision) != folder.name:
            yield manifest, f"it is of {content.revision}"
        elif content.dimension != width:
            yield manifest, f"its vectors have {content.dimension} dimensions, those of the others {width}"


def _check_segment(manifest: Path) -> SegmentManifest:
    """Return the manifest of a segment; raise `ValueError` if its arrays are others."""
    content = read_json(manifest, SegmentManifest)
    if content is None:
        raise ValueError("it has no manifest")
    expected: list[tuple[str, tuple[int, ...], str]] = [
        ("numbers", (content.count,), content.numbers_sha256),
        ("rows", (content.count, content.dimension), content.rows_sha256),
    ]
    for part, shape, digest in expected:
        file = manifest.with_suffix(f".{part}.npy")
        if np.load(file, mmap_mode="r", allow_pickle=False).shape != shape or digest_of(file) != digest:
            raise ValueError(f"{file.name} is not that of its manifest")
    return content
