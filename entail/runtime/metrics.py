"""Metrics of requests over HTTP, and of texts that encoders encode for pages and API.

`prometheus_client` keeps the figures. Its import takes a while: callers import this module when they count.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Counter("entail_requests", "Requests that were answered", ["endpoint", "status"])

SECONDS = Histogram(
    "entail_request_seconds",
    "Seconds until a request is answered",
    ["endpoint"],
    buckets=[round(0.001 * 1.5**step, 4) for step in range(27)],  # 1 ms to 38 s
)

IN_PROGRESS = Gauge(
    "entail_requests_in_progress",
    "Requests that wait or are answered now",
    ["endpoint"],
    multiprocess_mode="livesum",
)

WAITING = Gauge(
    "entail_queue_texts", "Texts that wait for an encoder", ["encoder"], multiprocess_mode="livesum"
)

BATCHES = Histogram(
    "entail_batch_texts",
    "Texts that an encoder encodes together: of requests, or of a page or an index",
    ["encoder", "source"],
    buckets=[4**step for step in range(8)],
)

RESIDENT = ("kind", "name", "revision", "device", "corpus")
"""Labels of a model or index in memory."""

MODEL_BYTES = Gauge(
    "entail_model_bytes", "Bytes of a model or index in memory", RESIDENT, multiprocess_mode="livesum"
)
MODEL_LOADED = Gauge(
    "entail_model_loaded_seconds", "Time of loading, since 1970", RESIDENT, multiprocess_mode="livemax"
)
MODEL_USED = Gauge(
    "entail_model_used_seconds", "Time of the last use, since 1970", RESIDENT, multiprocess_mode="livemax"
)

PROCESS_BYTES = Gauge(
    "entail_process_bytes",
    "Memory of a process; what several share counts in equal parts",
    ["process"],
    multiprocess_mode="livesum",
)

GPU_BYTES = Gauge("entail_gpu_bytes", "Memory of a GPU", ["gpu", "of"], multiprocess_mode="livemax")

METRICS = (
    *(REQUESTS, SECONDS, IN_PROGRESS, WAITING, BATCHES),
    *(MODEL_BYTES, MODEL_LOADED, MODEL_USED, PROCESS_BYTES, GPU_BYTES),
)
"""All metrics of the process."""
