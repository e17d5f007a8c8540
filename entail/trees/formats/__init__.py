"""File formats of trees, a module each; `entail.trees.formats.convert` converts between files by suffix.

======================  ========  =====================================================================
`to_jsonl`, `from_...`  .jsonl    official EntailmentBank rows
`to_graphml`            .graphml  nodes with text, kind and judgement, for networkx, Gephi, yEd
`to_dot`                .dot      Graphviz
`to_svg`                .svg      a picture
`to_html`               .html     a self-contained page that works offline
`to_pairs_csv`          .csv      parent and child of every edge
`to_judged_csv`                   accepted and rejected premises with the evidence of each judgement
======================  ========  =====================================================================
"""

from entail.trees.formats.entailment_bank import from_jsonl, to_jsonl
from entail.trees.formats.graphs import to_dot, to_graphml
from entail.trees.formats.html import to_html
from entail.trees.formats.svg import to_svg
from entail.trees.formats.tables import to_judged_csv, to_pairs_csv

__all__ = [
    "from_jsonl",
    "to_dot",
    "to_graphml",
    "to_html",
    "to_jsonl",
    "to_judged_csv",
    "to_pairs_csv",
    "to_svg",
]
