"""File formats of trees; `entail.trees.formats.convert` converts between files by suffix."""

from entail.trees.formats.entailment_bank import from_jsonl, to_jsonl
from entail.trees.formats.graphs import to_dot, to_graphml, to_svg
from entail.trees.formats.network import to_html
from entail.trees.formats.tables import to_judged_csv, to_pairs_csv
from entail.trees.formats.text import file_stem, to_text

__all__ = [
    "file_stem",
    "from_jsonl",
    "to_dot",
    "to_graphml",
    "to_html",
    "to_jsonl",
    "to_judged_csv",
    "to_pairs_csv",
    "to_svg",
    "to_text",
]
