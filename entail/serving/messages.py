"""What goes over the wire, the same for server and client.

Nothing is guessed or converted: a number is no text, and a field that is not known is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from entail.data.text import is_blank
from entail.encoders.gaussians import Gaussians
from entail.errors import ServingError
from entail.serving.packing import Floats, Packed, pack, unpack


def _whole(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text, found a NUL character; take it out")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("expected characters, found half of one (a lone surrogate)")
    return text


def _says_something(text: str) -> str:
    if is_blank(text):
        found = "a text of which nothing can be seen" if text.strip() else "an empty text"
        raise ValueError(f"expected words, found {found}; leave it out")
    return text


Text = Annotated[str, AfterValidator(_whole), AfterValidator(_says_something)]
Texts = Annotated[list[Text], Field(min_length=1, fail_fast=True)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_whole)]
Way = Literal["entails", "entailed"]
"""What a hit does to its query: it entails that, or is entailed by it."""


class Message(BaseModel):
    """Base of all messages."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="strings")


class EncodeRequest(Message):
    """Texts to be made vectors of."""

    texts: Texts = Field(description="At least one; `limits.texts` of `GET /info` says how many at most.")
    encoder: Name | None = Field(
        default=None, description="An encoder of `GET /info`; default: the active one."
    )
    tower: Literal["query", "premise"] = Field(default="query", description="Whose vectors.")
    normalised: bool = Field(
        default=True,
        description="Of length 1; else as long as the model makes them. Of no Gaussian: there it is false or "
        "left out.",
    )
    format: Literal["floats", "base64"] = Field(
        default="floats",
        description="Vectors as lists of numbers, or all in one base64 text of little-endian 32-bit floats, "
        "row by row, which is a third as long.",
    )


class EncodeAnswer(Message):
    """A vector for each text, in order; of an encoder of Gaussians two, mean and log variance."""

    encoder: str
    revision: str = Field(description="Other weights, other revision: never compare vectors of two.")
    tower: Literal["query", "premise"]
    dimension: int = Field(description="Length of a vector.")
    normalised: bool
    vectors: Packed = Field(description="By `format` of the request; of an encoder of Gaussians their means.")
    log_variances: Packed | None = Field(
        default=None,
        description="Of an encoder of Gaussians the natural logarithms of their variances, dimension by "
        "dimension, in the form of `vectors`; null where a text is a point.",
    )

    @classmethod
    def of(
        cls, found: Floats | Gaussians, asked: EncodeRequest, *, encoder: str, revision: str
    ) -> EncodeAnswer:
        """Put vectors, shape (texts, d), or Gaussians into an answer."""
        vectors, log_variances = (
            (found.mean, pack(found.log_variance, asked.format))
            if isinstance(found, Gaussians)
            else (found, None)
        )
        return cls(
            encoder=encoder,
            revision=revision,
            tower=asked.tower,
            dimension=vectors.shape[1],
            normalised=log_variances is None and asked.normalised,
            vectors=pack(vectors, asked.format),
            log_variances=log_variances,
        )

    def array(self) -> Floats:
        """Return the vectors, shape (texts, d); of Gaussians the means."""
        return unpack(self.vectors, self.dimension)

    def gaussians(self) -> Gaussians:
        """Return the Gaussians.

        Raises:
            ServingError: If the texts are points.
        """
        if self.log_variances is None:
            raise ServingError(
                f"expected an encoder of Gaussians, found {self.encoder!r}, which makes points; name another",
                field="encoder",
            )
        return Gaussians(self.array(), unpack(self.log_variances, self.dimension), self.revision)


class SearchRequest(Message):
    """Queries, and where to look for their premises: exactly one of `corpus` and `premises`."""

    queries: Texts
    corpus: Name | None = Field(default=None, description="Name of a corpus of `GET /info`.")
    premises: Texts | None = Field(
        default=None, description="The corpus itself; texts that are equal but for white space count once."
    )
    retriever: Name | None = Field(
        default=None,
        description="`tfidf`, `bm25`, `ngrams` or an encoder; default: the encoder active for the corpus, "
        "with `direction` the first encoder of Gaussians.",
    )
    direction: Way | None = Field(
        default=None,
        description="`entails`: premises that entail the query; `entailed`: those that it entails. For an "
        "encoder of Gaussians only, whose default is `entails`.",
    )
    k: int = Field(default=10, ge=1, description="Hits a query; fewer where the corpus has no more.")
    exclude_own: bool = Field(default=False, description="Leave a query's own text out of its hits.")


