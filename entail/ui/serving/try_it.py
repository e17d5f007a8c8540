"""Try-it view of the Serving page: a form an endpoint, its answer, and the same call to copy."""

from __future__ import annotations

import json
import pprint
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import BaseModel, ValidationError

from entail.errors import EntailError
from entail.evaluation.chains import TFIDF
from entail.serving import messages
from entail.ui.components.elements import draw_error, draw_table, pick_view
from entail.ui.serving.target import Target, draw_api_off
from entail.ui.shared.model_names import model_label

ENDPOINTS: Mapping[str, tuple[type[BaseModel], type[BaseModel], Mapping[str, str]]] = {
    "search": (
        messages.SearchRequest,
        messages.SearchAnswer,
        {"queries": "the sun causes seasons", "corpus": "", "retriever": "", "reranker": ""},
    ),
    "encode": (messages.EncodeRequest, messages.EncodeAnswer, {"texts": "ice is cold", "encoder": ""}),
    "claim": (
        messages.ClaimRequest,
        messages.ClaimAnswer,
        {"questions": "When did the ship sink?", "answers": ""},
    ),
    "chain": (
        messages.ChainRequest,
        messages.ChainAnswer,
        {"question": "Why does ice float?", "answer": "it is less dense", "corpus": "", "scorer": ""},
    ),
    "direction": (
        messages.DirectionRequest,
        messages.DirectionAnswer,
        {"first": "a dog runs in the snow", "second": "an animal moves", "encoder": ""},
    ),
}
"""Endpoint -> its request, its answer, and its fields with an example."""

_LISTS = ("queries", "texts", "questions", "answers", "first", "second")
_DEFAULTS = {"corpus": "", "reranker": "none"}


def draw_try_it(target: Target) -> None:
    """Draw the form of an endpoint; after a click its answer, the time, and the call."""
    if not target.url:
        draw_api_off()
        return
    name = pick_view("Endpoint", tuple(ENDPOINTS), default="search", key="serving_try")
    try:
        with target.client(timeout=5.0) as client:
            info = client.info()
    except EntailError as error:
        draw_error(error)
        return
    left, right = st.columns(2, gap="large")
    with left:
        fields = ENDPOINTS[name][2].items()
        body = {
            field: value for field, example in fields if (value := _draw_field(name, field, example, info))
        }
        is_sent = st.button("Send request", type="primary", icon=":material/send:", key="serving_send")
    with right:
        if is_sent:
            _draw_answer(target, name, body)
        st.markdown("**The same call**")
        st.code(curl_call(target, name, body), language="bash", wrap_lines=True)
        st.code(python_call(target, name, body, info), language="python", wrap_lines=True)


def _draw_field(endpoint: str, field: str, example: str, info: messages.Info) -> Any:
    """Draw a field and return its value, nothing for the default."""
    key, title = f"serving_{endpoint}_{field}", field.capitalize().replace("Rer", "Re-r")
    encoders = [encoder.name for encoder in info.encoders if endpoint == "encode" or encoder.gaussian]
    names: Mapping[str, Sequence[str]] = {
        "corpus": [corpus.name for corpus in info.corpora],
        "retriever": info.retrievers,
        "reranker": info.rerankers,
        "encoder": encoders,
        "scorer": [TFIDF, *info.scorers],
    }
    if field in names:
        default = _DEFAULTS.get(field, "active")
        options = [default, *names[field]] if default else names[field]
        name = st.selectbox(title, options, format_func=model_label, key=key)
        return None if name == default else name
    if field not in _LISTS:
        return st.text_input(title, example, key=key).strip()
    text = st.text_area(title, example, key=key, help="One a line.", height=90)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _draw_answer(target: Target, name: str, body: Mapping[str, Any]) -> None:
    request, kind, _ = ENDPOINTS[name]
    start = time.perf_counter()
    try:
        with target.client() as client:
            answer = client.ask(f"/{name}", request.model_validate(body), kind).model_dump(mode="json")
    except ValidationError as invalid:
        draw_error(messages.explain(invalid.errors(include_input=False)[0], status=0))
    except EntailError as error:
        draw_error(error)
    else:
        st.markdown(f"**Answer** :gray[after {1000 * (time.perf_counter() - start):,.0f} ms]")
        if rows := list(_list_rows(answer)):
            draw_table(pd.DataFrame(rows))
        st.json(answer, expanded=not rows)


def _list_rows(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the hits, claims, facts or verdicts of an answer."""
    for hits in answer.get("hits", ()):
        yield from (
            {"rank": hit["rank"], "score": f"{hit['score']:.4f}", "text": hit["text"]} for hit in hits
        )
    yield from answer.get("claims") or answer.get("pairs") or answer.get("chain") or ()


def curl_call(target: Target, name: str, body: Mapping[str, Any]) -> str:
    """Return a call as a command of a shell; a token stays in the environment."""
    token = '\\\n  -H "Authorization: Bearer $ENTAIL_SERVE_TOKEN" ' if target.token else ""
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl -s {target.url}/{name} -H 'Content-Type: application/json' {token}\\\n  -d {data}"


def python_call(target: Target, name: str, body: Mapping[str, Any], info: messages.Info) -> str:
    """Return a call by `entail.Client`; a token stays in the environment."""
    imports, token = "import entail", ""
    if target.token:
        imports, token = "import os\n\nimport entail", ', token=os.environ["ENTAIL_SERVE_TOKEN"]'
    gaussian = {encoder.name for encoder in info.encoders if encoder.gaussian}
    method = "encode_gaussians" if name == "encode" and body.get("encoder") in gaussian else name
    arguments = "".join(f"        {field}={pprint.pformat(value)},\n" for field, value in body.items())
    return (
        f"{imports}\n\nwith entail.Client({target.url!r}{token}) as client:\n"
        f"    answer = client.{method}(\n{arguments}    )\n    print(answer)"
    )
