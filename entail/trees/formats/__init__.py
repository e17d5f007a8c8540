"""One file a format; every function below loads its module when first used.

From one file to another, by suffix: `entail.trees.formats.convert`.

======================  ========  =====================================================================
`to_jsonl`, `from_...`  .jsonl    official EntailmentBank rows
`to_graphml`, `from_..` .graphml  nodes with text, kind and judgement, for networkx, Gephi, yEd
`to_dot`                .dot      Graphviz
`to_svg`                .svg      a picture
`to_html`               .html     a page of its own that works offline
`to_pairs_csv`          .csv      parent and child of every edge
`to_judged_csv`                   what authors accepted and rejected, and what they had before their eyes
======================  ========  =====================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entail.trees.formats.dot import to_dot
    from entail.trees.formats.entailment_bank import from_jsonl, to_jsonl
    from entail.trees.formats.graphml import from_graphml, to_graphml
    from entail.trees.formats.html import to_html
    from entail.trees.formats.judged import to_judged_csv
    from entail.trees.formats.pairs import to_pairs_csv
    from entail.trees.formats.svg import to_svg

_HOMES = {
    "from_graphml": "graphml",
    "from_jsonl": "entailment_bank",
    "to_dot": "dot",
    "to_graphml": "graphml",
    "to_html": "html",
    "to_jsonl": "entailment_bank",
    "to_judged_csv": "judged",
    "to_pairs_csv": "pairs",
    "to_svg": "svg",
}

__all__ = [
    "from_graphml",
    "from_jsonl",
    "to_dot",
    "to_graphml",
    "to_html",
    "to_jsonl",
    "to_judged_csv",
    "to_pairs_csv",
    "to_svg",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes are of any type
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
