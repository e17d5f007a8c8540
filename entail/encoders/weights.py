"""Description and safety of a folder of weights.

Nothing here loads a model: only names, JSON files and digests are read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from entail.errors import EncoderError

PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"})
"""Suffixes of weights that run code when they are read."""

_IDENTITY = frozenset({".safetensors", ".json", ".txt", ".model"})
_DPR = ("DPRQuestionEncoder", "DPRContextEncoder")
_TRUSTED_MODULES = "sentence_transformers."
_LICENCE = re.compile(r"^license:\s*['\"]?([^\s'\"]+)", re.MULTILINE)


def check_safe(folder: Path, name: str) -> None:
    """Refuse weights that only a pickle holds and models that bring code of their own.

    Raises:
        EncoderError: If the folder holds no safetensors, a module of it has nothing but a pickle, or one
            of its JSON files names a class that is not of sentence-transformers.
    """
    files = list(_files(folder))
    tensors = {path.parent for path in files if path.suffix == ".safetensors"}
    pickles = [path for path in files if path.suffix in PICKLES and path.parent not in tensors]
    if pickles:
        found = ", ".join(sorted(path.relative_to(folder).as_posix() for path in pickles))
        raise EncoderError(
            f"{name}: expected weights as .safetensors, found only {found}, which can run code when "
            "loaded; convert it (load it where you trust it, then save_pretrained) and try again"
        )
    if not tensors:
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


def check_sole(folder: Path, name: str) -> None:
    """Refuse half of a DPR as transformers saves it: the other half, for passages, is a model of its own.

    Raises:
        EncoderError: If the folder is one of DPR's two encoders without sentence-transformers' modules.
    """
    config = read_json(folder / "config.json")
    kinds = config.get("architectures") if isinstance(config, dict) and not modules(folder) else None
    if isinstance(kinds, list) and (half := next((kind for kind in kinds if kind in _DPR), None)):
        raise EncoderError(
            f"{name}: expected one model that encodes queries and premises, found {half} as "
            "transformers saves it, whose other tower is another model; give a DPR in "
            "sentence-transformers' format, such as "
            "sentence-transformers/facebook-dpr-question_encoder-single-nq-base, which then encodes both"
        )


def folder_digest(folder: Path) -> str:
    """Return 12 hexadecimal digits that change when weights, configuration or vocabulary change.

    Cards and other documents do not count, nor does `entail.json`, whose figures may be measured anew.
    """
    digest = hashlib.sha256()
    for path in _files(folder):
        if path.suffix in _IDENTITY and path.name != "entail.json":
            digest.update(f"{path.relative_to(folder).as_posix()}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()[:12]


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256, hexadecimal; read once a process as long as the file stays as it is."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return what a JSON file holds, None if there is no such file.

    Raises:
        EncoderError: If it is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EncoderError(f"{path.parent.name}/{path.name}: expected JSON, found {error}") from error


def read_adapter(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the configuration of a PEFT adapter, None if the folder holds none.

    Raises:
        EncoderError: If it is no JSON object, or its weights are missing.
    """
    config = read_json(folder / "adapter_config.json")
    if config is None:
        return None
    if not isinstance(config, dict):
        raise EncoderError(f"{name}: expected an object in adapter_config.json, found {str(config)[:60]!r}")
    if not (folder / "adapter_model.safetensors").is_file():
        raise EncoderError(f"{name}: expected adapter_model.safetensors, found adapter_config.json alone")
    return config


def dimension(folder: Path) -> int | None:
    """Return the length of the folder's vectors as its configuration says it, None if it does not."""
    stages = modules(folder)
    for module in reversed(stages):
        config = read_json(folder / str(module.get("path", "")) / "config.json")
        if not isinstance(config, dict):
            continue
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Dense" and isinstance(config.get("out_features"), int):
            return int(config["out_features"])
        if kind == "Pooling":
            size = config.get("embedding_dimension", config.get("word_embedding_dimension"))
            mode = config.get("pooling_mode")
            # Files before sentence-transformers 5 have one flag a mode; modes are concatenated.
            flags = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
            parts = len(mode) if isinstance(mode, list) else flags or 1
            return size * parts if isinstance(size, int) else None
    config = None if stages else read_json(folder / "config.json")
    size = config.get("hidden_size") if isinstance(config, dict) else None
    return size if isinstance(size, int) else None


def symmetric(folder: Path) -> bool:
    """Return whether query and premise vectors of a text are equal: no routes and no prompts."""
    if routed(folder):
        return False
    config = read_json(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts") if isinstance(config, dict) else None
    return not (isinstance(prompts, dict) and any(prompts.values()))


def routed(folder: Path) -> bool:
    """Return whether queries and premises take different routes through a whole model."""
    return any(str(module.get("type", "")).endswith((".Router", ".Asym")) for module in modules(folder))


def licence(folder: Path) -> str | None:
    """Return the licence that the folder's card names, None if it names none."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    header = card.split("\n---", 1)[0] if card.startswith("---") else ""
    found = _LICENCE.search(header)
    return found.group(1) if found else None


def modules(folder: Path) -> list[dict[str, Any]]:
    """Return the modules of a sentence-transformers folder as `modules.json` names them, in order."""
    told = read_json(folder / "modules.json")
    return [module for module in told if isinstance(module, dict)] if isinstance(told, list) else []


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _foreign_code(path: Path) -> str | None:
    content = read_json(path)
    if path.name == "modules.json" and isinstance(content, list):
        types = [module.get("type") for module in content if isinstance(module, dict)]
    elif path.name == "router_config.json" and isinstance(content, dict):
        types = list(content.get("types", {}).values())
    elif isinstance(content, dict) and content.get("auto_map"):
        return f"auto_map in {path.name}"
    else:
        return None
    return next((str(t) for t in types if not str(t).startswith(_TRUSTED_MODULES)), None)


@cache
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
