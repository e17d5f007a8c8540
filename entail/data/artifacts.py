"""Artifacts: files and folders that all machines of an installation read, in a store behind fsspec.

The store is a folder, `s3://bucket/prefix` or any other URL of fsspec (`ENTAIL_ARTIFACTS`). Each artifact is
one tar file, so that it is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from entail.data.private import make_folder
from entail.data.writing import replacing
from entail.errors import DataError
from entail.masking import mask_secrets
from entail.settings import Settings, load_settings


class Artifacts:
    """Store of artifacts, by names such as `models/mine/1234.tar`; every method raises `DataError`."""

    def __init__(self, url: str) -> None:
        import fsspec  # type: ignore[import-untyped]  # not typed there

        self._shown = mask_secrets(urlsplit(url)._replace(query="").geturl()) if "://" in url else url
        with self._translated("open"):
            # Nothing is cached: other machines write, too.
            self._files, self._root = fsspec.core.url_to_fs(
                url, use_listings_cache=False, skip_instance_cache=True
            )
        self._is_local = "file" in (self._files.protocol, *self._files.protocol)

    def push(self, paths: Collection[Path], name: str) -> None:
        """Store files and folders as one artifact; an artifact of this name is replaced."""
        with self._translated(f"write {name} into"), tempfile.TemporaryDirectory() as folder:
            packed = Path(folder, "artifact.tar")
            with tarfile.open(packed, "w") as archive:
                for path in paths:
                    archive.add(path, path.name)
            target = f"{self._root}/{name}"
            if not self._is_local:  # an object is there as a whole
                self._files.put_file(str(packed), target)
                return
            make_folder(Path(target).parent)
            with replacing(Path(target)) as unfinished:
                shutil.copyfile(packed, unfinished)

    def pull(self, name: str, folder: Path) -> None:
        """Unpack an artifact into a folder, whose files of the same names are replaced."""
        with self._translated(f"read {name} from"), tempfile.TemporaryDirectory() as scratch:
            packed = Path(scratch, "artifact.tar")
            self._files.get_file(f"{self._root}/{name}", str(packed))
            make_folder(folder)
            with tarfile.open(packed) as archive:
                archive.extractall(folder, filter="data")

    def names(self, prefix: str) -> list[str]:
        """Return the names of the artifacts in a folder of the store, the oldest first."""
        with self._translated("list"):
            if not self._files.isdir(f"{self._root}/{prefix}"):
                return []
            entries = [
                entry
                for entry in self._files.ls(f"{self._root}/{prefix}", detail=True)
                if entry["type"] == "file" and entry["name"].endswith(".tar")
            ]
            ages = ("LastModified", "mtime", "created")
            entries.sort(key=lambda entry: next((str(entry[age]) for age in ages if age in entry), ""))
            return [f"{prefix}/{entry['name'].rpartition('/')[2]}" for entry in entries]

    def remove(self, name: str) -> None:
        """Remove an artifact, or a folder of them."""
        with self._translated(f"remove {name} from"), contextlib.suppress(FileNotFoundError):
            self._files.rm(f"{self._root}/{name}", recursive=True)

    @contextlib.contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # each file system has errors of its own
            reason = mask_secrets(" ".join(str(error).split()) or type(error).__name__)
            raise DataError(
                f"cannot {action} the store of artifacts {self._shown} ({reason[:300]}); check "
                "ENTAIL_ARTIFACTS, that its server answers, and that this user may write there"
            ) from error


def open_artifacts(settings: Settings | None = None) -> Artifacts | None:
    """Return the store of the settings; None where files stay on the machine that wrote them."""
    url = (settings or load_settings()).artifacts
    return _open(url, os.getpid()) if url is not None else None


@lru_cache(maxsize=4)
def _open(url: str, process: int) -> Artifacts:
    return Artifacts(url)


def model_artifact(name: str, version: str) -> str:
    """Return the name of a model's artifact: of its revision, or of the job that trained it."""
    return f"models/{name}/{quote(version, safe='@+')}.tar"


def pull_folder(store: Artifacts, name: str, target: Path) -> bool:
    """Make a folder of an artifact that holds one, in one move; return False if it is there already."""
    staged = target.with_name(f".pulled-{secrets.token_hex(4)}")
    try:
        store.pull(name, staged)
        if not target.exists():
            (staged / target.name).rename(target)
            return True
    except OSError as error:
        if not target.exists():  # another process may have been first
            raise DataError(f"{target.name} cannot be written into {target.parent}: {error}") from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return False
