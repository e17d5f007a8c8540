"""Model cards and data set cards: `README.md` with a YAML header for the Hub.

A model card depends on the model's folder alone, so the same folder gives the same bytes everywhere. The
texts are in `card.md`, its figures in `figures.md`, and `data_card.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.training.cards import markdown
from entail.training.cards.markdown import code, escaped, format_setting
from entail.training.cards.metadata import ModelFacts, card_text, effective_config, read_facts, replace_text
from entail.training.cards.metrics import PROTOCOLS
from entail.training.cards.sources import (
    OTHER,
    TEAM,
    base_citation,
    contamination,
    hub_id,
    proposed_licence,
)

if TYPE_CHECKING:
    import jinja2

CARD = "README.md"

_COUNTS = {
    "queries": "queries",
    "positives": "premises that explain a query",
    "negatives": "hard negatives, named or rejected",
    "triplets": "triplets of query, premise and hard negative",
    "entailment_pairs": "entailment pairs",
    "with_contradiction": "triplets with a contradicted hypothesis",
    "unentailed": "neutral and contradictory pairs, of any premise",
    "sentences": "further sentences, unlabelled",
    "missing": "gold premises that the corpus lacks, left out",
    "questions": "questions with a gold passage",
    "passages": "passages of the pool",
    "hard_negatives": "hard negatives of the questions, found by BM25 or given",
    "pairs": "pairs of a premise and an entailed hypothesis",
    "premises_cut": "pairs whose premise was truncated",
    "too_long": "pairs whose hypothesis was too long, left out",
}


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """Facts of a data set card: names, origin and licences, and counts.

    Attributes:
        repo: Its Hub id.
        corpus: Name of the corpus below the trees.
        source: Origin of the corpus, as entered with it.
        corpus_licence: Licence of the corpus, as entered with it.
        licence: Decision of the publisher; None for a proposal.
        pairs: Number of edges of all trees.
        named: Whether the authors' names are included.
    """

    repo: str
    corpus: str
    source: str = ""
    corpus_licence: str = ""
    licence: str | None = None
    trees: int
    pairs: int
    accepted: int
    rejected: int
    authors: int
    named: bool = False


def model_card(
    folder: Path,
    *,
    name: str | None = None,
    repo: str | None = None,
    location: str | None = None,
    extra: str = "",
) -> str:
    """Return the card of a model as Markdown.

    Args:
        folder: Folder of the model.
        name: Name of the model; default: the folder's.
        repo: Its Hub id, for the title and the examples; None for a local model.
        location: Path of a local model in the examples; default: `models/NAME`.
        extra: Paragraph below the examples, as Markdown.

    Raises:
        EncoderError: If the folder is no model of this project, or its `entail.json` is malformed.
    """
    facts = read_facts(folder, name=name)
    record = facts.record
    gaussian = facts.entry.gaussian if facts.entry else None
    body = _render(
        "card.md",
        facts=facts,
        gaussian=gaussian,
        repo=repo,
        location=repo or location or f"models/{facts.name}",
        load_name=repo or location or facts.name,
        extra=extra,
        base=code(facts.base_name or "base"),
        counts=_counts(facts),
        settings=_settings(facts),
        tuned_settings=markdown.settings(effective_config("tuning", record["tuned"].get("config") or {})),
        dev=[
            [escaped(key), markdown.number(value)]
            for key, value in (record["figures"].get("dev") or {}).items()
        ],
        stored=[
            {
                "caption": table["caption"],
                "table": markdown.table(
                    table["head"],
                    [[code(str(name)), *map(markdown.number, rest)] for name, *rest in table["rows"]],
                ),
            }
            for table in record["figures"].get("tables") or ()
        ],
        source_names=[source.name for source in facts.sources or ()],
        licences=_licences(facts),
        contamination=contamination(facts.base, (source.name for source in facts.sources or ())),
        citations=_citations(facts),
    )
    return f"---\n{_header(facts)}\n---\n{body}"


def write_card(folder: Path, *, name: str | None = None, repo: str | None = None) -> Path:
    """Write a folder's card to its `README.md` atomically and return that file.

    Raises:
        EncoderError: If the folder is no model of this project or cannot be written.
    """
    replace_text(folder / CARD, model_card(folder, name=name, repo=repo))
    return folder / CARD


def route_card(card: Path, name: str, route: str) -> str:
    """Return a short card of a route, `query` or `premise`, with the header of the whole encoder's card."""
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    header, end, _ = text.partition("\n---\n")
    header = f"{header}{end}\n" if end and header.startswith("---\n") else ""
    content = "claims (queries)" if route == "query" else "premises (documents)"
    return (
        f"{header}# {escaped(name)}, {route} route\n\nA plain model that encodes {content} like the {route} "
        f"route of {code(name)}; see its card for training, figures and limitations. Compare its vectors "
        "with those of the other route only. For servers without support for routes.\n"
    )


