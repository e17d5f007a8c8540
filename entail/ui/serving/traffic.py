"""Traffic view of the Serving page: rate, latency, errors, queues and batches of the last minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import altair as alt
import pandas as pd
import streamlit as st

from entail.operations.storage import in_words
from entail.runtime.searches import SEARCHES
from entail.serving.history import Sample, Traffic, split_traffic
from entail.ui.components.elements import draw_error, draw_table, pick_view
from entail.ui.serving.target import Target, draw_api_off
from entail.ui.shared.chart_marks import SERIES
from entail.ui.shared.model_names import model_label
from entail.ui.shared.text import label

WINDOWS = {"15 min": 900, "1 h": 3_600, "6 h": 21_600}
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

_REQUESTS, _SECONDS, _BATCH = "entail_requests_total", "entail_request_seconds", "entail_batch_texts"
_HELP = {
    "p50": "About half of the requests were answered within this time, which is estimated from counts.",
    "p95": "Needs 20 requests.",
    "p99": "Needs 100 requests.",
    "refused": "Status 4xx: the request could not be answered as it was.",
    "errors": "Status 5xx: the server failed, or was not ready.",
}
_ALL = "all"
_STEPS = 60
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (1, 3), (4, 1))


def draw_traffic(target: Target) -> None:
    """Draw the traffic, renewed every few seconds."""
    if target.is_own and not target.url:
        draw_api_off()
    window = pick_view(
        "Window", tuple(WINDOWS), default="15 min", key="serving_window", persist_state="session"
    )
    _draw_live(target, WINDOWS[window])


@st.fragment(run_every=5.0)
def _draw_live(target: Target, seconds: int) -> None:
    samples = target.history.samples(seconds)
    if target.history.error is not None:
        draw_error(target.history.error)
    if not samples:
        return
    traffic = Traffic(samples[0], samples[-1])
    endpoints = samples[-1].label_values(_REQUESTS, "endpoint")
    with st.container(horizontal=True, gap="medium"):
        for name, value in _describe_requests(traffic).items():
            st.metric(
                name if name in QUANTILES else name.capitalize(), value, width="content", help=_HELP.get(name)
            )
    st.caption(f"Of the last {max(1, round(traffic.seconds / 60))} min. Renewed every 5 seconds.")
    if endpoints:
        _draw_charts(samples, endpoints)
        st.markdown("##### Endpoints")
        rows = [{"endpoint": name, **_describe_requests(traffic, endpoint=name)} for name in endpoints]
        draw_table(pd.DataFrame(rows))
    if encoders := samples[-1].label_values(f"{_BATCH}_count", "encoder"):
        st.markdown("##### Encoders")
        draw_table(pd.DataFrame([_describe_batches(traffic, encoder) for encoder in encoders]))
    _draw_gpus(samples[-1])


def _describe_requests(traffic: Traffic, **labels: str) -> dict[str, str]:
    """Return rate, latency and errors of an endpoint, or of all."""
    by_status: Counter[str] = Counter()
    for key, count in traffic.increase(_REQUESTS, **labels).items():
        by_status[dict(key)["status"][0]] += round(count)
    count = by_status.total()
    latencies = {
        name: traffic.quantile(_SECONDS, share, **labels) if count * (1 - share) >= 1 else None
        for name, share in QUANTILES.items()
    }
    return {
        "requests": f"{count:,}",
        "per second": f"{count / max(traffic.seconds, 1.0):.2f}",
        **{
            name: "too few" if seconds is None else f"{1000 * seconds:,.0f} ms"
            for name, seconds in latencies.items()
        },
        "refused": f"{by_status['4']:,}",
        "errors": f"{by_status['5']:,}",
        "in progress": f"{_sum(traffic.last, 'entail_requests_in_progress', **labels):,.0f}",
    }


def _draw_charts(samples: Sequence[Sample], endpoints: Sequence[str]) -> None:
    steps = list(split_traffic(samples, _STEPS))
    if not steps:
        st.caption("The charts begin in 20 seconds.")
        return
    left, right = st.columns(2, gap="large")
    rates = [
        {"time": _time(step), "endpoint": name, "value": step.count(_REQUESTS, endpoint=name) / step.seconds}
        for step in steps
        for name in endpoints
    ]
    with left:
        st.markdown("**Requests a second**")
        st.altair_chart(_lines(rates, "endpoint", endpoints), height=240)
    with right:
        selected = str(st.session_state.get("serving_endpoint"))
        labels = {"endpoint": selected} if selected in endpoints else {}
        latencies = [
            {"time": _time(step), "quantile": name, "value": 1000 * value}
            for step in steps
            for name, share in QUANTILES.items()
            if (value := step.quantile(_SECONDS, share, **labels)) is not None
        ]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Latency in milliseconds**", width="content")
            st.selectbox(
                "Endpoint",
                [_ALL, *endpoints],
                key="serving_endpoint",
                label_visibility="collapsed",
                width=160,
            )
        st.altair_chart(_lines(latencies, "quantile", list(QUANTILES), scale="log"), height=240)


def _time(step: Traffic) -> datetime:
    return datetime.fromtimestamp(step.last.at, UTC)


def _lines(
    rows: Sequence[dict[str, Any]],
    series: str,
    names: Sequence[str],
    *,
    scale: Literal["linear", "log"] = "linear",
) -> Any:
    """Return a chart of lines; its time spans two minutes at least, so that a first point has an axis."""
    times = [row["time"] for row in rows] or [datetime.now(UTC)]
    span = alt.Scale(domain=[min(*times, max(times) - timedelta(minutes=2)), max(times)])
    colours = [SERIES[number % len(SERIES)] for number in range(len(names))]
    dashes = [list(_DASHES[number % len(_DASHES)]) for number in range(len(names))]
    return (
        alt.Chart(pd.DataFrame(rows, columns=["time", series, "value"]))
        .mark_line(point={"size": 18})
        .encode(
            x=alt.X("time:T", title=None, scale=span, axis=alt.Axis(tickCount=4, format="%H:%M:%S")),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(type=scale), axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                f"{series}:N",
                scale=alt.Scale(domain=list(names), range=colours),
                legend=alt.Legend(orient="bottom", title=None, columns=4, symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(f"{series}:N", scale=alt.Scale(domain=list(names), range=dashes)),
            tooltip=["time:T", f"{series}:N", alt.Tooltip("value:Q", format=".2f")],
        )
    )


def _describe_batches(traffic: Traffic, encoder: str) -> dict[str, str]:
    """Return batches and queue of an encoder."""
    batches = traffic.count(f"{_BATCH}_count", encoder=encoder, source="api")
    texts, pages = (traffic.count(f"{_BATCH}_sum", encoder=encoder, source=name) for name in ("api", "pages"))
    return {
        "encoder": _name_of(encoder),
        "texts of requests": f"{texts:,.0f}",
        "batches": f"{batches:,.0f}",
        "texts a batch": f"{texts / batches:.1f}" if batches else "none",
        "waiting texts": f"{_sum(traffic.last, 'entail_queue_texts', encoder=encoder):,.0f}",
        "texts of pages and indexes": f"{pages:,.0f}",
    }


def _name_of(batcher: str) -> str:
    """Return the name of an encoder, or of the searches of an index, which are batched, too."""
    begin, searches, index = batcher.rpartition(SEARCHES)
    return f"Search by {model_label(index)}" if searches and not begin else model_label(batcher)


def _sum(sample: Sample, name: str, **labels: str) -> float:
    return sum(sample.select(name, **labels).values())


def _draw_gpus(sample: Sample) -> None:
    for gpu in sample.label_values("entail_gpu_bytes", "gpu"):
        used, total = (_sum(sample, "entail_gpu_bytes", gpu=gpu, of=of) for of in ("used", "total"))
        st.progress(
            used / total if total else 0.0,
            text=f"GPU {label(gpu)}: {in_words(int(used))} of {in_words(int(total))} in use",
        )
