"""Encoding on the nodes of a Ray cluster, by Ray Data: read, map, and give back to the process that writes.

Checkpoints of Ray Data are not used: the vector store itself says which premises have rows, and a checkpoint
its own would need a shared folder and could contradict it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.errors import EncoderError, EntailError, SettingsError
from entail.index.engines import Numbers
from entail.index.gaussian import row_encoder
from entail.index.store import Halves

if TYPE_CHECKING:
    import pyarrow as pa

SMALLEST, LARGEST = 256, 4096
"""Premises of one task, which are encoded again when their worker is lost; eight tasks a worker or more."""

_SHARED = ("ENTAIL_BASE", "ENTAIL_MODELS_DIR", "HF_HOME", "HF_HUB_OFFLINE")
"""Variables that a worker needs to find the same weights."""


Batches = Iterator[tuple[Numbers, Halves]]
"""Keys of premises and their rows, some at a time."""


class Worker:
    """Encoder in a process of the cluster."""

    def __init__(self, name: str, *, revision: str, device: str | None) -> None:
        self._encoder, _ = row_encoder(name, device=device)
        if self._encoder.premise_revision != revision:
            raise EncoderError(
                f"a worker has the weights {self._encoder.premise_revision}, expected {revision}; give all "
                "nodes the same folder of models"
            )

    def __call__(self, block: pa.Table) -> pa.Table:
        """Return the keys of a block and the bytes of its rows in fp16."""
        import pyarrow as pa

        rows = self._encoder.encode_premises(block["text"].to_pylist()).astype(np.float16)
        width = pa.binary(rows.shape[1] * rows.itemsize)
        values = pa.FixedSizeBinaryArray.from_buffers(width, len(rows), [None, pa.py_buffer(rows)])
        return pa.table({"number": block["number"], "row": values})


def encode_on_ray(
    name: str,
    numbers: Numbers,
    texts: Sequence[str],
    *,
    revision: str,
    workers: int | None,
    device: str | None,
) -> Batches:
    """Yield the rows of premises as workers give them, in any order.

    The cluster is that of `RAY_ADDRESS`; without it, one is started on this machine. A block whose worker or
    node was lost is encoded again by another. On GPUs, a lost worker waits until one is free.

    Raises:
        SettingsError: If Ray is not installed.
        EncoderError: If a worker fails for another reason than being lost.
    """
    if find_spec("ray") is None:
        raise SettingsError("Ray is not installed: run `pip install 'entail[ray]'`, or pass --engine local")
    if not texts:
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray reports its use to its makers
    import pyarrow as pa
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    is_own = not ray.is_initialized()
    if is_own:
        cpus: dict[str, Any] = {} if "RAY_ADDRESS" in os.environ or workers is None else {"num_cpus": workers}
        shared = {variable: os.environ[variable] for variable in _SHARED if variable in os.environ}
        ray.init(**cpus, runtime_env={"env_vars": shared}, log_to_driver=False, logging_level="error")
    try:
        gpus = 0 if device == "cpu" else int(ray.cluster_resources().get("GPU", 0))
        count = workers or gpus or int(ray.cluster_resources()["CPU"])
        ray.data.DataContext.get_current().enable_progress_bars = False
        table = pa.table({"number": numbers, "text": pa.array(texts, pa.large_string())})
        size = min(LARGEST, max(SMALLEST, len(texts) // (8 * count)))
        blocks = [table.slice(start, size) for start in range(0, len(texts), size)]
        dataset = ray.data.from_arrow(blocks).map_batches(
            Worker,
            fn_constructor_args=(name,),
            fn_constructor_kwargs={"revision": revision, "device": device},
            batch_size=None,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=min(count, len(blocks))),
            # Half a processor each, so that the workers of a lost node start on those that are left.
            **({"num_gpus": 1} if gpus else {"num_cpus": 0.5}),
        )
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            values = batch["row"].combine_chunks()
            rows = np.frombuffer(b"".join(values.to_pylist()), np.float16).reshape(len(values), -1)
            yield batch["number"].to_numpy(), rows
    except ray.exceptions.RayError as error:
        cause: BaseException = getattr(error, "cause", None) or error
        if isinstance(cause.__cause__, EntailError):
            cause = cause.__cause__
        raise EncoderError(
            f"the encoding on Ray stopped ({str(cause).strip().splitlines()[-1][:300]}); what was written "
            "stays: run this again to go on"
        ) from error
    finally:
        if is_own:
            ray.shutdown()
