"""Replay of a log: its acts in force, the resulting tree, undo and redo.

Undo and redo are events like any other. An act is *in force* unless it is undone. The tree results from the
acts in force in order of seq, so an undo and a redo restore the same tree, with the same ids and order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from entail.errors import ActError, ConflictError, TreeError, UndoError
from entail.trees.log.acts import Accept, Act, Conclude, Create, Event, Redo, Restore, Undo, Write, describe
from entail.trees.log.rules import Footprint, check, footprint
from entail.trees.log.tree import ROOT, Review, Tree, TreeBuilder

Turn = TypeVar("Turn", Undo, Redo)


@dataclass(frozen=True)
class History:
    """Immutable log with the resulting tree; `extend` returns a longer one.

    `footprints` has those of the acts in force by seq, `out_of_force` the undone acts, `texts` the original
    text by node id, also of removed nodes.
    """

    events: tuple[Event, ...]
    tree: Tree
    footprints: dict[int, Footprint] = field(repr=False)
    out_of_force: frozenset[int]
    texts: dict[str, str] = field(repr=False)

    @property
    def seq(self) -> int:
        """Seq of the last event."""
        return self.events[-1].seq

    def event(self, seq: int) -> Event:
        """Return the event with this seq."""
        return self.events[seq - 1]

    def at(self, seq: int) -> History:
        """Return the history up to a seq, as its authors saw it then."""
        return self if seq >= self.seq else replay(self.events[:seq])

    def marked(self, review: Review | None) -> History:
        """Return the history with the review of its tree, for an export."""
        return replace(self, tree=replace(self.tree, review=review))

    def extend(self, events: Sequence[Event]) -> History:
        """Return the history with these events after it; `TreeError` if they do not continue its seqs.

        Acts are applied on top. An undo or redo replays the log, since order matters.
        """
        if not events:
            return self
        if any(isinstance(event.act, Undo | Redo) for event in events):
            return replay((*self.events, *events))
        _check_seqs(events, after=self.seq)
        return _apply_all(self, events)

    def undoable(self, author: str) -> Event | None:
        """Return the author's last act in force that no later one depends on, None without one."""
        own = (event for event in self._own(author) if self._dependent(event) is None)
        return next(own, None)

    def _own(self, author: str) -> Iterator[Event]:
        """Yield the author's acts in force, the last first; a tree's creation stays."""
        for event in reversed(self.events):
            if event.author == author and event.seq in self.footprints and not isinstance(event.act, Create):
                yield event

    def _dependent(self, target: Event) -> Event | None:
        """Return the first later act in force that depends on an act, None without one."""
        wrote = self.footprints[target.seq].writes
        later = (event for event in self.events[target.seq :] if event.seq in self.footprints)
        return next((event for event in later if self.footprints[event.seq].reads & wrote), None)

    def redoable(self, author: str) -> Event | None:
        """Return the act that the author undid last, None if they acted since or have redone it."""
        undone: list[int] = []
        for event in self.events:
            if event.author != author:
                continue
            if isinstance(event.act, Undo):
                undone.append(event.act.seq)
            elif isinstance(event.act, Redo):
                undone = [seq for seq in undone if seq != event.act.seq]
            else:
                undone.clear()
        return self.event(undone[-1]) if undone else None

    def plan_undo(self, author: str) -> Undo:
        """Return the undo of the author's last act that can be undone.

        `UndoError` if there is none; it names the last act, and the one that depends on it.
        """
        refusal: UndoError | None = None
        for target in self._own(author):
            try:
                return self._plan_undo_of(target)
            except UndoError as error:
                refusal = refusal or error
        raise refusal or UndoError("there is no act of yours to undo")

    def _plan_undo_of(self, target: Event) -> Undo:
        if later := self._dependent(target):
            raise UndoError(
                f"cannot undo: you {self.describe(target)}, and a later act depends on it "
                f"({self.describe(later, with_author=True)})"
            )
        return self._rehearse(Undo(seq=target.seq), target.author, target)

    def skipped(self, undo: Undo) -> Event | None:
        """Return the last act of an undo's author if the undo passed it over, else None."""
        last = next(self._own(self.event(undo.seq).author), None)
        return last if last is not None and last.seq > undo.seq else None

    def plan_redo(self, author: str) -> Redo:
        """Return the redo of the act that the author undid last; `UndoError` if none can be redone."""
        target = self.redoable(author)
        if target is None:
            raise UndoError("there is no act of yours to redo")
        undone_at = max(e.seq for e in self.events if isinstance(e.act, Undo) and e.act.seq == target.seq)
        then = self._footprint_before(undone_at, target.seq)
        for later, print_ in self._changes(since=undone_at):
            if print_.writes & then.reads or print_.reads & then.writes:
                raise UndoError(
                    f"cannot redo: you {self.describe(target)}, but the tree has changed since "
                    f"({self.describe(later, with_author=True)})"
                )
        return self._rehearse(Redo(seq=target.seq), author, target)

    def check_current(self, act: Act, *, base: int) -> None:
        """Check that an act made on version `base` is valid on this version.

        Raises:
            ConflictError: If it was valid on `base`, but later events conflict with it; they are named.
            ActError: If the act is invalid on this version.
            TreeError: If there is no version `base`.
        """
        if not 1 <= base <= self.seq:
            raise TreeError(f"the tree has the versions 1 to {self.seq}, found {base}; load it again")
        changes, history = list(self._changes(since=base)), self.at(base)
        try:
            reads = footprint(history.tree, act, seq=self.seq + 1).reads
        except ActError:  # it names something that its author had not seen
            reads = frozenset()
        self._refuse_if([event for event, print_ in changes if print_.writes & reads])
        try:
            check(self.tree, act)
        except ActError as error:
            self._refuse_if(self._spoilers(act, history), cause=error)
            raise

    def _refuse_if(self, touched: Sequence[Event], *, cause: ActError | None = None) -> None:
        if touched:
            lines = tuple(self.describe(event, with_author=True) for event in touched)
            reason = f" ({cause})" if cause else ""
            raise ConflictError(f"not saved: {'; '.join(lines)}{reason}", changes=lines) from cause

    def _spoilers(self, act: Act, history: History) -> list[Event]:
        """Return the event that made an act invalid; none if it never was valid."""
        for event in (None, *self.events[history.seq :]):
            after = history if event is None else history.extend([event])
            try:
                check(after.tree, act)
            except ActError:
                return [] if event is None else [event]
            history = after
        return []

    def describe(self, event: Event, *, with_author: bool = False) -> str:
        """Return a description of an event."""
        act = event.act
        words = describe(self.event(act.seq).act if isinstance(act, Undo | Redo) else act, self.texts)
        if isinstance(act, Undo | Redo):
            words = f"{'undid' if isinstance(act, Undo) else 'redid'}: {words}"
        return f"{event.author} {words}" if with_author else words

    def _changes(self, *, since: int) -> Iterable[tuple[Event, Footprint]]:
        """Yield the events after `since` that changed the tree; an act undone and redone did not."""
        if since == self.seq:
            return
        out_then = _out_of_force(self.events[:since])
        last_turn = {e.act.seq: e.seq for e in self.events[since:] if isinstance(e.act, Undo | Redo)}
        for event in self.events[since:]:
            if isinstance(event.act, Undo | Redo):
                target = event.act.seq
                turned = (target in out_then) != (target in self.out_of_force)
                if target <= since and turned and last_turn[target] == event.seq:
                    now = self.footprints.get(target)
                    yield event, now or self._footprint_before(event.seq, target)
            elif event.seq in self.footprints:
                yield event, self.footprints[event.seq]

    def _footprint_before(self, seq: int, target: int) -> Footprint:
        """Return the footprint of an act in force just before the event `seq`."""
        return replay(self.events[: seq - 1]).footprints[target]

    def _rehearse(self, act: Turn, author: str, target: Event) -> Turn:
        """Return an undo or redo if every later act stays valid with it."""
        event = Event(seq=self.seq + 1, author=author, at=target.at, act=act)
        try:
            replay((*self.events, event), strict_from=target.seq)
        except TreeError as error:
            done = self.describe(target)
            raise UndoError(
                f"cannot {act.kind}: you {done}, and a later act would become invalid ({error})"
            ) from error
        return act


