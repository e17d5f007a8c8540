"""Folders of weights: safety, digest, description, and the tensors of safetensors files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from entail.data import stored
from entail.data.reading import read_text
from entail.errors import EncoderError, FormatError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

T = TypeVar("T")

Similarity = Literal["cosine", "dot"]
"""Similarity of two vectors; `dot` is their inner product."""

PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"})
"""Suffixes of weights that can run code when loaded."""

SETTINGS = "config_sentence_transformers.json"
"""File of a model's prompts, similarity and length of vectors."""

_IDENTITY = frozenset({".safetensors", ".json", ".txt", ".model"})
_LICENCE = re.compile(r"^license:\s*['\"]?([^\s'\"]+)", re.MULTILINE)


def check_safe(folder: Path, name: str) -> None:
    """Refuse pickled weights and models with their own code.

    Raises:
        EncoderError: If the folder holds no safetensors, a module of it has nothing but a pickle, or one
            of its JSON files names a class that is not of sentence-transformers.
    """
    files = list(_files(folder))
    safe = {path.parent for path in files if path.suffix == ".safetensors"}
    pickles = [path for path in files if path.suffix in PICKLES and path.parent not in safe]
    if pickles:
        names = ", ".join(path.relative_to(folder).as_posix() for path in pickles)
        raise EncoderError(
            f"{name}: expected weights as .safetensors, found only {names}, which can run code when "
            "loaded; convert it (load it where you trust it, then save_pretrained) and try again"
        )
    if not safe:
        raise EncoderError(
            f"{name}: expected a sentence-transformers folder or a PEFT adapter, found no "
            ".safetensors file in it (pickled weights, .bin, are never loaded)"
        )
    for path in files:
        if path.suffix == ".json" and (code := _foreign_code(path)):
            raise EncoderError(
                f"{name}: {path.relative_to(folder).as_posix()} asks for code of its own ({code}), "
                "and only stock sentence-transformers modules are loaded; use a model without custom code"
            )


