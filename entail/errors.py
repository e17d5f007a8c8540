"""Every error that `entail` raises on purpose, drawn as a tree.

::

    EntailError
    ├── DataError                 a file, a line or a text is not what it should be
    │   ├── FormatError           malformed input: names the file, the line, the field, what was expected
    │   ├── ProofError            a proof with an unknown sentence, a cycle, a second conclusion ...
    │   └── CorpusError           an empty corpus, a premise that is empty or too long ...
    ├── EncoderError              weights that cannot be found, verified or loaded safely
    │   └── UnknownEncoderError       nothing has this name
    ├── HubError                  the Hugging Face Hub cannot be reached, refuses, or holds something unsafe
    ├── RetrievalError            an index that does not hold what it is asked for
    │   └── ManifestMismatchError     names both sides: what the index holds, what was expected
    ├── EvaluationError           a figure that cannot be computed: no case, scores that are no numbers
    ├── TrainingError             a training that cannot begin, go on or be resumed
    │   ├── SamplingError             nothing to sample from
    │   ├── DivergedError             a loss or a gradient that is no number any more
    │   └── CheckpointError           of another base, data or configuration, or damaged
    ├── JobError                  a job that cannot be taken in, gone on with, or read
    │   └── UnknownJobError           no job has this id
    ├── PromotionError            an encoder that cannot be made the active one
    ├── ServingError              a request over HTTP that is refused, or cannot be answered now
    ├── TreeError                 an act that cannot be applied to a tree
    │   ├── UnknownTreeError
    │   ├── ActError              the act makes no sense on this tree (no such node, text is empty ...)
    │   ├── ConflictError         what the act touches was changed by somebody else in the meantime
    │   └── UndoError             a later act rests on the one to be undone, or there is none
    ├── DatabaseError             read-only, of a newer version, out of reach
    │   ├── DamagedDatabaseError      the file is no database, or is corrupt
    │   └── LockedDatabaseError       somebody else is writing; the same again, a little later, will do
    ├── SettingsError             an environment variable or an option with an unusable value
    └── DemoError                 what a demo (`ENTAIL_DEMO=1`) does not do

A message says what was expected, what was found and what to do. Catch `EntailError` to catch them all.
"""

from __future__ import annotations

from collections.abc import Sequence


class EntailError(Exception):
    """Base of all errors raised on purpose; its message is fit to be shown to a person."""


class DataError(EntailError):
    """A file, a line or a text is not what it should be."""


class FormatError(DataError):
    """Malformed input.

    Args:
        message: What was expected and what was found.
        source: The file's name, as the person gave it.
        line: 1-based line number, where there is one.
        field: The field's name, where there is one.
    """

    def __init__(
        self, message: str, *, source: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        place = ", ".join(
            part
            for part in (
                source,
                f"line {line}" if line is not None else None,
                f"field {field!r}" if field is not None else None,
            )
            if part
        )
        super().__init__(f"{place}: {message}" if place else message)
        self.source = source
        self.line = line
        self.field = field


class ProofError(DataError):
    """A proof that names an unknown sentence, has a cycle or does not end in the hypothesis."""


class CorpusError(DataError):
    """A corpus that cannot be used: empty, or with a premise that is empty, too long or binary."""


class EncoderError(EntailError):
    """Weights that cannot be found, verified or loaded safely."""


class UnknownEncoderError(EncoderError):
    """No encoder has this name."""


class HubError(EntailError):
    """The Hugging Face Hub cannot be reached, refuses, or holds what is not taken from it.

    Nothing of a token or of a request is in it, nor in what it was raised from.

    Args:
        message: What was refused and what to do, in words.
        reason: In one word, for programs: `no_token`, `bad_token`, `forbidden`, `gated`, `not_found`,
            `no_revision`, `offline`, `quota`, `rate_limit`, `conflict`, `server`, `disk`, `unsafe`, `place`,
            `unexpected`.
    """

    def __init__(self, message: str, *, reason: str = "unexpected") -> None:
        super().__init__(message)
        self.reason = reason


class RetrievalError(EntailError):
    """An index that does not hold what it is asked for."""


class ManifestMismatchError(RetrievalError):
    """An index or cached vectors that belong to something else; names both sides."""


class EvaluationError(EntailError):
    """A figure that cannot be computed: there is no case, a score is no number, lengths differ."""


class TrainingError(EntailError):
    """A training that cannot begin, go on or be resumed: no pairs, one class only, a loss that is NaN."""


class SamplingError(TrainingError):
    """There is nothing to sample pairs from, or no pair came of it."""


class DivergedError(TrainingError):
    """A loss or a gradient that is not finite."""


class CheckpointError(TrainingError):
    """A checkpoint of another base, other data or another configuration, or a damaged one."""


class JobError(EntailError):
    """A job that cannot be taken in, cancelled, resumed, deleted or read."""


class UnknownJobError(JobError):
    """No job has this id."""


class PromotionError(EntailError):
    """An encoder that cannot be made the active one, or nothing to go back to."""


class ServingError(EntailError):
    """A request over HTTP that a server refuses or cannot answer now: raised in the server and by its client.

    Args:
        message: What was expected, what was found, what to do.
        kind: In one word, for programs; see `entail.serving.errors`.
        status: The HTTP status; 0 where no server answered.
        field: The field of the request it is about, where there is one.
        retry_after: Seconds after which the same request may succeed, where it may.
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
    """An act or a request that a tree cannot answer."""


class UnknownTreeError(TreeError):
    """No tree has this id."""


class ActError(TreeError):
    """An act that makes no sense on this tree: no such node, an empty text, a cycle."""


class ConflictError(TreeError):
    """Conflict with a change that somebody else made after the author last saw the tree.

    Args:
        message: What was refused and why, in words.
        changes: One line for each change that stood in the way, oldest first.
    """

    def __init__(self, message: str, *, changes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.changes = tuple(changes)


class UndoError(TreeError):
    """Nothing to undo or redo, or a later act rests on the one that would be taken back."""


class DatabaseError(EntailError):
    """The database is read-only, locked, corrupt, of a newer version or out of reach."""


class DamagedDatabaseError(DatabaseError):
    """The file is no database, or is corrupt: what it held has to come from a backup."""


class LockedDatabaseError(DatabaseError):
    """Somebody else is writing and did not finish in time: nothing was done, and may be tried again."""


class SettingsError(EntailError):
    """An environment variable or an option has a value that cannot be used."""


class DemoError(EntailError):
    """This installation is a demo, and what was asked for would write something that is not the visitor's."""
