"""Requests and answers of the API, for server and client.

Nothing is converted: a number is not a text, and an unknown field is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from entail.data.text import is_blank
from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import ServingError

RERANKED = 16
"""Queries of a request whose lists are re-ranked: each takes about half a second of one core."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; `GET /info` lists them.

    Those of a request's fields, from `texts` to `chain`, are checked by the models below: `chars` of a text,
    `chars_in_all` of the texts of a field, `premises` of a request, `k` hits of a query, `hits` of all
    queries, `visible` neighbours of a fact, facts of a `chain`.
    """

    request_bytes: int = 2 * 2**20
    texts: int = 256
    chars: int = 10_000
    chars_in_all: int = 500_000
    premises: int = 2_000
    k: int = 1_000
    hits: int = 20_000
    visible: int = 300
    chain: int = 20
    requests: int = 128
    """Requests at a time, over all clients."""
    seconds: float = 30.0
    """Seconds until an answer; `body_seconds` until a body has arrived."""
    body_seconds: float = 10.0
    build_seconds: float = 5.0
    """Seconds that a request waits for an index in construction."""


LIMITS = Limits()

Floats = NDArray[np.float32]

_KINDS = {
    "too_many": "too_many",
    "too_long": "too_many",
    "less_than_equal": "too_many",
    "string_too_long": "too_long",
}
"""Kinds of error by pydantic's type of a problem; all others are `invalid`."""


def explain(problem: ErrorDetails, *, status: int) -> ServingError:
    """Return a problem of pydantic's `ValidationError.errors()` as an error of the API."""
    # A client may send names of any length.
    path = ".".join(str(step)[:60] for step in problem["loc"] if step != "body")
    message = problem["msg"].removeprefix("Value error, ")
    field = path or problem.get("ctx", {}).get("field")
    return ServingError(message, kind=_KINDS.get(problem["type"], "invalid"), status=status, field=field)


def _problem(field: str | None, message: str, kind: str = "invalid") -> PydanticCustomError:
    return PydanticCustomError(kind, "{message}", {"message": message, "field": field})


def _check_text(text: str) -> str:
    if "\0" in text or is_blank(text):
        raise ValueError("expected words, found an empty text or a NUL character; leave it out")
    return text


def _check_size(texts: list[str]) -> list[str]:
    if (size := sum(map(len, texts))) > LIMITS.chars_in_all:
        message = f"expected at most {LIMITS.chars_in_all:,} characters in all, found {size:,}"
        raise _problem(None, message, "too_many")
    return texts


def _check_source(corpus: str | None, texts: Sequence[str] | None) -> None:
    if (corpus is None) == (texts is None):
        raise _problem("corpus", "expected a corpus or texts to search, found both or neither")


def _check_pairs(field: str, first: Sequence[str], second: Sequence[str]) -> None:
    if len(first) != len(second):
        raise _problem(field, f"expected {len(first)} texts, one for each to pair, found {len(second)}")