class Hit(Message):
    """One premise that was found."""

    rank: int = Field(description="1 for the nearest.")
    score: float = Field(
        description="Similarity, higher is closer; of Gaussians sim(query || premise), how much the premise "
        "entails the query, and with `entailed` sim(premise || query)."
    )
    text: str
    key: str = Field(description="Identity of the premise in every corpus.")
    position: int = Field(description="Its place in the corpus, from 0.")


class SearchAnswer(Message):
    """For each query its hits, best first."""

    retriever: str
    revision: str
    direction: Way | None = Field(description="What was asked of Gaussians; null for other retrievers.")
    corpus: str | None = Field(description="Its name; null where it came with the request.")
    corpus_version: int | None
    corpus_hash: str
    count: int = Field(description="Premises searched.")
    hits: list[list[Hit]]


class DirectionRequest(Message):
    """Pairs of sentences: the first of each in `first`, the second in `second`."""

    first: Texts
    second: Texts = Field(description="As many as `first`.")
    encoder: Name | None = Field(
        default=None, description="An encoder of Gaussians of `GET /info`; default: that in use."
    )


class PairDirection(Message):
    """What is said of one pair."""

    says: Literal["entails", "is entailed by", "both ways", "neither"] = Field(
        description="What the first sentence does to the second."
    )
    forward: float = Field(description="sim(second || first): how much the first entails the second.")
    backward: float = Field(description="sim(first || second): how much the second entails the first.")
    margin: float = Field(
        description="logit(forward) - logit(backward): above 0 where the first rather entails the second."
    )
    sure: float | None = Field(
        description="Probability of what it says, at least one half; null where none was fitted."
    )
    direction: float | None = Field(
        description="Probability that an entailment between the two runs from the first to the second: above "
        "one half only where the margin is above 0."
    )
    truncated: tuple[Literal["first", "second"], ...] = Field(
        description="Which of the two were longer than what the encoder reads: only the beginning was judged."
    )


class DirectionAnswer(Message):
    """For each pair what is said of it, in order."""

    encoder: str
    revision: str
    threshold: float | None = Field(description="Above which a similarity is called entailment.")
    pairs: list[PairDirection]


class ClaimRequest(Message):
    """Questions to be made claims of."""

    questions: Texts = Field(description="At least one; `limits.texts` of `GET /info` says how many at most.")
    answers: Texts | None = Field(
        default=None, description="Their answers, as many: each becomes one statement with its question."
    )


class QuestionClaim(Message):
    """The claim of one question."""

    question: str
    claim: str = Field(description="What a passage that answers the question entails.")
    rule: str = Field(description="The rule that fired: `when`, `who`, `what noun` ...")
    fallback: bool = Field(description="Whether no rule for questions fitted.")
    statement: str | None = Field(
        default=None, description="What the question and its answer say as one; null where none was given."
    )


class ClaimAnswer(Message):
    """For each question its claim, in order."""

    claims: list[QuestionClaim]


class ChainRequest(Message):
    """A question with its answer, and the facts that may explain it: exactly one of `corpus` and `facts`."""

    question: Text = Field(description="Without the answers to choose from.")
    answer: Text = Field(description="The correct one.")
    corpus: Name | None = Field(default=None, description="Name of a corpus of `GET /info`.")
    facts: Texts | None = Field(
        default=None, description="The facts themselves; those equal but for white space count once."
    )
    scorer: Name | None = Field(
        default=None,
        description="`tfidf` or a scorer of `GET /info`; default: the one in use for chains, else `tfidf`.",
    )
    k: int = Field(default=60, ge=1, description="Facts nearest to the question, and to each chosen one.")
    length: int = Field(default=9, ge=1, description="Facts of a chain at most.")
    least: int = Field(default=3, ge=0, description="Facts of a chain before it may stop by itself.")
    top: int = Field(default=20, ge=0, description="Facts of the ranking that are told.")
    candidates: int = Field(default=5, ge=0, description="Best candidates of each step that are told.")


