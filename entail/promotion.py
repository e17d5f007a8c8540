"""Which encoder is active for which corpus: one pointer, moved in one move, and its history.

A pointer names the encoder and the premise vectors that its index is made of together, so nobody ever
searches one with the other. It stands in `active.json` in the data folder, which is replaced whole; whoever
reads it looks at the file's stamp first, so that a change is seen by every session of every process at its
next look, for the cost of one `stat`. A corpus without a pointer of its own follows the default for all, and
where there is none of that either, the packaged encoder is active.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.records import Corpus
from entail.data.writing import write_text
from entail.encoders.catalogue import PACKAGED, EncoderEntry, fetch, resolve
from entail.errors import DataError, EncoderError, PromotionError
from entail.progress import ProgressCallback
from entail.settings import load_settings, refuse_in_demo

if TYPE_CHECKING:
    from entail.evaluation.measured import Beside

_FILE = "active.json"
_FORMAT = 1
_TIMEOUT = 20.0
_ALL = ""


@dataclass(frozen=True)
class Pointer:
    """One move of a pointer, or where it stands of itself.

    Attributes:
        number: 1, 2 ... in order of time; 0 for the packaged encoder, which nobody promoted.
        corpus: Name of the corpus it is for; None for all that have none of their own.
        encoder: Name of the encoder; None where a roll back left the corpus without a pointer of its own.
        revision: Its weights.
        premise_revision: What the premise vectors of its index are bound to.
        by: Who moved it.
        at: When, in UTC.
        evaluation: The encoder's figures beside those of the one that was active (`Beside.to_json`).
        previous: Number of the pointer that is in force again after a roll back; 0 for none.
        rolled_back: Number of the pointer that this one took back.
    """

    number: int
    corpus: str | None
    encoder: str | None
    revision: str
    premise_revision: str
    by: str
    at: datetime
    evaluation: Mapping[str, Any] | None = None
    previous: int = 0
    rolled_back: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self) | {"at": self.at.isoformat()}


@dataclass(frozen=True)
class Active:
    """What is active for a corpus.

    Attributes:
        encoder: Name of the encoder.
        revision: Its weights.
        premise_revision: What the premise vectors of its index are bound to.
        pointer: The pointer that says so; None for the packaged encoder.
    """

    encoder: str
    revision: str
    premise_revision: str
    pointer: Pointer | None = None

    @property
    def number(self) -> int:
        """Another one each time it is moved: what a page keys its cache on."""
        return self.pointer.number if self.pointer else 0

    def entry(self) -> EncoderEntry:
        """Return the encoder's catalogue entry.

        Raises:
            PromotionError: If the encoder is gone, or another one stands under its name.
        """
        return _checked(self.encoder, self.revision)

    def check(self) -> None:
        """Check, without the network, that nothing is known against the encoder that was promoted.

        Raises:
            PromotionError: If it is gone, or another one stands under its name.
        """
        _checked(self.encoder, self.revision, online=False)

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {
            "encoder": self.encoder,
            "revision": self.revision,
            "premise_revision": self.premise_revision,
            "pointer": self.pointer.to_json() if self.pointer else None,
        }


def active(corpus: str | None = None) -> Active:
    """Return what is active for a corpus by name, or for all that have no pointer of their own.

    Raises:
        PromotionError: If the pointers cannot be read.
        EncoderError: If nothing was ever promoted and the packaged encoder is not installed.
    """
    held = _read()
    pointer = held.in_force(corpus) if corpus is not None else None
    pointer = pointer or held.in_force(None)
    if pointer is not None:
        assert pointer.encoder is not None
        return Active(pointer.encoder, pointer.revision, pointer.premise_revision, pointer)
    packaged = resolve(PACKAGED)
    return Active(packaged.name, str(packaged.revision), str(packaged.revision))


def history(corpus: str | None = None) -> tuple[Pointer, ...]:
    """Return the moves of a corpus's pointer, or of the one for all, the newest first."""
    return tuple(pointer for pointer in reversed(_read().moves) if pointer.corpus == corpus)


def moves() -> tuple[Pointer, ...]:
    """Return the moves of all pointers, the newest first."""
    return tuple(reversed(_read().moves))


def pointers() -> tuple[Pointer, ...]:
    """Return the pointers that are in force: the one for all first, then those of corpora by name."""
    held = _read()
    names = sorted({pointer.corpus or _ALL for pointer in held.moves})
    found = [held.in_force(name or None) for name in names]
    return tuple(pointer for pointer in found if pointer is not None)


def beneath(pointer: Pointer) -> Pointer | None:
    """Return the pointer that taking this one back puts in force again, None where there is none of its own.

    Raises:
        PromotionError: If the pointers cannot be read.
    """
    earlier = _read().by_number(pointer.previous)
    return earlier if earlier is not None and earlier.encoder is not None else None


def promote(
    encoder: str,
    *,
    by: str,
    corpus: str | None = None,
    evaluation: Beside | None = None,
    premises: Corpus | None = None,
    anyway: bool = False,
    number: int | None = None,
    progress: ProgressCallback | None = None,
) -> Pointer:
    """Make an encoder the active one, for a corpus or for all that have no pointer of their own.

    Args:
        encoder: A name, a folder under `models/`, or a Hub id, which is pinned to the commit that is there.
        by: Who does it.
        corpus: Name of the corpus; None for all.
        evaluation: Its figures beside the active encoder's.
        premises: The corpus itself: its index is made before the pointer is moved, so that nobody waits for
            it afterwards.
        anyway: Also where `require_passed` refuses.
        number: `Active.number` as the person saw it who decided: whatever was promoted since is refused.
        progress: Told how far the index is.

    Raises:
        PromotionError: If `require_passed` refuses and not `anyway`; if somebody else promoted meanwhile; or
            if the pointer cannot be written: then the old one is in force.
        EncoderError: If it cannot be loaded.
    """
    refuse_in_demo("an encoder cannot be promoted")
    entry = fetch(resolve(encoder))
    revision, premise_revision = _revisions(entry)
    if not anyway:
        require_passed(evaluation, revision, active(corpus))
    if premises is not None:
        from entail.encoders.biencoder import BiEncoder
        from entail.index.vectors import premise_vectors

        premise_vectors(premises, BiEncoder(entry), cache_dir=load_settings().vectors_dir, progress=progress)
    with _Writing() as held:
        _require_unmoved(active(corpus), number)
        if not anyway:
            # Somebody else may have promoted meanwhile.
            require_passed(evaluation, revision, active(corpus))
        present = held.in_force(corpus)
        return held.move(
            Pointer(
                number=held.next,
                corpus=corpus,
                # What a Hub id leads to may be another commit tomorrow.
                encoder=revision if entry.kind == "hub" else entry.name,
                revision=revision,
                premise_revision=premise_revision,
                by=by,
                at=datetime.now(UTC),
                evaluation=evaluation.to_json() if evaluation else None,
                previous=present.number if present else 0,
            )
        )


def roll_back(corpus: str | None = None, *, by: str, number: int | None = None) -> Pointer:
    """Put back what was active before the pointer was moved last; again, what was before that.

    Args:
        corpus: Name of the corpus; None for all that have no pointer of their own.
        by: Who does it.
        number: That of the pointer to be taken back; if it is no more in force, nothing is.

    Raises:
        PromotionError: If the pointer was never moved, somebody else moved it meanwhile, or what was active
            before is gone.
    """
    with _Writing() as held:
        present = held.in_force(corpus)
        if present is None:
            whose = f"for {corpus!r}" if corpus else "for all corpora"
            raise PromotionError(f"expected a promoted encoder {whose} to go back from, found none")
        _require_unmoved(active(corpus), number)
        before = held.by_number(present.previous)
        if before is not None and before.encoder is not None:
            # A commit of the Hub stays what it was: nobody has to wait for the network to go back.
            _checked(before.encoder, before.revision, online=False)
        back = before or replace(present, encoder=None, revision="", premise_revision="", previous=0)
        return held.move(
            replace(
                back,
                number=held.next,
                by=by,
                at=datetime.now(UTC),
                evaluation=back.evaluation if before else None,
                rolled_back=present.number,
            )
        )


def require_passed(evaluation: Beside | None, revision: str, present: Active) -> None:
    """Check that an encoder may become the active one without anybody insisting.

    Args:
        evaluation: Its figures beside the active encoder's.
        revision: The encoder's.
        present: What is active.

    Raises:
        PromotionError: If it was not compared with what is active now, on queries that neither was trained
            on, or did worse.
    """
    if evaluation is None:
        raise PromotionError(
            "expected the encoder's figures beside the active one's, found none; compare them on a split, or "
            "promote it anyway"
        )
    if (evaluation.candidate, evaluation.active) != (revision, present.revision):
        raise PromotionError(
            f"expected figures of {revision} beside those of {present.revision}, which is active now, found "
            f"{evaluation.candidate} beside {evaluation.active}; compare them anew, or promote it anyway"
        )
    if evaluation.seen:
        raise PromotionError(
            f"it was compared on {evaluation.queries:,} queries of {evaluation.split}, and it or the active "
            f"encoder was trained on {evaluation.seen:,} of them and knows these by heart; compare them on "
            "others, or promote it anyway"
        )
    if evaluation.verdict == "worse":
        raise PromotionError(f"it does worse than the active encoder ({evaluation}); promote it anyway?")


def _require_unmoved(present: Active, number: int | None) -> None:
    if number is None or number == present.number:
        return
    move = present.pointer
    who = f"{move.by} made {present.encoder!r} the active one meanwhile" if move else "it was rolled back"
    raise PromotionError(f"{who}, so nothing was changed; look at what is active now, then decide again")


def _checked(encoder: str, revision: str, *, online: bool = True) -> EncoderEntry:
    try:
        entry = fetch(resolve(encoder)) if online else resolve(encoder)
    except EncoderError as error:
        raise PromotionError(
            f"the encoder {encoder!r} cannot be had any more: {error}; promote another one"
        ) from error
    unknown = entry.revision is None and not online
    if entry.revision != revision and not unknown:
        raise PromotionError(
            f"expected {encoder!r} to be {revision}, as it was promoted, found {entry.revision}: somebody "
            "put another encoder under its name; promote it anew, or put the old one back"
        )
    return entry


def _revisions(entry: EncoderEntry) -> tuple[str, str]:
    problem = entry.problem or (entry.gaussian and "expected an encoder of points, found one of Gaussians")
    if problem or entry.revision is None:
        raise EncoderError(f"{entry.name} cannot be made active: {problem or 'it has no revision'}")
    base = entry.base
    return entry.revision, str(base.revision) if entry.towers == "single" and base else entry.revision


class _Held:
    """All moves, in order."""

    def __init__(self, moves: tuple[Pointer, ...]) -> None:
        self.moves = moves
        self._last = {pointer.corpus: pointer for pointer in moves}

    @property
    def next(self) -> int:
        return len(self.moves) + 1

    def by_number(self, number: int) -> Pointer | None:
        return self.moves[number - 1] if number else None

    def in_force(self, corpus: str | None) -> Pointer | None:
        last = self._last.get(corpus)
        return last if last is not None and last.encoder is not None else None

    def move(self, pointer: Pointer) -> Pointer:
        told = {"format": _FORMAT, "moves": [move.to_json() for move in (*self.moves, pointer)]}
        try:
            write_text(_file(), json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        except DataError as error:
            raise PromotionError(f"the pointer stays where it is: {error}") from error
        return pointer


class _Writing:
    """Keeps everybody else from moving a pointer, and gives all moves as they are."""

    def __enter__(self) -> _Held:
        from filelock import FileLock, Timeout

        refuse_in_demo("the active encoder cannot be changed")
        file = _file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(file.with_suffix(".lock"), timeout=_TIMEOUT)
            self._lock.acquire()
        except Timeout as error:
            raise PromotionError("another process is promoting at this moment; try again") from error
        except OSError as error:
            raise PromotionError(f"the pointer cannot be moved: {error}") from error
        return _read()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


_seen: dict[Path, tuple[tuple[int, int, int], _Held]] = {}


def _file() -> Path:
    return load_settings().data_dir / _FILE


def _read() -> _Held:
    file = _file()
    try:
        at = file.stat()
    except FileNotFoundError:
        return _Held(())
    except OSError as error:
        raise PromotionError(f"the pointers to active encoders cannot be read: {error}") from error
    stamp = (at.st_mtime_ns, at.st_ino, at.st_size)
    known = _seen.get(file)
    if known is not None and known[0] == stamp:
        return known[1]
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["format"] != _FORMAT:
            raise ValueError(f"format {told['format']}, of another version of entail")
        moves = tuple(Pointer(**{**move, "at": datetime.fromisoformat(move["at"])}) for move in told["moves"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PromotionError(
            f"{file.name} in the data folder cannot be read ({error}); put it back from a backup, or remove "
            "it: then the packaged encoder is active"
        ) from error
    held = _Held(moves)
    _seen[file] = (stamp, held)
    return held
