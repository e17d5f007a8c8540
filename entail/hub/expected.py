"""Which files an encoder is made of: nothing else goes to the Hub, and nothing else comes from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from entail.encoders.weights import PICKLES
from entail.errors import HubError

_NAMES = frozenset(
    {
        "README.md",
        "LICENSE",
        "LICENSE.txt",
        "NOTICE",
        "entail.json",
        "seen.json",
        "adapter_config.json",
        "config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "router_config.json",
        "sentence_bert_config.json",
        "model.safetensors.index.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "vocab.txt",
        "merges.txt",
        "tokenizer.model",
        "spiece.model",
        "sentencepiece.bpe.model",
    }
)
_WEIGHTS = re.compile(r"[A-Za-z0-9][\w-]*\.safetensors", re.ASCII)
_FOLDER = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
_DEPTH = 3
_OF_PEOPLE = frozenset({"README.md", "LICENSE", "LICENSE.txt", "NOTICE"})


def is_expected(name: str) -> bool:
    """Whether a file of this name, relative to the encoder's folder, may be part of an encoder.

    >>> is_expected("1_Pooling/config.json"), is_expected("../config.json"), is_expected("pytorch_model.bin")
    (True, False, False)
    """
    *folders, file = PurePosixPath(name).parts or ("",)
    known = file in _NAMES or _WEIGHTS.fullmatch(file) is not None
    inside = len(folders) <= _DEPTH and all(_FOLDER.fullmatch(part) for part in folders)
    return known and inside and "\\" not in name and not name.startswith("/")


def is_of_weights(name: str) -> bool:
    """Whether a file decides how an encoder is loaded: such a file of an earlier push must not stay."""
    return is_expected(name) and PurePosixPath(name).name not in _OF_PEOPLE


def files_to_push(folder: Path, name: str) -> list[Path]:
    """Return the files of an encoder's folder, in order of name, if every one is expected.

    Raises:
        HubError: If there is a pickle, a link, or a file that no encoder is made of.
    """
    found = list(_files(folder))
    for path in found:
        shown = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise HubError(
                f"{name}: expected files, found the link {shown}; put the file itself there, or take it away",
                reason="unsafe",
            )
        if path.suffix in PICKLES:
            raise HubError(
                f"{name}: {shown} is a pickle, which can run code where it is loaded, and is not pushed; "
                "keep the weights as .safetensors and take it away",
                reason="unsafe",
            )
        if not is_expected(shown):
            raise HubError(
                f"{name}: expected nothing but weights, configuration, vocabulary and card, found {shown}, "
                "which is not pushed; take it out of the folder",
                reason="unsafe",
            )
    return found


def _files(folder: Path) -> Iterator[Path]:
    # Never through a link to a folder, which may lead anywhere.
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path
