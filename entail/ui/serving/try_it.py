"""Try-it view of the Serving page: a form an endpoint, its answer, and the same call to copy."""

from __future__ import annotations

import json
import pprint
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

_ACTIVE = "the active one"
_SHOWN = 5


@dataclass(frozen=True)
class Endpoint:
    """Endpoint of the API: its fields, messages, and the rows of an answer."""

    draw: Callable[[messages.Info], dict[str, Any]]
    request: type[BaseModel]
    answer: type[BaseModel]
    rows: Callable[[Any], Sequence[Mapping[str, object]]]


def draw_try_it(target: Target) -> None:
    """Draw the form of an endpoint; after a click its answer, the time, and the call."""
    if not target.url:
        draw_api_off()
        return
    name = pick_view(
        "Endpoint", tuple(ENDPOINTS), default="search", key="serving_try", persist_state="session"
    )
    endpoint = ENDPOINTS[name]
    try:
        with target.client(timeout=5.0) as client:
            info = client.info()
    except EntailError as error:
        draw_error(error)
        return
    left, right = st.columns(2, gap="large")
    with left:
        body = {field: value for field, value in endpoint.draw(info).items() if value not in (None, [], "")}
        sent = st.button("Send request", type="primary", icon=":material/send:", key="serving_send")
    with right:
        if sent:
            st.session_state["serving_answer"] = target, name, body, _ask(target, f"/{name}", endpoint, body)
        answered = st.session_state.get("serving_answer")
        if answered is not None and answered[:3] == (target, name, body):
            _draw_answer(endpoint, answered[3])
        st.markdown("**The same call**")
        st.code(curl_call(target, name, body), language="bash", wrap_lines=True)
        st.code(python_call(target, name, body, info), language="python", wrap_lines=True)


def _ask(target: Target, path: str, endpoint: Endpoint, body: Mapping[str, Any]) -> tuple[float, Any]:
    """Return the seconds and the answer, or the error."""
    start = time.perf_counter()
    try:
        request = endpoint.request.model_validate(body)
        with target.client() as client:
            answer: Any = client.ask(path, request, endpoint.answer)
    except ValidationError as invalid:
        answer = messages.explain(invalid.errors(include_input=False)[0], status=0)
    except EntailError as error:
        answer = error
    return time.perf_counter() - start, answer


def _draw_answer(endpoint: Endpoint, answered: tuple[float, Any]) -> None:
    seconds, answer = answered
    if isinstance(answer, EntailError):
        draw_error(answer)
        return
    st.markdown(f"**Answer** :gray[after {1000 * seconds:,.0f} ms]")
    draw_table(pd.DataFrame(endpoint.rows(answer)))
    with st.expander("JSON", icon=":material/data_object:"):
        st.json(answer.model_dump(mode="json"), expanded=1)


def curl_call(target: Target, name: str, body: Mapping[str, Any]) -> str:
    """Return a call as a command of a shell; a token stays in the environment."""
    token = '\\\n  -H "Authorization: Bearer $ENTAIL_SERVE_TOKEN" ' if target.token else ""
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl -s {target.url}/{name} -H 'Content-Type: application/json' {token}\\\n  -d {data}"


def python_call(target: Target, name: str, body: Mapping[str, Any], info: messages.Info) -> str:
    """Return a call by `entail.Client`; a token stays in the environment."""
    imports, token = ("import os\n\nimport entail", ', token=os.environ["ENTAIL_SERVE_TOKEN"]')
    if not target.token:
        imports, token = "import entail", ""
    method, fields = name, dict(body)
    encoder = next((entry for entry in info.encoders if entry.name == body.get("encoder")), None)
    if name == "encode" and encoder is not None and encoder.gaussian:
        method = "encode_gaussians"
        fields.pop("tower", None)
    values = [f"{field}={pprint.pformat(value, width=88, compact=True)}" for field, value in fields.items()]
    arguments = "".join(f"        {value.replace(chr(10), chr(10) + ' ' * 8)},\n" for value in values)
    return (
        f"{imports}\n\nwith entail.Client({target.url!r}{token}) as client:\n"
        f"    answer = client.{method}(\n{arguments}    )\n    print(answer)"
    )


