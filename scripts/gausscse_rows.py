"""Rows of the tables of `reproduce_gausscse.py`: what each trains."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from entail.gausscse.config import GausscseConfig, Sets
from entail.tuning.config import DprConfig


@dataclass(frozen=True)
class Row:
    """One row of the tables; settings of dense passage retrieval are those of supervised SimCSE.

    Attributes:
        infer: Whether contradictions are inferred (`nli_triplets`).
        taught_by: Rows whose seeds in the work folder are the teachers.
        teachers: How many there have to be.
    """

    name: str
    config: GausscseConfig | DprConfig
    infer: bool = False
    taught_by: tuple[str, ...] = ()
    teachers: int = 0


OURS = GausscseConfig(batch_size=64, learning_rate=3e-4)
"""The best cell of the grid of Table 5 here, which all rows use, as in the paper."""

RANKED = replace(OURS, ranking=1.0)
MAIN: tuple[Sets, ...] = ("ent", "ent+con", "ent+rev", "ent+con+rev")
"""Losses of Tables 1 to 4."""

KL_SPREADS, KL_TEMPERATURES = (0.03, 0.1, 0.3), (5e-4, 5e-3)
"""Grid of `kl` (equation 2): means of length sqrt(d) give similarities near 0 and a nearly flat softmax."""

SHIPPED = "ent+con+rev, ranked, directed, longer twice"
INFERRED = f"{SHIPPED}, inferred contradictions"
TAUGHT = f"{INFERRED}, labels and five teachers"
_SHIPPED = replace(RANKED, direction=2.0, longer=2.0)
TAUGHT_BY_BOTH = f"{INFERRED}, labels and eight teachers"

SIMCSE = "SimCSE"
ROWS = (
    Row(SIMCSE, DprConfig(learning_rate=5e-4, batch_size=32, words=0, max_length=64, epochs=3)),
    Row("ent", replace(OURS, sets="ent")),
    Row("ent+con", replace(OURS, sets="ent+con")),
    Row("ent+rev", replace(OURS, sets="ent+rev")),
    Row("ent+con+rev", OURS),
    Row("ent+con, ranked", replace(RANKED, sets="ent+con")),
    Row("ent+con+rev, ranked", RANKED),
    Row("ent+con+rev, ranked, longer twice", replace(RANKED, longer=2.0)),
    Row(SHIPPED, _SHIPPED),
    Row(INFERRED, _SHIPPED, infer=True),
    Row(TAUGHT, _SHIPPED, infer=True, taught_by=(INFERRED,), teachers=5),
    Row(TAUGHT_BY_BOTH, _SHIPPED, infer=True, taught_by=(SHIPPED, INFERRED), teachers=8),
    Row(f"{SHIPPED}, reversed by premise", replace(_SHIPPED, reversal="by_premise")),
    Row("ent+con+rev, ranked, directed more, longer twice", replace(RANKED, direction=5.0, longer=2.0)),
    Row("kl", replace(OURS, similarity="kl")),
    *(Row(f"kl, spread {s:g}", replace(OURS, similarity="kl", spread=s)) for s in KL_SPREADS),
    *(Row(f"kl, temperature {t:g}", replace(OURS, similarity="kl", temperature=t)) for t in KL_TEMPERATURES),
    Row("kl_per_dim", replace(OURS, similarity="kl_per_dim", tanh=True)),
    Row("reversed by premise", replace(OURS, reversal="by_premise")),
    Row("[CLS]", replace(OURS, pooling="cls")),
    Row("rate rises to the end", replace(OURS, rate="rising")),
    Row("every weight", replace(OURS, tuning="full")),
)

COMPARED = (
    *((taught, other) for taught in (TAUGHT_BY_BOTH, TAUGHT) for other in (SHIPPED, INFERRED)),
    *itertools.combinations((SHIPPED, *reversed(MAIN), SIMCSE), 2),
)
"""Rows whose answers are compared, set by set and seed by seed."""
