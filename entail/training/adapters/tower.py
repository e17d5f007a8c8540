"""Towers in training: a sentence-transformers model, by LoRA adapter or whole; a cross-encoder.

It is saved as `entail.encoders` loads it: an adapter, a whole model, or one with a route for queries and one
for premises (`save_routes`).
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, Unpack

import numpy as np

from entail.data.text import fold
from entail.encoders.card import PREMISE_TOWER
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.cross.encoder import ADAPTER, HEAD, WHOLE, cross_outputs, transformer_forward
from entail.encoders.cross.pairs import Pair, wrap_tokenizer
from entail.encoders.encoder import BiEncoder
from entail.encoders.stock import replace_head, sentence_transformer, silent
from entail.encoders.weights import open_tensors, read_object
from entail.errors import TrainingError
from entail.index.protocol import Floats
from entail.progress import Meter, ProgressCallback
from entail.training.adapters.averaging import merge

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.nn import Parameter

Precision = Literal["fp32", "bf16"]

AT_ONCE = 4096
"""Tokens per forward pass; a loss spans several passes."""


@dataclass(frozen=True, kw_only=True)
class Lora:
    """Low-rank adapter on every linear layer: W x + (alpha / rank) B A x, with trained A and B.

    A rank of 16 trains 0.7 million weights of MiniLM's 22 million.
    """

    rank: int = 16
    alpha: int = 32


class TowerOptions(TypedDict):
    """Keyword arguments of `Tower`."""

    lora: Lora | None
    device: str
    precision: NotRequired[Precision]
    dropout: NotRequired[float | None]
    initial: NotRequired[Path | None]


class Tower:
    """Trainable encoder on a whole model; without `lora` every weight is trained.

    bf16 computes under autocast, the weights stay fp32. Dropout is that of hidden states and attention; None
    keeps the base's. `initial` is the folder of an adapter on this base to start from, cut to the rank of
    `lora`. `at_once` texts of similar length are read together: on a CPU padding to the longest of many short
    sentences takes longer than the sentences themselves.

    Raises:
        EncoderError: If the base cannot be loaded.
        TrainingError: If the base is an adapter, or encodes queries and premises differently; if `initial` is
            no plain adapter on it, or comes without `lora`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        lora: Lora | None,
        device: str,
        precision: Precision = "fp32",
        dropout: float | None = None,
        initial: Path | None = None,
    ) -> None:
        import torch

        require_base(base)
        self.base, self.lora, self.device, self.precision = base, lora, device, precision
        self.model: SentenceTransformer = sentence_transformer(base, device=device)
        self.model.similarity_fn_name = "cosine"
        self.at_once: int | None = None
        if torch.device(device).type == "cpu":
            # The gradient of torch's fused kernel is slow over many short sequences there.
            modules: list[Any] = list(self.model.modules())
            for module in modules:
                if hasattr(module, "set_attn_implementation"):
                    module.set_attn_implementation("eager")
            self.at_once = 32
        if dropout is not None:
            for layer in self.model.modules():
                if isinstance(layer, torch.nn.Dropout):
                    layer.p = dropout
        if lora is not None:
            _add_adapter(self.model, lora)
        if initial is not None:
            _start_from(self.model, initial, lora)
        # Loading leaves the layers in evaluation mode and the model around them in training mode.
        self.model.train()
        self.parameters: dict[str, Parameter] = {
            name: parameter
            for name, parameter in self.model.named_parameters()
            if parameter.requires_grad and ".pooler." not in name
        }

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, truncated to the model's maximum."""
        if not texts:
            return []
        tokens = self.model.tokenizer(list(texts), truncation=True, max_length=self.model.max_seq_length)
        return [len(ids) for ids in tokens["input_ids"]]

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return vectors with their gradient, shape (texts, d), fp32; of length 1 if compared by cosine."""
        import torch

        size = self.at_once or len(texts)
        if len(texts) <= size:
            return self._read(texts)
        order = np.argsort([len(text) for text in texts], kind="stable")
        parts = (order[at : at + size] for at in range(0, len(order), size))
        vectors = torch.cat([self._read([texts[i] for i in part]) for part in parts])
        return vectors[torch.from_numpy(np.argsort(order))]

    def _read(self, texts: Sequence[str]) -> Tensor:
        import torch

        vectors = self._embed(texts)
        by_cosine = self.model.similarity_fn_name == "cosine"
        return torch.nn.functional.normalize(vectors, dim=-1) if by_cosine else vectors

    def _embed(self, texts: Sequence[str]) -> Tensor:
        """Return the vectors of the model as they are, fp32."""
        import torch

        features = {
            name: value.to(self.device) if isinstance(value, torch.Tensor) else value
            for name, value in self.model.preprocess(list(texts)).items()
        }
        with self._autocast():
            vectors: Tensor = self.model(features)["sentence_embedding"]
        return vectors.float()

    def encode(
        self, texts: Sequence[str], *, batch_size: int = 64, progress: ProgressCallback | None = None
    ) -> Floats:
        """Return vectors without gradient and dropout, shape (texts, d); see `vectors`."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        out: Floats = np.empty((len(texts), self.dimension), dtype=np.float32)
        meter = Meter(len(texts), "encoding", unit="sentences", report=progress)
        with self.inference():
            for at in range(0, len(texts), batch_size):
                batch = order[at : at + batch_size]
                out[batch] = self.vectors([texts[i] for i in batch]).cpu().numpy()
                meter.add(len(batch))
        return out

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """Compute without gradient and dropout meanwhile."""
        import torch

        self.model.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.model.train()

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        dimension = self.model.get_embedding_dimension()
        assert dimension is not None
        return int(dimension)

    def save(self, folder: Path) -> None:
        """Write the adapter (fp16), or the whole model, into a new or empty folder."""
        save_whole(folder, self.model)
        if self.lora is not None:
            _tidy_adapter(folder, base=self.base.name)

    @contextlib.contextmanager
    def _autocast(self) -> Iterator[None]:
        import torch

        enabled = self.precision == "bf16"
        with torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16, enabled=enabled):
            yield


