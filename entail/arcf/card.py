"""The card of a scorer: its `README.md`, all of it made from `entail.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from entail.cards.licences import OTHER, proposed_licence
from entail.cards.markdown import code, escaped, shown, table
from entail.cards.methods import method_text
from entail.cards.sources import data_source
from entail.encoders.cross import ADAPTER, HEAD, WHOLE

_SPLIT = (
    "To be fast it departs from the paper: question and facts never read the candidate, and the candidate "
    "reads itself alone in the lowest {alone} layers, so that both are computed once (after PreTTR, "
    "MacAvaney et al. 2020); its score is that of the mean of its last states."
)


def scorer_card(folder: Path, *, name: str) -> str:
    """Return the card of a scorer as Markdown, the same text for the same folder.

    Args:
        folder: Its own, with `entail.json`.
        name: What to call it.
    """
    told: dict[str, Any] = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    trained, config, scorer = told.get("trained_on") or {}, told.get("config") or {}, told.get("scorer") or {}
    sources = [data_source(str(one)) for one in trained.get("data") or ()]
    licence = told.get("licence") or proposed_licence(
        [told.get("base_licence"), *(source.licence for source in sources)]
    )
    method = method_text(str(told.get("method")))
    base = told.get("base")
    if base:
        what = f"LoRA adapter (`{ADAPTER}/`) on {code(str(base))} and a linear head (`{HEAD}`)"
    else:
        what = f"whole model (`{WHOLE}/`) and a linear head (`{HEAD}`)"
    alone = scorer.get("scheme") == "single-fact"
    parts = [
        "<!-- Made from entail.json when the scorer was trained; train it again instead of editing. -->",
        f"# {escaped(name)}",
        f"{method.title}: it {method.idea}. A cross-encoder, {what}: it reads a question with its answer"
        + ("" if alone else ", the facts chosen so far,")
        + " and a candidate fact, and gives one score. It makes no vectors of sentences.",
        *([_SPLIT.format(alone=scorer.get("alone"))] if scorer.get("reading") == "split" else []),
        "## Use",
        "```sh\n"
        f"entail rank --scorer {name} --tables TABLES --question 'What melts?' --answer ice\n"
        f"entail evaluate chains --scorer {name} --tables TABLES --questions QUESTIONS.tsv\n```",
        "## What it learnt from",
        "\n".join(f"- {escaped(source.about)}" for source in sources)
        or "Nobody said which data this scorer learnt from.",
        *(escaped(source.note) for source in sources if source.note),
        table(["of them", "count"], [[key, shown(value)] for key, value in trained.items() if key != "data"]),
        "## How it was trained",
        table(["setting", "value"], [[escaped(k.replace("_", " ")), shown(v)] for k, v in config.items()]),
        "## Figures",
    ]
    dev = (told.get("figures") or {}).get("dev") or {}
    if dev:
        parts.append("Of single steps on the dev questions that its weights were chosen on:")
        parts.append(table(["measure", "value"], [[escaped(k), f"{v:.3f}"] for k, v in dev.items()]))
    else:
        parts.append("It has not been measured.")
    parts += [
        "## Limits",
        "It learnt from elementary science in English, over one set of facts. A high score does not prove "
        "that a fact explains an answer; questions longer than it reads lose their beginning.",
        "## Licence",
        (
            "Not decided, so `license: other` is proposed. Who publishes it has to find out what its base "
            "and its data allow."
            if licence == OTHER
            else f"{code(str(licence))}."
        ),
        *(["## Citation", f"```bibtex\n{method.citation}\n```"] if method.citation else []),
    ]
    header = "\n".join(
        [
            "language: en",
            f"license: {licence}",
            "library_name: entail",
            "pipeline_tag: text-ranking",
            "tags:",
            *(f"- {tag}" for tag in ("cross-encoder", "explanation-regeneration", *method.tags)),
        ]
    )
    return f"---\n{header}\n---\n" + "\n\n".join(parts) + "\n"