def folder_digest(folder: Path) -> str:
    """Return 12 hexadecimal digits that identify weights, configuration and vocabulary.

    Documents do not count, nor does `entail.json`, whose figures may be measured again.
    """
    digest = hashlib.sha256()
    for path in _files(folder):
        if path.suffix in _IDENTITY and path.name != "entail.json":
            digest.update(f"{path.relative_to(folder).as_posix()}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()[:12]


def folder_stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return path, size and modification time of the files below a folder; equal while nothing changes."""
    entries = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - a Path for each file would take longer than its stat
            with contextlib.suppress(OSError):  # a link to nothing
                state = os.stat(path)  # noqa: PTH116 - as above
                entries.append((path, state.st_size, state.st_mtime_ns))
    return tuple(sorted(entries))


def file_sha256(path: Path) -> str:
    """Return a file's hexadecimal SHA-256, cached until size or modification time change."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


def read_json(path: Path, kind: Any = object) -> Any:
    """Return the content of a JSON file as a type, None if there is no such file.

    Raises:
        EncoderError: If it cannot be read; see `entail.data.stored`.
    """
    remedy = "download the model again, or train it again"
    return stored.read_json(path, kind, error=EncoderError, remedy=remedy)


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, empty if there is none; raises as `read_json`."""
    content = read_json(path)
    return content if isinstance(content, dict) else {}


def read_form(kind: type[T], record: Mapping[str, Any], *, name: str, entry: str = "") -> T:
    """Return `entail.json`, or an entry of it, as a dataclass; unknown fields are ignored.

    Raises:
        EncoderError: If a value is not of its type or range.
    """
    try:
        return stored.parse_as(kind, json.dumps(record))
    except ValueError as error:
        raise EncoderError(
            f"{name}: expected other fields in {entry or 'entail.json'}, found {error}; train it again"
        ) from error


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, indented and in UTF-8."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_adapter(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the configuration of a PEFT adapter, None if the folder holds none.

    Raises:
        EncoderError: If it is no JSON object, or its weights are missing.
    """
    config: dict[str, Any] | None = read_json(folder / "adapter_config.json", dict[str, Any])
    if config is not None and not (folder / "adapter_model.safetensors").is_file():
        raise EncoderError(f"{name}: expected adapter_model.safetensors, found adapter_config.json alone")
    return config


def adapter_digest(folder: Path) -> str | None:
    """Return 12 hexadecimal digits that identify the configurations of a folder's adapters, None without one.

    The base does not count: its name differs by machine and on the Hub.
    """
    unnamed = {"base_model_name_or_path": None, "revision": None}
    files = folder.glob("**/adapter_config.json")
    configs = {file.relative_to(folder).as_posix(): read_object(file) | unnamed for file in files}
    text = json.dumps(configs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if configs else None


def dimension(folder: Path) -> int | None:
    """Return the length of the folder's vectors by its configuration, None if that does not say it."""
    stages, size = modules(folder), None
    for module in reversed(stages):
        config = read_object(folder / str(module.get("path", "")) / "config.json")
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Dense":
            size = config.get("out_features")
        elif kind == "Pooling":
            size = config.get("embedding_dimension", config.get("word_embedding_dimension"))
            mode = config.get("pooling_mode")
            # Files before sentence-transformers 5 have one flag a mode; modes are concatenated.
            flags = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
            size = size and size * (len(mode) if isinstance(mode, list) else flags or 1)
        if size is not None:
            break
    size = size if stages else read_object(folder / "config.json").get("hidden_size")
    if not isinstance(size, int):
        return None
    return min(size, read_object(folder / SETTINGS).get("truncate_dim") or size)


def symmetric(folder: Path) -> bool:
    """Return whether query and premise vectors of a text are equal: no routes and no prompts."""
    prompts = read_object(folder / SETTINGS).get("prompts")
    return not routed(folder) and not (isinstance(prompts, dict) and any(prompts.values()))


def similarity(folder: Path, name: str) -> Similarity:
    """Return the similarity that a model declares; `cosine` if its vectors have length 1.

    Raises:
        EncoderError: If it ranks neither as the cosine nor as the inner product.
    """
    declared = read_object(folder / SETTINGS).get("similarity_fn_name") or "cosine"
    truncated = read_object(folder / SETTINGS).get("truncate_dim")
    last = str(modules(folder)[-1].get("type", "")) if modules(folder) else ""
    normalised = last.endswith(".Normalize") and not truncated
    if declared == "cosine" or (normalised and declared in ("dot", "euclidean")):
        return "cosine"
    if declared == "dot":
        return "dot"
    raise EncoderError(
        f"{name}: expected a model that compares vectors by cosine or dot, found {declared!r} in {SETTINGS}; "
        "take another model, or normalise its vectors"
    )


def routed(folder: Path) -> bool:
    """Return whether a whole model has separate routes for queries and premises."""
    return any(str(module.get("type", "")).endswith((".Router", ".Asym")) for module in modules(folder))


def licence(folder: Path) -> str | None:
    """Return the licence in the header of the folder's README.md, None if there is none."""
    try:
        card = read_text(folder / "README.md")
    except FormatError:
        return None
    match = _LICENCE.search(card.split("\n---", 1)[0] if card.startswith("---") else "")
    return match.group(1) if match else None


def modules(folder: Path) -> list[dict[str, Any]]:
    """Return the modules of a sentence-transformers folder by `modules.json`, in order."""
    content = read_json(folder / "modules.json")
    return [module for module in content if isinstance(module, dict)] if isinstance(content, list) else []


class TensorFile:
    """An open safetensors file; see `open_tensors`."""

    def __init__(self, handle: Any, label: str, prefix: str, device: str, dtype: torch.dtype) -> None:
        self._handle, self._label = handle, label
        self._device, self._dtype = device, dtype
        self._raw = {name.removeprefix(prefix): name for name in handle.keys()}  # noqa: SIM118 - not a dict

    @property
    def names(self) -> frozenset[str]:
        """The names of the tensors, without the prefix."""
        return frozenset(self._raw)

    def get(self, name: str, *shape: int | None) -> Tensor:
        """Return a tensor of a shape, in which None stands for any size; without a shape, of any."""
        if name not in self._raw:
            raise EncoderError(f"{self._label}: expected the tensor {name!r}, found none of that name")
        tensor: Tensor = self._handle.get_tensor(self._raw[name])
        if shape and self._dtype.is_floating_point and not tensor.is_floating_point():
            raise EncoderError(f"{self._label}: expected floats in {name!r}, found {tensor.dtype}")
        actual = tuple(tensor.shape)
        fits = all(e in (None, a) for e, a in zip(shape, actual, strict=False))
        if shape and (len(actual) != len(shape) or not fits):
            expected = ", ".join("any" if size is None else str(size) for size in shape)
            raise EncoderError(f"{self._label}: expected {name!r} of shape ({expected}), found {actual}")
        # A copy: the file may be replaced while this is in use, and a mapped page would go with it.
        return tensor.to(self._device, self._dtype, copy=True)


def require_finite(path: Path, *, name: str) -> None:
    """Check that every number of a safetensors file is finite.

    Raises:
        EncoderError: If a tensor holds NaN or infinity, or the file is damaged.
    """
    import torch

    with open_tensors(path, name=name, device="cpu", dtype=torch.float32) as tensors:
        for tensor in sorted(tensors.names):
            if wrong := int((~tensors.get(tensor).isfinite()).sum()):
                raise EncoderError(
                    f"{name}: {path.name}: expected numbers in the tensor {tensor!r}, found {wrong} that are "
                    "none (NaN or infinite); download it again, or train it again"
                )


@contextlib.contextmanager
def open_tensors(
    path: Path, *, name: str, device: str, dtype: torch.dtype, prefix: str = ""
) -> Iterator[TensorFile]:
    """Open a safetensors file to read tensors onto a device in a precision.

    Raises:
        EncoderError: If the file is damaged or no safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as handle:
            yield TensorFile(handle, f"{name}: {path.name}", prefix, device, dtype)
    except (SafetensorError, OSError) as error:
        raise EncoderError(
            f"{name}: cannot be loaded, {path.name} is corrupt or no safetensors file ({error}); "
            "download it again"
        ) from error


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _foreign_code(path: Path) -> str | None:
    """Return the class or setting of a JSON file that needs code outside sentence-transformers."""
    content = read_json(path)
    if path.name == "modules.json" and isinstance(content, list):
        types = [module.get("type") for module in content if isinstance(module, dict)]
    elif path.name == "router_config.json" and isinstance(content, dict):
        types = list(content.get("types", {}).values())
    else:
        mapped = isinstance(content, dict) and content.get("auto_map")
        return f"auto_map in {path.name}" if mapped else None
    return next((str(t) for t in types if not str(t).startswith("sentence_transformers.")), None)


@cache
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