class CrossTower(Tower):
    """Trainable cross-encoder: a linear head, fp32, on the vector of the first token, or of every token.

    The other options are those of `Tower`.

    Raises:
        EncoderError: If the base cannot be loaded, has no transformer first, or a slow tokenizer.
        TrainingError: See `Tower`.
    """

    def __init__(
        self,
        base: EncoderEntry,
        *,
        max_length: int,
        outputs: int = 1,
        every_token: bool = False,
        seed: int = 0,
        **options: Unpack[TowerOptions],
    ) -> None:
        import torch

        super().__init__(base, **options)
        self.model = replace_head(self.model, pooling="cls")
        first: Any = next(iter(self.model.children()))
        self._transformer: Any = first.auto_model
        self.max_length, self._every = min(max_length, self.model.max_seq_length or max_length), every_token
        self.tokenize, self.frame = wrap_tokenizer(first.tokenizer, name=base.name)
        draw = torch.Generator().manual_seed(seed)
        d = int(self._transformer.config.hidden_size)
        self.head = torch.nn.Linear(d, outputs)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(outputs, d, generator=draw) * 0.02)
            self.head.bias.zero_()
        self.head.to(self.device)
        self.model.train()
        self.parameters |= {f"head.{name}": p for name, p in self.head.named_parameters()}

    def load_head(self, file: Path) -> None:
        """Start from the head of another cross-encoder of as many outputs.

        Raises:
            EncoderError: If its shape is another one.
        """
        import torch

        with open_tensors(file, name=file.parent.name, device=self.device, dtype=torch.float32) as tensors:
            head = {name: tensors.get(name, *p.shape) for name, p in self.head.named_parameters()}
        self.head.load_state_dict(head)

    def outputs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return the outputs of pairs with their gradient, in fp32; see `CrossEncoder.values`."""
        import torch

        autocast = torch.bfloat16 if self.precision == "bf16" else None
        forward = transformer_forward(
            self._transformer, typed=self.frame.typed, autocast=autocast, every_token=self._every
        )
        return cross_outputs(
            lambda ids, mask, second: self.head(forward(ids, mask, second)),
            pairs,
            frame=self.frame,
            budget=AT_ONCE if self.device == "cpu" else 1 << 20,
        )

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return the outputs of pairs without gradient and dropout; see `CrossEncoder.values`."""
        with self.inference():
            outputs: Floats = self.outputs(pairs).cpu().numpy()
            return outputs

    def save(self, folder: Path) -> None:
        """Write adapter (fp16) and head, or the whole model and head, into a new or empty folder."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        if self.lora is None:
            save_whole(folder / WHOLE, self.model)
        else:
            super().save(folder / ADAPTER)
        head = {name: p.detach().cpu().contiguous().clone() for name, p in self.head.named_parameters()}
        save_file(head, str(folder / HEAD))


class TowerEncoder:
    """`Encoder` with the current weights of towers; without a premise tower the base encodes premises."""

    def __init__(self, name: str, queries: Tower, premises: Tower | None, base: BiEncoder) -> None:
        self.name, self._queries, self._premises, self._base = name, queries, premises, base
        self.dimension, self.symmetric = queries.dimension, premises is queries
        self._moment = 0

    def invalidate(self) -> None:
        """Change the revision, after a change of the weights, so that cached vectors are not used."""
        self._moment += 1

    @property
    def revision(self) -> str:
        """Revision of the current weights, see `invalidate`."""
        return f"{self.name}@training-{self._moment}"

    @property
    def premise_revision(self) -> str:
        """Revision of the premise tower, the base's if that is frozen."""
        return self._base.premise_revision if self._premises is None else self.revision

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        return self._queries.encode(list(map(fold, texts)), progress=progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        if self._premises is None:
            return self._base.encode_premises(texts, progress=progress)
        return self._premises.encode(list(map(fold, texts)), progress=progress)


def require_base(base: EncoderEntry) -> None:
    """Check that an encoder can be trained on.

    Raises:
        TrainingError: If it is an adapter, or has routes or prompts.
    """
    if base.base is not None:
        raise TrainingError(
            f"expected a whole model as base, found the adapter {base.name!r}; take {base.base.name!r}"
        )
    if not base.symmetric:
        raise TrainingError(
            f"expected a base that encodes queries and premises equally, found {base.name!r}, which has "
            "routes or prompts; take one without"
        )


def save_both(folder: Path, queries: Tower, premises: Tower) -> None:
    """Write two trained towers: an adapter with another in `premise_tower/`, or a Router of whole models."""
    if queries.lora is None:
        save_routes(folder, queries.model, premises.model)
    else:
        queries.save(folder)
        premises.save(folder / PREMISE_TOWER)


def save_routes(folder: Path, queries: SentenceTransformer, premises: SentenceTransformer) -> None:
    """Write two whole models as one Router, with a route for queries and one for documents."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Router

    for_queries: list[Any] = list(queries.children())
    for_premises: list[Any] = list(premises.children())
    router = Router.for_query_document(for_queries, for_premises)
    similarity = queries.similarity_fn_name
    save_whole(folder, SentenceTransformer(modules=[router], device="cpu", similarity_fn_name=similarity))


def save_whole(folder: Path, model: SentenceTransformer) -> None:
    """Write a model, safetensors and configuration, without a card."""
    folder.mkdir(parents=True, exist_ok=True)
    with silent():
        model.save_pretrained(str(folder), create_model_card=False)


def _add_adapter(model: SentenceTransformer, lora: Lora) -> None:
    from peft import LoraConfig

    transformer: Any = next(iter(model.children()))
    left_out = r".*(pooler).*"
    names = (name for name, _ in transformer.auto_model.named_modules())
    model.add_adapter(
        LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
            # PEFT takes what matches nothing for a mistake, and T5 has no pooler.
            exclude_modules=left_out if any(re.fullmatch(left_out, name) for name in names) else None,
            bias="none",
        )
    )


def _start_from(model: SentenceTransformer, initial: Path, lora: Lora | None) -> None:
    """Initialise an adapter by another one, or by its best approximation of a lower rank."""
    import torch

    if lora is None:
        raise TrainingError("an adapter to start from needs an adapter to train; take tuning=lora")
    start, _ = merge([initial], rank=lora.rank)
    lora_layers = {name: module for name, module in model.named_modules() if hasattr(module, "lora_A")}
    with torch.no_grad():
        for key, (a, b) in start.items():
            layer = key.removeprefix("base_model.model.")
            matches = [
                module for name, module in lora_layers.items() if name == layer or name.endswith(f".{layer}")
            ]
            if len(matches) != 1:
                raise TrainingError(
                    f"{initial.name}: expected an adapter on linear layers of the base, found {layer!r}"
                )
            (down,), (up,) = matches[0].lora_A.values(), matches[0].lora_B.values()
            down.weight[: len(a)] = a
            up.weight[:, : len(a)] = b * (lora.rank / lora.alpha)


def _tidy_adapter(folder: Path, *, base: str) -> None:
    """Reduce an adapter to fp16 weights and a configuration without paths of this machine."""
    import torch
    from safetensors.torch import load_file, save_file

    file = folder / "adapter_model.safetensors"
    save_file({name: tensor.to(torch.float16) for name, tensor in load_file(file).items()}, file)
    config = read_object(folder / "adapter_config.json")
    config["base_model_name_or_path"] = base
    config["revision"] = None
    for name in ("target_modules", "exclude_modules"):
        if isinstance(config.get(name), list):
            config[name] = sorted(config[name])
    (folder / "adapter_config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    for path in folder.iterdir():
        if path.name not in ("adapter_model.safetensors", "adapter_config.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def cast_precision(precision: Literal["auto", "fp32", "bf16"], device: str) -> Precision:
    """Return the precision; `auto` is bf16 where faster: on GPUs, and CPUs with AMX or AVX512-BF16."""
    import torch

    if precision != "auto":
        return precision
    is_gpu = torch.device(device).type == "cuda"
    has_bf16 = torch.cuda.is_bf16_supported() if is_gpu else _processor_has_bf16()
    return "bf16" if has_bf16 else "fp32"


def _processor_has_bf16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags
