"""Which encoder is active for which corpus: one pointer, moved in one move, and its history.

A pointer names the encoder and the premise vectors that its index is made of together, so nobody ever
searches one with the other; `entail.pointers` keeps it. A corpus without a pointer of its own follows the
default for all, and where there is none of that either, the packaged encoder is active. What tells directions
and what scores chains are in use by pointers of their own: `entail.roles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED, EncoderEntry, fetch, resolve
from entail.errors import EncoderError, PromotionError
from entail.pointers import Moving, Pointer, read_moves, require_unmoved
from entail.progress import ProgressCallback
from entail.settings import load_settings, refuse_in_demo

if TYPE_CHECKING:
    from entail.evaluation.measured import Beside

_ALL = ""


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
    held = read_moves()
    pointer = held.in_force(corpus) if corpus is not None else None
    pointer = pointer or held.in_force(None)
    if pointer is not None:
        assert pointer.encoder is not None
        return Active(pointer.encoder, pointer.revision, pointer.premise_revision, pointer)
    packaged = resolve(PACKAGED)
    return Active(packaged.name, str(packaged.revision), str(packaged.revision))


def history(corpus: str | None = None) -> tuple[Pointer, ...]:
    """Return the moves of a corpus's pointer, or of the one for all, the newest first."""
    return tuple(pointer for pointer in reversed(read_moves().of("retriever")) if pointer.corpus == corpus)


def moves() -> tuple[Pointer, ...]:
    """Return the moves of all pointers, the newest first."""
    return tuple(reversed(read_moves().of("retriever")))


def pointers() -> tuple[Pointer, ...]:
    """Return the pointers that are in force: the one for all first, then those of corpora by name."""
    held = read_moves()
    names = sorted({pointer.corpus or _ALL for pointer in held.of("retriever")})
    found = [held.in_force(name or None) for name in names]
    return tuple(pointer for pointer in found if pointer is not None)


def beneath(pointer: Pointer) -> Pointer | None:
    """Return the pointer that taking this one back puts in force again, None where there is none of its own.

    Raises:
        PromotionError: If the pointers cannot be read.
    """
    return read_moves().beneath(pointer)


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
        require_passed(evaluation, revision, active(corpus).revision)
    if premises is not None:
        from entail.encoders.biencoder import BiEncoder
        from entail.index.vectors import premise_vectors

        premise_vectors(premises, BiEncoder(entry), cache_dir=load_settings().vectors_dir, progress=progress)
    with Moving() as held:
        require_unmoved(active(corpus).pointer, number)
        if not anyway:
            # Somebody else may have promoted meanwhile.
            require_passed(evaluation, revision, active(corpus).revision)
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
    with Moving() as held:
        present = held.in_force(corpus)
        if present is None:
            whose = f"for {corpus!r}" if corpus else "for all corpora"
            raise PromotionError(f"expected a promoted encoder {whose} to go back from, found none")
        require_unmoved(active(corpus).pointer, number)
        if (before := held.beneath(present)) is not None:
            # A commit of the Hub stays what it was: nobody has to wait for the network to go back.
            _checked(str(before.encoder), before.revision, online=False)
        return held.put_back(present, by=by)


def require_passed(evaluation: Beside | None, revision: str, present: str) -> None:
    """Check that an encoder may become the active one without anybody insisting.

    Args:
        evaluation: Its figures beside the active encoder's.
        revision: The encoder's.
        present: That of what is active.

    Raises:
        PromotionError: If it was not compared with what is active now, on queries that neither was trained
            on, or did worse.
    """
    if evaluation is None:
        raise PromotionError(
            "expected the encoder's figures beside the active one's, found none; compare them on a split, or "
            "promote it anyway"
        )
    if (evaluation.candidate, evaluation.active) != (revision, present):
        raise PromotionError(
            f"expected figures of {revision} beside those of {present}, which is active now, found "
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