def _lines(title: str, key: str, value: str) -> list[str]:
    text = st.text_area(title, value, key=f"serving_{key}", help="One a line.", height=100)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _pick(title: str, key: str, names: Sequence[str], *, default: str | None = _ACTIVE) -> str | None:
    """Draw a choice of a model by name; return None for the default."""
    options = [default, *names] if default else list(names)
    selected = st.selectbox(title, options, format_func=model_label, key=f"serving_{key}")
    return None if selected == default else selected


def _pick_corpus(info: messages.Info) -> str | None:
    return st.selectbox("Corpus", [corpus.name for corpus in info.corpora], key="serving_corpus")


def _encode_fields(info: messages.Info) -> dict[str, Any]:
    texts = _lines("Texts", "texts", "ice is cold")
    encoder = _pick("Encoder", "encoder", [encoder.name for encoder in info.encoders])
    tower = st.segmented_control(
        "Tower", ["query", "premise"], default="query", required=True, key="serving_tower"
    )
    return {"texts": texts, "encoder": encoder, "tower": tower}


def _search_fields(info: messages.Info) -> dict[str, Any]:
    queries = _lines("Queries", "queries", "the sun causes seasons")
    corpus = _pick_corpus(info)
    retriever = _pick("Retriever", "retriever", info.retrievers)
    reranker = _pick("Re-ranker", "reranker", info.rerankers, default="none")
    k = st.number_input("Hits a query", 1, 100, 10, key="serving_k")
    return {"queries": queries, "corpus": corpus, "retriever": retriever, "reranker": reranker, "k": int(k)}


def _claim_fields(_: messages.Info) -> dict[str, Any]:
    questions = _lines("Questions", "questions", "When did the Titanic sink?")
    return {"questions": questions, "answers": _lines("Answers (optional)", "answers", "")}


def _chain_fields(info: messages.Info) -> dict[str, Any]:
    question = st.text_input("Question", "Why does ice float on water?", key="serving_question")
    answer = st.text_input("Answer", "ice is less dense than water", key="serving_reply")
    scorer = _pick("Scorer", "scorer", [TFIDF, *info.scorers])
    return {"question": question, "answer": answer, "corpus": _pick_corpus(info), "scorer": scorer}


def _direction_fields(info: messages.Info) -> dict[str, Any]:
    first = st.text_input("First sentence", "a dog runs in the snow", key="serving_first")
    second = st.text_input("Second sentence", "an animal moves", key="serving_second")
    names = [encoder.name for encoder in info.encoders if encoder.gaussian]
    return {"first": [first], "second": [second], "encoder": _pick("Encoder", "gaussian", names)}


def _encode_rows(answer: messages.EncodeAnswer) -> list[dict[str, object]]:
    return [
        {"dimension": len(vector), "first values": ", ".join(f"{value:.4f}" for value in vector[:_SHOWN])}
        for vector in answer.vectors
    ]


def _search_rows(answer: messages.SearchAnswer) -> list[dict[str, object]]:
    return [
        {"query": number, "rank": hit.rank, "score": f"{hit.score:.4f}", "text": hit.text}
        for number, hits in enumerate(answer.hits, start=1)
        for hit in hits
    ]


def _direction_rows(answer: messages.DirectionAnswer) -> list[dict[str, object]]:
    return [
        {
            "the first": pair.says,
            "entails the second": f"{pair.forward:.3f}",
            "is entailed by it": f"{pair.backward:.3f}",
        }
        for pair in answer.pairs
    ]


ENDPOINTS: Mapping[str, Endpoint] = {
    "search": Endpoint(_search_fields, messages.SearchRequest, messages.SearchAnswer, _search_rows),
    "encode": Endpoint(_encode_fields, messages.EncodeRequest, messages.EncodeAnswer, _encode_rows),
    "claim": Endpoint(
        _claim_fields,
        messages.ClaimRequest,
        messages.ClaimAnswer,
        lambda answer: [
            {"claim": claim.claim, "statement": claim.statement or ""} for claim in answer.claims
        ],
    ),
    "chain": Endpoint(
        _chain_fields,
        messages.ChainRequest,
        messages.ChainAnswer,
        lambda answer: [{"step": step, "fact": fact.text} for step, fact in enumerate(answer.chain, start=1)],
    ),
    "direction": Endpoint(
        _direction_fields, messages.DirectionRequest, messages.DirectionAnswer, _direction_rows
    ),
}
"""Endpoints of the API with a form, by name."""
