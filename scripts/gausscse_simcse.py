"""Supervised SimCSE (Gao et al. 2021) on the triplets of GaussCSE, the row of points in its tables."""

from __future__ import annotations

import json
from pathlib import Path

from entail.data.nli.triplets import NliTriplets
from entail.evaluation.passages.store import store_passages
from entail.progress import ProgressCallback
from entail.tuning.config import DprConfig
from entail.tuning.examples import Example, Examples
from entail.tuning.training import DprTraining, train_dpr


def train_simcse(
    triplets: NliTriplets, config: DprConfig, *, out: Path, progress: ProgressCallback | None
) -> DprTraining:
    """Train an encoder of points by the loss of dense passage retrieval, which is SimCSE's.

    A premise is the question, what it entails its passage, and what contradicts it the hard negative. Other
    hypotheses that the premise entails are no negatives.
    """
    rows = list(triplets.draw(seed=config.seed, epoch=0))
    positions = {text: at for at, text in enumerate(dict.fromkeys(t for row in rows for t in row[1:] if t))}
    folder = out.with_name(f"{out.name}.pool")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".jsonl")
    lines = (json.dumps({"id": f"{at}", "text": text}) for text, at in positions.items())
    file.write_text("\n".join(lines), encoding="utf-8")
    entailed: dict[str, list[int]] = {}
    for premise, text, _ in rows:
        entailed.setdefault(premise, []).append(positions[text])
    examples = tuple(
        Example(
            premise,
            answers=(),
            gold=tuple(dict.fromkeys([positions[text], *entailed[premise]])),
            negatives=() if contradicted is None else (positions[contradicted],),
        )
        for premise, text, contradicted in rows
    )
    pool = store_passages([file], folder)
    assert len(pool) == len(positions), "a text is lost, and the places of those behind it are wrong"
    return train_dpr(Examples(pool, examples), config, out=out, progress=progress)
