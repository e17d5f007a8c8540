"""Field that picks a corpus, a file of the data folder or an upload."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import streamlit as st

from entail.data.bundled import SAMPLE_NAME
from entail.data.reading import read_content
from entail.progress import ProgressCallback
from entail.runtime.tasks import Task, TaskGroup
from entail.settings import load_settings
from entail.trees.store.corpora import CorpusInfo
from entail.ui.shared.form import upload_limit
from entail.ui.shared.link import Link
from entail.ui.shared.resources import Workspace
from entail.ui.shared.waiting import await_value

_Value = TypeVar("_Value")
_UPLOAD = "upload"


@dataclass(frozen=True)
class FileSource(Generic[_Value]):
    """Field for a corpus or a file; a file is read in the background.

    No path can be typed: whoever sees the page could read any file of the server.

    Attributes:
        part: Part of the page's `link` that names the choice.
        unit: Noun for the premises of a corpus.
        folder: Folder of the data folder whose files are options.
        prefix: Start of these files' ids.
        read: Reads a file: path, name on screen, progress.
        upload: Label of the upload.
        title: Start of these files' names on screen.
        accepts: Filter of these files.
        types: Extensions of uploads; None for any.
    """

    link: Link
    part: str
    label: str
    unit: str
    folder: str
    prefix: str
    read: Callable[[Path, str, ProgressCallback], _Value]
    tasks: TaskGroup
    upload: str
    title: str = ""
    accepts: Callable[[Path], bool] = lambda path: True
    types: tuple[str, ...] | None = None

    def pick(self, shared: Workspace) -> CorpusInfo | _Value | None:
        """Draw the field; return a corpus or the value of a file, None while there is none."""
        corpora = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
        files = {f"{self.prefix}-{path.name}": path for path in self._files()}
        names = {key: f"{info.name} ({info.count:,} {self.unit})" for key, info in corpora.items()}
        names |= {key: f"{self.title}{path.name}" for key, path in files.items()}
        names[_UPLOAD] = f"{self.title}Upload a file …"
        sample = next((key for key, info in corpora.items() if info.name == SAMPLE_NAME), next(iter(names)))
        choice = self.link.pick(
            self.part,
            self.label,
            names,
            sample,
            help=f"Lists also the files in the folder {self.folder} of the data folder, of any size.",
        )
        if choice in corpora:
            return corpora[choice]
        task = self._upload() if choice == _UPLOAD else self._open(files[choice])
        return None if task is None else await_value(task, waiting="Reading …")

    def _files(self) -> list[Path]:
        folder = load_settings().data_dir / self.folder
        return sorted(path for path in folder.glob("*") if path.name[:1] != "." and self.accepts(path))

    def _open(self, path: Path) -> Task[_Value]:
        return self.tasks.get_or_start(
            (str(path), _stamp(path)), lambda report: self.read(path, path.name, report)
        )

    def _upload(self) -> Task[_Value] | None:
        file = st.file_uploader(
            self.upload,
            type=list(self.types) if self.types else None,
            key=f"{self.link.page}_upload",
            max_upload_size=upload_limit(),
        )
        if file is None:
            st.info("Upload a file. It stays in memory only.", icon=":material/upload_file:")
            return None
        content, name = file.getvalue(), file.name
        digest = hashlib.sha256(content).hexdigest()
        return self.tasks.get_or_start(
            (_UPLOAD, name, digest),
            lambda report: read_content(content, name, lambda path: self.read(path, name, report)),
        )


def _stamp(path: Path) -> Hashable:
    """Return a value that changes with a file, or with what lies directly in a folder."""
    stamps = []
    for entry in (path, *(sorted(path.glob("*")) if path.is_dir() else ())):
        with contextlib.suppress(OSError, ValueError):
            about = entry.stat()
            stamps.append((entry.name, about.st_mtime_ns, about.st_size))
    return tuple(stamps)