CREATED = 1
"""Seq of the act that creates a tree."""


def replay(
    events: Sequence[Event], *, strict_from: int | None = None, pasts: dict[int, Tree] | None = None
) -> History:
    """Return the history of a log.

    With `strict_from`, every act in force from that seq on is checked on the tree before it. `pasts` has the
    trees after earlier acts that were replayed for a `Restore`: one may return to another.

    Raises:
        TreeError: If the log is empty, does not begin with `create`, its seqs are not 1, 2, 3 ..., or an act
            does not fit the tree before it.
        ActError: If an act from `strict_from` on is invalid.
    """
    if not events or not isinstance(events[0].act, Create):
        raise TreeError("a log starts with the act that creates the tree")
    _check_seqs(events, after=0)
    empty = History((), Tree({}), {}, _out_of_force(events), {})
    return _apply_all(empty, events, strict_from=strict_from, pasts=pasts)


def _out_of_force(events: Sequence[Event]) -> frozenset[int]:
    """Return the seqs of the acts that are undone after these events; raise `TreeError` on a damaged log."""
    out: set[int] = set()
    for event in events:
        act = event.act
        if not isinstance(act, Undo | Redo):
            continue
        target = events[act.seq - 1] if 1 < act.seq < event.seq else event  # an undo itself cannot be undone
        undone = act.seq in out
        if (
            isinstance(target.act, Undo | Redo)
            or target.author != event.author
            or undone == isinstance(act, Undo)
        ):
            raise TreeError(f"act {event.seq} cannot {act.kind} act {act.seq}")
        (out.add if isinstance(act, Undo) else out.discard)(act.seq)
    return frozenset(out)


