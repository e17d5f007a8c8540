"""The address of a comparison: what is compared, and how."""

from __future__ import annotations

from entail.ui.link import Link

_ALWAYS = ("mode", "corpus", "left", "right", "depth")
_OF_MODE = {
    "query": ("pick", "query"),
    "tree": ("tree",),
    "split": ("trees", "file"),
    "bias": ("trees", "file"),
    "tour": ("trees", "file", "stop"),
}
PARTS = tuple(dict.fromkeys((*_ALWAYS, *(part for parts in _OF_MODE.values() for part in parts))))
"""What an address may name; each is the end of the key `compare_<part>` of a widget."""
_CALLED = {
    "left": "retriever",
    "right": "retriever",
    "pick": "claim",
    "trees": "kind of trees",
    "stop": "card",
}

_LINK = Link("compare", PARTS, called=_CALLED)
arrive, begin, wanted = _LINK.arrive, _LINK.begin, _LINK.wanted


def write(mode: str) -> None:
    """Put what is compared into the address: the parts of this mode."""
    _LINK.write((*_ALWAYS, *_OF_MODE.get(mode, ())))