Text = Annotated[str, Field(max_length=LIMITS.chars), AfterValidator(_check_text)]
Texts = Annotated[
    list[Text], Field(min_length=1, max_length=LIMITS.texts, fail_fast=True), AfterValidator(_check_size)
]
Premises = Annotated[
    list[Text], Field(min_length=1, max_length=LIMITS.premises, fail_fast=True), AfterValidator(_check_size)
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Tower = Literal["query", "premise"]
Way = Literal["entails", "entailed"]
"""Relation of a hit to its query: it entails the query, or is entailed by it."""


class Message(BaseModel):
    """Base of all messages."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="strings")


class EncodeRequest(Message):
    """Texts to encode."""

    texts: Texts
    encoder: Name | None = Field(None, description="Encoder of `GET /info`; default: the active one.")
    tower: Tower = Field("query", description="Tower that encodes.")


class EncodeAnswer(Message):
    """Vectors of texts, scaled as a search compares them; of Gaussians means and log variances."""

    encoder: str
    revision: str = Field(description="Changes with the weights; do not compare vectors of two revisions.")
    tower: Tower
    dimension: int = Field(description="Length of a vector.")
    vectors: list[list[float]] = Field(description="Means for an encoder of Gaussians.")
    log_variances: list[list[float]] | None = Field(None, description="Of Gaussians; else null.")

    @classmethod
    def of(
        cls, encoded: Floats | Gaussians, request: EncodeRequest, *, encoder: str, revision: str
    ) -> EncodeAnswer:
        """Return the answer with vectors, shape (texts, d), or Gaussians."""
        means, variances = (
            (encoded.mean, encoded.log_variance) if isinstance(encoded, Gaussians) else (encoded, None)
        )
        return cls(
            encoder=encoder,
            revision=revision,
            tower=request.tower,
            dimension=means.shape[1],
            vectors=means.tolist(),
            log_variances=None if variances is None else variances.tolist(),
        )

    def array(self) -> Floats:
        """Return the vectors or means, shape (texts, d)."""
        return np.array(self.vectors, dtype=np.float32)

    def gaussians(self) -> Gaussians:
        """Return the Gaussians; raise `ServingError` if the encoder makes points."""
        if self.log_variances is None:
            message = f"expected an encoder of Gaussians, found {self.encoder!r}, which makes points"
            raise ServingError(message, field="encoder")
        return Gaussians(self.array(), np.array(self.log_variances, dtype=np.float32), self.revision)


class SearchRequest(Message):
    """Queries and the premises to search: exactly one of `corpus` and `premises`."""

    queries: Texts
    corpus: Name | None = Field(None, description="Corpus of `GET /info`.")
    premises: Premises | None = Field(
        None, description="Texts that differ only in white space count once, as the first."
    )
    retriever: Name | None = Field(
        None,
        description="`tfidf`, `bm25`, an encoder, or a hybrid ENCODER+bm25; "
        "default: the encoder active for the corpus, with `direction` the first encoder of Gaussians.",
    )
    direction: Way | None = Field(
        None,
        description="`entails` (default): premises that entail the query; `entailed`: that it entails. "
        "Only for an encoder of Gaussians.",
    )
    reranker: Name | None = Field(None, description="Re-ranker of `GET /info`; at most 16 queries.")
    k: int = Field(10, ge=1, le=LIMITS.k, description="Hits a query; fewer in a smaller corpus.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_source(self.corpus, self.premises)
        if self.k * len(self.queries) > LIMITS.hits:
            raise _problem("k", f"expected at most {LIMITS.hits:,} hits over all queries", "too_many")
        if self.reranker is not None and len(self.queries) > RERANKED:
            raise _problem("queries", f"expected at most {RERANKED} with a re-ranker", "too_many")
        if self.reranker is not None and self.direction is not None:
            raise _problem("reranker", "expected a direction or a re-ranker, found both; leave one out")
        return self


class Hit(Message):
    """A premise in the ranking of a query."""

    rank: int = Field(description="1 for the nearest.")
    score: float = Field(description="Higher is closer; for Gaussians, how much one entails the other.")
    text: str
    key: str = Field(description="Identity of the premise in every corpus.")
    position: int = Field(description="Position in the corpus or the request, from 0.")


class CorpusAnswer(Message):
    """Corpus that an answer is about."""

    corpus: str | None = Field(description="Name of the corpus; null for one of the request.")
    corpus_version: int | None
    corpus_hash: str
    count: int = Field(description="Texts searched.")


class SearchAnswer(CorpusAnswer):
    """Hits of each query, best first."""

    retriever: str
    revision: str
    direction: Way | None = Field(description="Direction of search; null for a retriever of points.")
    hits: list[list[Hit]]


class DirectionRequest(Message):
    """Pairs of sentences: the first of each in `first`, the second in `second`."""

    first: Texts
    second: Texts = Field(description="As many as `first`.")
    encoder: Name | None = Field(None, description="Encoder of Gaussians; default: the active one.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_pairs("second", self.first, self.second)
        return self


class PairDirection(Message):
    """Verdict on one pair."""

    says: Literal["entails", "is entailed by", "both ways", "neither"]
    forward: float = Field(description="sim(second || first): how much the first entails the second.")
    backward: float = Field(description="sim(first || second): how much the second entails the first.")
    margin: float = Field(description="logit(forward) - logit(backward).")
    sure: float | None = Field(description="Probability of the verdict, from 0.5; null without calibration.")
    direction: float | None = Field(description="Probability that an entailment runs from first to second.")
    truncated: tuple[Literal["first", "second"], ...] = Field(
        description="Sentences longer than the encoder's limit: only their beginning was judged."
    )


class DirectionAnswer(Message):
    """Verdicts on pairs, in order."""

    encoder: str
    revision: str
    threshold: float | None = Field(description="Similarity above which a pair counts as entailment.")
    pairs: list[PairDirection]


class ClaimRequest(Message):
    """Questions to turn into claims."""

    questions: Texts
    answers: Texts | None = Field(None, description="One answer a question, to be joined into one statement.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.answers is not None:
            _check_pairs("answers", self.questions, self.answers)
        return self


class QuestionClaim(Message):
    """Claim of one question."""

    question: str
    claim: str = Field(description="Claim that a passage entails if it answers the question.")
    rule: str = Field(description="Rule that fired: `when`, `who`, `what noun` ...")
    fallback: bool = Field(description="Whether no rule for questions matched.")
    statement: str | None = Field(None, description="Question and answer as one; null without.")


class ClaimAnswer(Message):
    """Claims of questions, in order."""

    claims: list[QuestionClaim]


class ChainRequest(Message):
    """A question, its answer, and the facts to search: exactly one of `corpus` and `facts`."""

    question: Text = Field(description="Question without answer options.")
    answer: Text = Field(description="Correct answer.")
    corpus: Name | None = Field(None, description="Corpus of `GET /info`.")
    facts: Premises | None = Field(
        None, description="Texts that differ only in white space count once, as the first."
    )
    scorer: Name | None = Field(None, description="`tfidf` or one of `GET /info`; default: the active one.")
    k: int = Field(60, ge=1, le=LIMITS.visible, description="Facts nearest to question or chosen fact.")
    length: int = Field(9, ge=1, le=LIMITS.chain, description="Maximal number of facts of a chain.")
    least: int = Field(3, ge=0, description="Minimal number of facts before a chain may stop early.")
    top: int = Field(20, ge=0, le=LIMITS.k, description="Facts of the ranking to return.")
    candidates: int = Field(5, ge=0, le=LIMITS.visible, description="Best candidates of each step.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_source(self.corpus, self.facts)
        return self


class ChainFact(Message):
    """A fact."""

    text: str
    key: str = Field(description="Identity of the fact in every corpus.")
    position: int = Field(description="Position in the corpus or the request, from 0.")


class ChainCandidate(ChainFact):
    """A candidate of a step."""

    score: float = Field(description="Higher is better; compare scores of one step only.")
    joined: bool = Field(description="Whether the last chosen fact made it visible.")


class ChainStep(Message):
    """One step of a chain: candidates and choice."""

    chosen: str | None = Field(description="Key of the chosen fact; null where the chain ended.")
    bare: float | None = Field(description="Score of stopping here; null if the scorer never stops.")
    visible: int = Field(description="Scored facts.")
    candidates: list[ChainCandidate] = Field(description="Best candidates, best first.")


class ChainAnswer(CorpusAnswer):
    """A chain, its steps, and the ranking of facts by it."""

    scorer: str
    revision: str | None = Field(description="Revision of the weights; null for `tfidf`.")
    method: str = Field(description="`arcf`: scores facts given earlier ones; `tfidf`: by shared words.")
    chain: list[ChainFact] = Field(description="Chosen facts, in order.")
    stopped: Literal["bare prefix", "length", "nothing visible"] = Field(
        description="Reason of the end: no visible fact improved the score, the maximal length, or none left."
    )
    dropped: int = Field(description="Oldest chosen facts that were truncated at the last step.")
    question_cut: bool = Field(description="Whether the beginning of the question was truncated.")
    steps: list[ChainStep]
    ranking: list[ChainFact] = Field(
        description="The chain, then scored facts by last score, then the rest by similarity."
    )


class Health(Message):
    """State of the server."""

    live: Literal[True]
    ready: bool = Field(description="Whether the encoders are loaded and the server is not shutting down.")
    reason: str | None = Field(description="Reason why it is not ready.")


class EncoderInfo(Message):
    """A served encoder."""

    name: str
    revision: str | None
    method: str
    gaussian: bool = Field(description="Whether it makes Gaussians or points.")
    dimension: int | None = Field(description="Length of a vector or mean.")
    licence: str | None
    loaded: bool = Field(description="Whether its weights are in memory.")


class CorpusInfo(Message):
    """A corpus of the installation."""

    name: str
    version: int
    count: int
    licence: str
    active: str = Field(description="Default encoder of the corpus.")


class Info(Message):
    """Version, contents and limits of a server."""

    version: str
    device: str
    default_encoder: str
    encoders: list[EncoderInfo]
    retrievers: list[str]
    rerankers: list[str]
    scorers: list[str] = Field(description="Scorers besides `tfidf`.")
    corpora: list[CorpusInfo]
    limits: Mapping[str, int | float]


class ErrorDetail(Message):
    """Details of an error."""

    kind: str = Field(description="Kind of error, for programs.")
    message: str = Field(description="Explanation, for people.")
    field: str | None = Field(None, description="Field of the request, such as `texts.3`.")


class ErrorReply(Message):
    """Answer of a failed request."""

    error: ErrorDetail
