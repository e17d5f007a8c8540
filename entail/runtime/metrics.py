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

METRICS = (REQUESTS, SECONDS, IN_PROGRESS, WAITING, BATCHES)
"""All metrics of the process."""