def data_card(facts: DataFacts) -> str:
    """Return the card of a data set as Markdown."""
    from huggingface_hub import DatasetCardData

    licence = facts.licence or proposed_licence([facts.corpus_licence.strip() or None])
    header = DatasetCardData(
        language="en",
        license=licence,
        task_categories=["text-retrieval", "sentence-similarity"],
        tags=["entailment", "explanation"],
        configs=[
            {"config_name": "trees", "data_files": "trees.jsonl"},
            {"config_name": "pairs", "data_files": "pairs.csv"},
            {"config_name": "judged", "data_files": "judged.csv", "default": True},
        ],
    )
    body = _render("data_card.md", facts=facts, licence=licence)
    return f"---\n{_yaml(header)}\n---\n{body}"


def _header(facts: ModelFacts) -> str:
    """Return the YAML header, without the rules around it."""
    from huggingface_hub import ModelCardData

    base = hub_id(facts.base) if facts.base else None
    if facts.cross is not None:
        library, pipeline, tags = "entail", facts.cross.pipeline_tag, ["cross-encoder", *facts.cross.tags]
    else:
        library = "peft" if facts.is_adapter else "sentence-transformers"
        pipeline = "sentence-similarity"
        tags = ["sentence-transformers", pipeline, "feature-extraction", "entailment"]
    tuning = card_text("tuning").tags if facts.record["tuned"] else ()
    tags += _valid_names([str(facts.record.get("method") or ""), *facts.text.tags, *tuning])
    if facts.is_adapter:
        tags.append("lora")
    data = _valid_names(source.name for source in facts.sources or () if source.name != TEAM)
    return _yaml(
        ModelCardData(
            language="en",
            license=facts.licence if _valid_names([facts.licence]) else OTHER,
            license_name="not-decided" if facts.licence == OTHER else None,
            base_model=base,
            base_model_relation=("adapter" if facts.is_adapter else "finetune") if base else None,
            library_name=library,
            pipeline_tag=pipeline,
            tags=list(dict.fromkeys(tags)),
            datasets=data or None,
        )
    )


def _yaml(data: Any) -> str:  # noqa: ANN401 - the two kinds of CardData
    text: str = data.to_yaml(line_break="\n")
    return text.rstrip()


def _valid_names(names: Iterable[str]) -> list[str]:
    """Return the names that are valid tags: another text could end the header."""
    return [name for name in names if re.fullmatch(r"[A-Za-z0-9][\w./-]*", name, re.ASCII)]


def _counts(facts: ModelFacts) -> list[list[str]]:
    trained = facts.record["trained_on"]
    if facts.cross is not None:
        return [[escaped(key), format_setting(value)] for key, value in trained.items() if key != "data"]
    rows = [[words, format_setting(trained[key])] for key, words in _COUNTS.items() if trained.get(key)]
    if trained.get("teachers"):
        rows.append(["teachers of those sentences", format_setting(trained["teachers"])])
    return rows


def _settings(facts: ModelFacts) -> list[list[str]]:
    config = facts.config
    if not config:
        return []
    revision, loss = facts.record.get("base_revision"), facts.text.losses.get(str(config.get("loss")))
    epoch = facts.record["figures"].get("epoch")
    return [
        *([["base, revision", code(str(revision))]] if revision else []),
        *([["loss function", code(loss)]] if loss else []),
        *markdown.settings(config),
        *([["epoch of the checkpoint", format_setting(epoch)]] if epoch is not None else []),
    ]


def _licences(facts: ModelFacts) -> list[str]:
    base = facts.base.licence if facts.base else facts.record.get("base_licence")
    data = (
        {"data": None} if facts.sources is None else {source.name: source.licence for source in facts.sources}
    )
    return [f"{name}: {licence or 'unknown'}" for name, licence in {"base": base, **data}.items()]


def _citations(facts: ModelFacts) -> list[str]:
    base = base_citation(facts.base) if facts.base else ""
    entries = [facts.text.citation, base, *(source.citation for source in facts.sources or ())]
    return list(dict.fromkeys(filter(None, entries)))


def _render(name: str, **values: object) -> str:
    body = _environment().get_template(name).render(values)
    parts = body.split("```")  # every second one is a program, which keeps its blank lines
    parts[::2] = [re.sub(r"\n{3,}", "\n\n", part) for part in parts[::2]]
    return "```".join(parts).strip() + "\n"


@cache
def _environment() -> jinja2.Environment:
    from jinja2 import Environment, FunctionLoader

    folder = files(__package__)
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
    )
    environment.filters |= {"escaped": escaped, "code": code, "shown": format_setting}
    environment.filters |= {"number": markdown.number, "spread": markdown.spread}
    environment.globals |= {"table": markdown.table, "measures": markdown.measures, "protocols": PROTOCOLS}
    return environment
