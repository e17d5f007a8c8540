"""The card of an encoder: `README.md` with a header that the Hub reads, the same bytes for the same folder.

All of it comes from the folder: from `entail.json` and from the names of its files. What a person adds (the
data's names, the figures of a result file, a licence) `remember` writes to `entail.json` first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from entail.cards import sections
from entail.cards.facts import Facts, read_facts, replace_text
from entail.cards.licences import OTHER
from entail.cards.markdown import code, escaped
from entail.cards.methods import method_text
from entail.cards.sources import TEAM, hub_id

CARD = "README.md"


def model_card(
    folder: Path, *, name: str | None = None, repo: str | None = None, beside: bool = False, also: str = ""
) -> str:
    """Return the card of an encoder as Markdown.

    Args:
        folder: The encoder's, with its `entail.json`.
        name: What to call it; default: as the folder is called.
        repo: Its Hub id, for the snippets; None for one that is only here.
        beside: Whether the programs stand beside the folder; else `models/` is below them.
        also: What else there is of it, a sentence of Markdown.

    Raises:
        EncoderError: If the folder is no encoder, or has no `entail.json`.
    """
    facts = read_facts(folder, name=name, repo=repo, beside=beside, also=also)
    parts = [
        "<!-- Made by `entail card` from entail.json; run it again instead of editing. -->",
        f"# {escaped(facts.repo or facts.name)}",
        *sections.about(facts),
        *sections.use(facts),
        *sections.data(facts),
        *sections.training(facts),
        *sections.figures(facts),
        *sections.limits(facts),
        *sections.licence(facts),
        *sections.citation(facts),
    ]
    return f"---\n{_header(facts)}\n---\n" + "\n\n".join(parts) + "\n"


def write_card(folder: Path, *, name: str | None = None) -> Path:
    """Write a folder's card to its `README.md`, in one move, and return where it is.

    Raises:
        EncoderError: If the folder is no encoder, has no `entail.json`, or cannot be written.
    """
    replace_text(folder / CARD, model_card(folder, name=name))
    return folder / CARD


def route_card(card: Path, name: str, route: str) -> str:
    """Return a short card of one route of an exported encoder, with the header of the encoder's own.

    Args:
        card: The encoder's card; what is not there gives no header.
        name: What the exported encoder is called.
        route: `query` or `premise`.
    """
    told = card.read_text(encoding="utf-8") if card.is_file() else ""
    header, end, _ = told.partition("\n---\n")
    header = f"{header}{end}\n" if end and header.startswith("---\n") else ""
    what = "claims (queries)" if route == "query" else "premises (documents)"
    return (
        f"{header}# {escaped(name)}, {route} route\n\nA plain model that encodes {what} as the {route} "
        f"route of {code(name)} does, whose card says what it is and what it cannot do. Its vectors are "
        "compared with those of the other route only. For servers that know no routes.\n"
    )


def _header(facts: Facts) -> str:
    from huggingface_hub import ModelCardData

    base = hub_id(facts.base) if facts.base else None
    adapter = facts.form == "adapter"
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "entailment"]
    before = method_text("tuning").tags if facts.told["tuned"] else ()
    known = _plain(source.name for source in facts.sources or () if source.name != TEAM)
    data = ModelCardData(
        language="en",
        license=facts.licence if _plain([facts.licence]) else OTHER,
        license_name="not-decided" if facts.licence == OTHER else None,
        base_model=base,
        base_model_relation=("adapter" if adapter else "finetune") if base else None,
        library_name="peft" if adapter else "sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=[
            *tags,
            *_plain([facts.method.name, *facts.method.tags, *before]),
            *(["lora"] if adapter else []),
        ],
        datasets=known or None,
    )
    return data.to_yaml(line_break="\n").rstrip()


def _plain(names: Iterable[str]) -> list[str]:
    """Return the names that can be a tag: a name from a file could end the header and begin another one."""
    return [name for name in names if re.fullmatch(r"[A-Za-z0-9][\w./-]*", name, re.ASCII)]
