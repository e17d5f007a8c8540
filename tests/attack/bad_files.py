"""Generators of bad files: valid ones of each format, damaged in some four hundred ways."""

import gzip
import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", " ", "x", "\0", "=1+1", "<script>", "\u202e"),
    *([], [None], [[]], {}, {"": None}),
]
"""Values put in the place of each value of a JSON document."""

RAW: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\r\n",
    "nul": b"\0" * 1000,
    "brackets": b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "long number": b"1" * 10_000,
    "nan": b"NaN",
    "long line": b"x" * 2_000_000,
    "quote": b'"' + b"a,b\n" * 1000,
    "half surrogate": b'{"text": "\\ud800"}',
    "utf-7": b"+AGE-",
    "marks": b"\xef\xbb\xbf" * 3 + b"x",
    "utf-16 cut": "ice\n".encode("utf-16")[:-1],
    "zip": b"PK\x03\x04" + b"\0" * 100,
    "png": b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.",
    "gzip mark": b"\x1f\x8b",
    "gzip cut": gzip.compress(b"ice is cold\n" * 1000)[:40],
    "yaml": b"--- !!python/object/apply:os.system ['id']\n",
    "separators": "a\u2028b\u2029c\x85d\x0be\x0cf".encode(),
}
"""Contents that are of no format at all, by name."""


def damages(content: bytes, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (kind, content) of a valid file damaged in general ways, then in those of its JSON or table."""
    choose = random.Random(seed)
    yield from RAW.items()
    for share in range(1, 20):
        yield f"cut at {share}/20", content[: len(content) * share // 20]
    for number in range(40):
        at, byte = choose.randrange(len(content)), choose.randrange(256)
        yield f"byte {number}", content[:at] + bytes([byte]) + content[at + 1 :]
    for number in range(20):
        at = choose.randrange(len(content))
        yield f"insert {number}", content[:at] + choose.choice(list(RAW.values()))[:200] + content[at:]
    for number in range(10):
        start, end = sorted(choose.sample(range(len(content) + 1), 2))
        yield f"remove {number}", content[:start] + content[end:]
        yield f"repeat {number}", content[:end] + content[start:]
    text = content.decode()
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7", "cp037"):
        yield encoding, text.encode(encoding)
    for name, end in (("carriage returns", "\r"), ("odd", "\n\r"), ("unit", "\x1f")):
        yield name, text.replace("\n", end).encode()
    packed = gzip.compress(content)
    yield "gzip", packed
    yield "gzip twice", packed + packed
    yield "gzip and rest", packed + b"rest"
    for number in range(20):
        at = choose.randrange(len(packed))
        yield (
            f"gzip byte {number}",
            packed[:at] + bytes([packed[at] ^ 1 << choose.randrange(8)]) + packed[at + 1 :],
        )
    yield from _lines(text, choose)
    yield from _json(text, choose)


def _lines(text: str, choose: random.Random) -> Iterator[tuple[str, bytes]]:
    lines = text.splitlines(keepends=True)
    yield "backwards", "".join(reversed(lines)).encode()
    yield "head alone", lines[0].encode()
    yield "no head", "".join(lines[1:]).encode()
    yield "head twice", (lines[0] + text).encode()
    yield "a thousand times", (text * 1000).encode()
    for name, old in (("tab", "\t"), ("comma", ",")):
        yield f"{name} more", text.replace(old, old * 2).encode()
        yield f"{name} less", text.replace(old, " ").encode()
        yield f"{name} once more", text.replace(old, old * 2, 1).encode()
    for word in sorted(set(text.replace('"', " ").replace(",", " ").split()), key=len)[-12:]:
        yield f"without {word}", text.replace(word, "").encode()
        yield f"other {word}", text.replace(word, choose.choice(["0", "\u202e", "x" * 5000])).encode()


def _json(text: str, choose: random.Random) -> Iterator[tuple[str, bytes]]:
    first, *rest = text.splitlines()
    try:
        document = json.loads(text)
        rest = []
    except ValueError:
        try:
            document = json.loads(first)
        except ValueError:
            return
    paths = list(_places(document))
    for path in paths if len(paths) < 40 else choose.sample(paths, 40):
        for number, value in enumerate(choose.sample(VALUES, 6)):
            changed = json.dumps(_changed(document, path, value))
            yield f"{'.'.join(map(str, path))} {number}", "\n".join([changed, *rest]).encode()


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from _places(child, (*before, key))


def _changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = _changed(document[path[0]], path[1:], value)
    return copy


def bomb(megabytes: int, line: bytes = b"\0") -> bytes:
    """Return a gzip file that unpacks to so many megabytes of a line."""
    # A file may have many members, one after another.
    return gzip.compress(line * (2**24 // len(line)), compresslevel=9) * (megabytes // 16)


def bad_backups() -> dict[str, Callable[[Path], None]]:
    """Return functions that write a backup whose manifest is right, and which is too much, by kind."""
    zeros = b"\0" * (40 * 2**20)
    return {
        "a part too large": lambda file: _write_backup(file, {"models/a": zeros * 2}),
        "parts too large together": lambda file: _write_backup(
            file, {f"models/{number}": zeros for number in range(4)}
        ),
        "parts too many": lambda file: _write_backup(
            file, {f"models/{number}": b"" for number in range(100_001)}
        ),
        "names too deep": lambda file: _write_backup(file, {"models" + "/a" * 2_000: b""}),
        "parts in parts": _write_overlapping,
        "a part that claims to be packed less": lambda file: _write_backup(
            file, {"models/a": zeros * 2}, claims=2**30
        ),
    }


def _write_backup(
    file: Path, parts: dict[str, bytes], *, inner: zipfile.ZipInfo | None = None, claims: int = 0
) -> None:
    sizes = {
        name: {"size": len(content), "lines": content.count(b"\n"), "sha256": sha256(content).hexdigest()}
        for name, content in parts.items()
    }
    manifest = {"format": "entail backup", "format_version": 1, "revision": "0003", "parts": sizes}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            if inner is None:
                archive.writestr(name, content)
            elif name != inner.filename:
                archive.writestr(name, content, zipfile.ZIP_STORED)
                inner.header_offset = archive.start_dir - len(content)
                archive.filelist.append(inner)
        archive.writestr("manifest.json", json.dumps(manifest))
        if claims:
            archive.filelist[-2].compress_size = claims


def _write_overlapping(file: Path) -> None:
    """Write a backup whose second part contains the first one, which is therefore stored once."""
    content = b"ice is cold\n" * 100
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("models/a", content)
        (inner,) = archive.infolist()
        part = packed.getvalue()[: archive.start_dir]
    _write_backup(file, {"models/a": content, "models/b": part}, inner=inner)


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def _loop(folder: Path) -> Path:
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def _link_to_device(folder: Path) -> Path:
    (folder / "device").symlink_to("/dev/zero")
    return folder / "device"


ODD_PATHS: dict[str, Callable[[Path], Path]] = {
    "fifo": _fifo,
    "loop": _loop,
    "device": lambda folder: Path("/dev/zero"),
    "link to a device": _link_to_device,
    "folder": lambda folder: folder,
    "long": lambda folder: folder / ("x" * 5000),
    "nul": lambda folder: Path(f"{folder}/a\0b"),
    "process": lambda folder: Path("/proc/self/mem"),
}
"""Functions that make paths that are no regular files, by name."""
