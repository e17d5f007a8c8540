"""What was measured of an encoder, wherever that stands: its card, the card of one upon it, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from entail.cards.facts import Facts
from entail.encoders.catalogue import EncoderEntry
from entail.evaluation.measured import Beside

PROTOCOLS = {"query_excluded": "query excluded", "paper": "paper"}
"""Name of a protocol on cards -> in comparisons."""

PROTOCOL_NAMES = {"query_excluded": "Query left out", "paper": "As in the paper"}
"""The same for people."""

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Known:
    """Figures of one encoder on one split.

    Attributes:
        split: What it was measured on, in short.
        told_by: Where that stands, in words.
        queries: Claims that were asked for, None where it is not said.
        figures: Protocol -> measure -> figure.
        unseen: How many of the queries it was not trained on; None where it was trained on none.
        figures_unseen: Its figures on those.
        about: More of the measurement, in words.
    """

    split: str
    told_by: str
    queries: int | None
    figures: Figures
    unseen: int | None = None
    figures_unseen: Figures = field(default_factory=dict)
    about: str = ""

    def figure(self, measure: str, protocol: str) -> float | None:
        """Return a figure, None where it was not measured."""
        return self.figures.get(protocol, {}).get(measure)


def known_figures(
    entry: EncoderEntry, told: Iterable[Facts], compared: Iterable[tuple[str, Beside]]
) -> list[Known]:
    """Return all that is known of an encoder, what its own card says first.

    Figures belong to weights, so they are found by revision, never by name.

    Args:
        entry: The encoder.
        told: What the cards in reach say.
        compared: Comparisons with words for who made them.
    """
    own: list[Known] = []
    others: list[Known] = []
    for facts in told:
        for one in facts.measured:
            about = f"{one.premises:,} candidates" if one.premises else ""
            if _same(facts.entry.revision, entry.revision):
                own.append(
                    Known(
                        one.source,
                        "its card",
                        one.queries,
                        one.encoder,
                        one.unseen,
                        one.encoder_unseen,
                        about,
                    )
                )
            elif one.base and facts.base is not None and _same(facts.base.revision, entry.revision):
                others.append(
                    Known(one.source, f"the card of {facts.name}", one.queries, one.base, about=about)
                )
        dev = facts.told["figures"].get("dev")
        if facts.method.judged_on != "trees" or entry.gaussian is not None:  # measured something else
            dev = None
        if not facts.measured and isinstance(dev, Mapping) and _same(facts.entry.revision, entry.revision):
            own.append(_of_training(dev))
    for words, beside in compared:
        side = "second" if beside.candidate == entry.revision else "first"
        if entry.revision in (beside.candidate, beside.active):
            others.append(Known(beside.split, words, beside.queries, _sides(beside, side)))
    return _distinct([*own, *others])


def _of_training(dev: Mapping[str, object]) -> Known:
    figures = {str(name): float(value) for name, value in dev.items() if isinstance(value, int | float)}
    return Known(
        "its dev trees", "its training, which chose its weights on them", None, {"query_excluded": figures}
    )


def _sides(beside: Beside, side: str) -> Figures:
    found: dict[str, dict[str, float]] = {}
    for name, difference in beside.measures.items():
        measure, _, words = name.partition(", ")
        for protocol, called in PROTOCOLS.items():
            if words == called:
                found.setdefault(protocol, {})[measure] = getattr(difference, side)
    return found


def _same(one: str | None, other: str | None) -> bool:
    # What comes before the digest is the folder's name, which may be another one elsewhere.
    return bool(one and other) and str(one).partition("@")[2] == str(other).partition("@")[2]


def _distinct(known: Sequence[Known]) -> list[Known]:
    """Leave out what says the same as an earlier one."""
    found: list[Known] = []
    for one in known:
        if all((one.split, one.figures) != (other.split, other.figures) for other in found):
            found.append(one)
    return found