def _check_seqs(events: Sequence[Event], *, after: int) -> None:
    seqs = [event.seq for event in events]
    expected = list(range(after + 1, after + 1 + len(events)))
    if seqs != expected:
        raise TreeError(
            f"the log should go on with seq {expected[0]} to {expected[-1]}, found {seqs[0]} to {seqs[-1]}"
        )


def _apply_all(
    history: History,
    events: Sequence[Event],
    *,
    strict_from: int | None = None,
    pasts: dict[int, Tree] | None = None,
) -> History:
    builder, pasts = TreeBuilder(history.tree), {} if pasts is None else pasts
    footprints, texts = dict(history.footprints), dict(history.texts)
    for event in events:
        act = event.act
        if isinstance(act, Undo | Redo):
            continue
        texts.update(_new_texts(act, event.seq))
        if event.seq in history.out_of_force:
            continue
        before = builder.peek()
        if strict_from is not None and event.seq >= strict_from and not isinstance(act, Create):
            check(before, act)
        try:
            footprints[event.seq] = footprint(before, act, seq=event.seq)
            if isinstance(act, Restore):
                builder = TreeBuilder(_past((*history.events, *events), event.seq, act, pasts))
            else:
                builder.apply(act, seq=event.seq, author=event.author)
        except (ActError, LookupError, TypeError, ValueError) as error:
            raise TreeError(
                f"act {event.seq} ({act.kind!r}) does not fit the tree before it ({error})"
            ) from error
    return History(
        events=(*history.events, *events),
        tree=builder.freeze(seq=events[-1].seq),
        footprints=footprints,
        out_of_force=history.out_of_force,
        texts=texts,
    )


def _past(events: Sequence[Event], seq: int, act: Restore, pasts: dict[int, Tree]) -> Tree:
    if not 1 <= act.seq < seq:
        raise ActError(f"expected an act from 1 to {seq - 1} to restore, found {act.seq}")
    if act.seq not in pasts:
        pasts[act.seq] = replay(events[: act.seq], pasts=pasts).tree
    return pasts[act.seq]


def _new_texts(act: Act, seq: int) -> dict[str, str]:
    """Return node id -> sentence of the nodes that an act makes."""
    match act:
        case Create(hypothesis=hypothesis, nodes=nodes):
            return {ROOT: hypothesis, **{f"{ROOT}.{i + 1}": node.text for i, node in enumerate(nodes)}}
        case Accept(premise=premise):
            return {f"n{seq}": premise.text}
        case Write(text=text) | Conclude(text=text):
            return {f"n{seq}": text}
        case _:
            return {}
