"""The card of a cross-encoder that was trained here: its `README.md`, all of it made from `entail.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.cards.averaged import mean_of, shared_config
from entail.cards.licences import OTHER, proposed_licence
from entail.cards.markdown import code, escaped, settings, shown, table
from entail.cards.methods import method_text
from entail.cards.sources import data_source
from entail.encoders.cross import ADAPTER, HEAD, WHOLE


@dataclass(frozen=True, kw_only=True)
class CrossEncoderWords:
    """What the card of one kind of cross-encoder says that no other does.

    Attributes:
        kind: What people call it: scorer, judge.
        reads: What it reads and what it makes of that, one sentence or more.
        use: A program for a shell.
        figures: What the figures of dev were taken on, a sentence that ends in a colon.
        limits: What it is not good for.
        pipeline: As the Hub calls what it does.
        tags: Of the Hub, beside those of the method.
        measured: What else was measured of it, a paragraph each.
        idea: What it does, where it is a baseline of the method; default: what the method does.
    """

    kind: str
    reads: Sequence[str]
    use: str
    figures: str
    limits: str
    pipeline: str
    tags: Sequence[str]
    measured: Sequence[str] = ()
    idea: str = ""


def read_told(folder: Path) -> dict[str, Any]:
    """Return what a folder's `entail.json` says."""
    told: dict[str, Any] = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    return told


def cross_encoder_card(
    told: Mapping[str, Any], words: CrossEncoderWords, *, name: str, repo: str | None = None
) -> str:
    """Return the card as Markdown, the same text for the same `entail.json`.

    Args:
        told: What `entail.json` says.
        words: What this kind says of itself.
        name: What to call it.
        repo: Its Hub id; None for one that is only here.
    """
    trained, averaged = told.get("trained_on") or {}, told.get("averaged") or {}
    config = told.get("config") or shared_config(averaged)
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
    first, *others = words.reads
    use = f"entail pull {repo}\n{words.use}" if repo else words.use
    parts = [
        "<!-- Made by `entail card` from entail.json; run it again instead of editing. -->",
        f"# {escaped(repo or name)}",
        f"{method.title}: it {words.idea or method.idea}. A cross-encoder, {what}: {first}",
        *others,
        "## Use",
        f"```sh\n{use}\n```",
        "## What it learnt from",
        "\n".join(f"- {escaped(source.about)}" for source in sources)
        or f"Nobody said which data this {words.kind} learnt from.",
        *(escaped(source.note) for source in sources if source.note),
        table(["of them", "count"], [[key, shown(value)] for key, value in trained.items() if key != "data"]),
        "## How it was trained",
        table(["setting", "value"], settings(method.used(config))),
        *([mean_of(averaged)] if averaged else []),
        "## Figures",
    ]
    dev = (told.get("figures") or {}).get("dev") or {}
    if dev:
        parts.append(words.figures)
        parts.append(table(["measure", "value"], [[escaped(k), f"{v:.3f}"] for k, v in dev.items()]))
    elif not words.measured:
        parts.append("It has not been measured.")
    parts += [
        *words.measured,
        "## Limits",
        words.limits,
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
            f"pipeline_tag: {words.pipeline}",
            "tags:",
            *(f"- {tag}" for tag in dict.fromkeys(("cross-encoder", *words.tags, *method.tags))),
        ]
    )
    return f"---\n{header}\n---\n" + "\n\n".join(parts) + "\n"
