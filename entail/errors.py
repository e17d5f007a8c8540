"""Errors that `entail` raises on purpose; catch `EntailError` to catch them all.

A message says what was expected, what was found and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MESSAGE = 2_000
"""Most characters of a message: it may quote a value of any length."""


def shorten_message(text: str) -> str:
    """Return a message without its middle if it is too long: finding and remedy are at its ends."""
    half = LONGEST_MESSAGE // 2 - 3
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} ... {text[-half:]}"


class EntailError(Exception):
    """Base of all errors raised on purpose; its message can be shown to a person."""

    def __str__(self) -> str:
        return shorten_message(super().__str__())


class DataError(EntailError):
    """A file, a line or a text is not as expected."""


class FormatError(DataError):
    """Malformed input, with its place: file, line from 1 on, field."""

    def __init__(
        self, message: str, *, source: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        parts = (source, f"line {line}" if line else None, f"field {field!r}" if field else None)
        location = ", ".join(filter(None, parts))
        super().__init__(f"{location}: {message}" if location else message)
        self.source = source
        self.line = line
        self.field = field


class ProofError(DataError):
    """A proof names an unknown sentence, has a cycle or does not end in the hypothesis."""


class CorpusError(DataError):
    """A corpus is empty, or has a premise that is empty, too long or binary."""


class EncoderError(EntailError):
    """Weights cannot be found, verified or loaded safely."""


class UnknownEncoderError(EncoderError):
    """No encoder has this name."""


class HubError(EntailError):
    """The Hugging Face Hub cannot be reached, refuses, or holds something unsafe.

    Neither the error nor its cause contains a token or a request.

    Attributes:
        reason: Word for programs: `no_token`, `bad_token`, `forbidden`, `gated`, `not_found`, `no_revision`,
            `offline`, `quota`, `rate_limit`, `conflict`, `server`, `disk`, `unsafe`, `place`, `unexpected`.
    """

    def __init__(self, message: str, *, reason: str = "unexpected") -> None:
        super().__init__(message)
        self.reason = reason


class RetrievalError(EntailError):
    """An index does not hold the requested content."""


class ManifestMismatchError(RetrievalError):
    """An index or cached vectors belong to something else; names both sides."""


class IndexEngineError(RetrievalError):
    """A server of vector search cannot be used.

    Attributes:
        reason: Word for programs: `down`, `slow`, `full`, `version`, `permission`, `incomplete`,
            `unexpected`.
    """

    def __init__(self, message: str, *, reason: str = "unexpected") -> None:
        super().__init__(message)
        self.reason = reason


class EvaluationError(EntailError):
    """A figure cannot be computed: there is no case, a score is not a number, lengths differ."""


class TrainingError(EntailError):
    """A training cannot start, continue or be resumed: no pairs, one class only, a loss that is NaN."""


class SamplingError(TrainingError):
    """There is nothing to sample pairs from, or no pair resulted."""


class DivergedError(TrainingError):
    """A loss or a gradient is not finite."""


class CheckpointError(TrainingError):
    """A checkpoint is damaged, or of another base, other data or another configuration."""


class JobError(EntailError):
    """A job cannot be submitted, cancelled, resumed, deleted or read."""


class UnknownJobError(JobError):
    """No job has this id."""


class PromotionError(EntailError):
    """An encoder cannot be made the active one, or there is none to roll back to."""


class ServingError(EntailError):
    """A server refuses an HTTP request or cannot answer it now; raised in the server and by its client.

    Attributes:
        kind: Word for programs; see `entail.serving.errors`.
        status: HTTP status; 0 without an answer of a server.
        field: Field of the request that it is about.
        retry_after: Seconds after which the same request may succeed.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "invalid",
        status: int = 422,
        field: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.field = field
        self.retry_after = retry_after


class TreeError(EntailError):
    """A tree cannot answer an act or a request."""


class UnknownTreeError(TreeError):
    """No tree has this id."""


class DamagedTreeError(TreeError):
    """A stored act of a tree cannot be read, or does not fit the tree; names both."""


class ActError(TreeError):
    """An act is invalid on this tree: no such node, an empty text, a cycle."""


class ConflictError(TreeError):
    """An act conflicts with changes of other authors after the version that its author saw.

    Attributes:
        changes: A line for each conflicting change, oldest first.
    """

    def __init__(self, message: str, *, changes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.changes = tuple(changes)


class UndoError(TreeError):
    """There is nothing to undo or redo, or a later act depends on it."""


class TeamError(TreeError):
    """A project refuses an action.

    Attributes:
        reason: Word for programs: `role`, `state`, `own` (it is another annotator's), `lease`, `archived`,
            `unknown`, `name`, `empty`.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class DatabaseError(EntailError):
    """A database is read-only, locked, corrupt, of a newer version or out of reach."""


class DamagedDatabaseError(DatabaseError):
    """A file is not a database, or is corrupt; a backup has to be restored."""


class LockedDatabaseError(DatabaseError):
    """Another writer did not finish in time; nothing was written, and a retry may succeed."""


class SettingsError(EntailError):
    """An environment variable or an option has an invalid value."""


class DemoError(EntailError):
    """A demo refuses to write anything but the visitor's own trees."""