class ChainFact(Message):
    """A fact."""

    text: str
    key: str = Field(description="Identity of the fact in every corpus.")
    position: int = Field(description="Its place in the corpus, from 0.")


class ChainCandidate(ChainFact):
    """A fact that could follow."""

    score: float = Field(description="Higher is better; compare scores of one step only.")
    joined: bool = Field(description="Whether the fact chosen last made it visible.")


class ChainStep(Message):
    """What could be chosen, and what was."""

    chosen: str | None = Field(description="Key of the fact that was; null where the chain ended.")
    bare: float | None = Field(
        description="Score of the explanation as it is; null where the scorer cannot tell when to stop."
    )
    visible: int = Field(description="Facts that were scored.")
    joined: int = Field(description="Those of them that the fact chosen last made visible; at first all.")
    candidates: list[ChainCandidate] = Field(description="The best, best first.")


class ChainAnswer(Message):
    """The explanation, how it was built, and all facts ranked by it."""

    scorer: str
    revision: str | None = Field(description="Of its weights; null for `tfidf`.")
    method: str = Field(
        description="`arcf`: facts in the light of those before; `single-fact`: each alone; `tfidf`: by "
        "words shared with question, answer and the facts before."
    )
    corpus: str | None = Field(description="Its name; null where it came with the request.")
    corpus_version: int | None
    corpus_hash: str
    count: int = Field(description="Facts that could explain.")
    chain: list[ChainFact] = Field(description="The chosen facts, in order.")
    stopped: Literal["bare prefix", "length", "nothing visible"] = Field(
        description="Why it ended: nothing visible scored above the explanation as it is, it is as long as "
        "it may be, or no other fact was visible."
    )
    dropped: int = Field(description="Chosen facts, the oldest, too many to be read at the last step.")
    question_cut: bool = Field(description="Whether the question's beginning was too much to be read.")
    facts_cut: int = Field(description="Facts, of all that were scored, whose end was too much to be read.")
    steps: list[ChainStep]
    ranking: list[ChainFact] = Field(
        description="The chain, then what was scored by its last score, then the rest by nearness to it."
    )
    chosen: list[bool] = Field(description="For each fact of `ranking` whether it is in the chain.")


class Health(Message):
    """Whether the server lives, and whether it can answer at once."""

    live: Literal[True]
    ready: bool = Field(description="The encoders named at the start are loaded and it is not shutting down.")
    reason: str | None = Field(description="Why it is not ready, in words.")


class EncoderInfo(Message):
    """An encoder that may be asked for."""

    name: str
    revision: str | None
    method: str
    gaussian: bool = Field(description="Whether it makes Gaussians, which tell directions, or points.")
    dimension: int | None = Field(description="Length of a vector; of Gaussians of a mean.")
    symmetric: bool
    licence: str | None
    loaded: bool = Field(description="Whether its weights are in memory.")
    waiting: int = Field(description="Texts that wait for it.")


class CorpusInfo(Message):
    """A corpus that may be searched by name."""

    name: str
    version: int
    count: int = Field(description="Premises.")
    licence: str
    active: str = Field(description="The encoder that ranks where none is named.")


class ScorerInfo(Message):
    """A scorer of facts that may be asked for."""

    name: str
    revision: str | None = Field(description="Null while it is not in memory.")
    method: str = Field(description="`arcf` or `single-fact`, as in the answer of `/chain`.")


class EndpointInfo(Message):
    """A request that a server knows."""

    path: str
    method: str


class Info(Message):
    """What a server is and has."""

    version: str
    device: str
    default_encoder: str
    encoders: list[EncoderInfo]
    retrievers: list[str]
    scorers: list[ScorerInfo] = Field(description="Of facts, beside `tfidf`; empty until one was trained.")
    corpora: list[CorpusInfo]
    endpoints: list[EndpointInfo]
    limits: Mapping[str, int | float]


class ErrorDetail(Message):
    """What went wrong."""

    kind: str = Field(description="In one word, for programs.")
    message: str = Field(description="In a sentence, for people.")
    field: str | None = Field(default=None, description="The field of the request it is about: `texts.3`.")


class ErrorReply(Message):
    """The one shape of every answer that is no success."""

    error: ErrorDetail
