"""Model cards and data set cards: `README.md` with a YAML header for the Hub.

A model card depends on the model's folder alone, so the same folder gives the same bytes everywhere. The
texts are in `card.md`, `data_card.md` and `project_card.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from entail.data.writing import write_text
from entail.training.cards.markdown import code, escaped, format_setting
from entail.training.cards.metadata import ModelFacts, card_text, read_facts
from entail.training.cards.sources import (
    OTHER,
    TEAM,
    contamination,
    data_source,
    hub_id,
    proposed_licence,
)

if TYPE_CHECKING:
    import jinja2
    from huggingface_hub import CardData

CARD = "README.md"


def model_card(
    folder: Path,
    *,
    name: str | None = None,
    repo: str | None = None,
    location: str | None = None,
) -> str:
    """Return the card of a model as Markdown.

    Args:
        folder: Folder of the model.
        name: Name of the model; default: the folder's.
        repo: Its Hub id, for the title and the examples; None for a local model.
        location: Path of a local model in the examples; default: `models/NAME`.

    Raises:
        EncoderError: If the folder is no model of this project, or its `entail.json` is malformed.
    """
    facts = read_facts(folder, name=name)
    names = [source.name for source in facts.sources]
    base = facts.base.licence if facts.base else facts.record.get("base_licence")
    licences = {"base": base, **({source.name: source.licence for source in facts.sources} or {"data": None})}
    of_base = data_source(hub_id(facts.base) or "").citation if facts.base else ""
    citations = [facts.text.citation, of_base, *(source.citation for source in facts.sources)]
    body = _render(
        "card.md",
        facts=facts,
        gaussian=facts.entry.gaussian if facts.entry else None,
        repo=repo,
        location=repo or location or f"models/{facts.name}",
        load_name=repo or location or facts.name,
        counts={key: value for key, value in facts.record["trained_on"].items() if key != "data" and value},
        settings=facts.config | {"base": facts.record.get("base_revision") or facts.config.get("base")},
        source_names=names,
        licences=[f"{key}: {value or 'unknown'}" for key, value in licences.items()],
        contamination=contamination(facts.base, names),
        citations=list(dict.fromkeys(filter(None, citations))),
    )
    return f"---\n{_header(facts)}\n---\n{body}"


def write_card(folder: Path, *, name: str | None = None, repo: str | None = None) -> Path:
    """Write a folder's card to its `README.md` atomically and return that file.

    Raises:
        EncoderError: If the folder is no model of this project.
        DataError: If it cannot be written: the old content remains.
    """
    write_text(folder / CARD, model_card(folder, name=name, repo=repo))
    return folder / CARD


def data_card(
    template: str,
    *,
    configs: Mapping[str, str],
    licence: str | None,
    corpus_licence: str,
    corpus: str,
    source: str,
    **facts: object,
) -> str:
    """Return the card of a team's trees as Markdown.

    Args:
        template: Name of the text.
        configs: Configuration of the data set -> its file; the first one is the default.
        licence: Decision of the publisher, None for a proposal.
        corpus_licence: Licence of the corpus, as entered with it.
        corpus: Name of the corpus.
        source: Source of the corpus, as entered with it.
        facts: Other variables of the text: Hub id, counts, whether authors are named.
    """
    from huggingface_hub import DatasetCardData

    proposed = licence or proposed_licence([corpus_licence.strip() or None])
    header = DatasetCardData(
        language="en",
        license=proposed,
        task_categories=["text-retrieval", "sentence-similarity"],
        tags=["entailment", "explanation"],
        configs=[
            {"config_name": name, "data_files": file} | ({} if at else {"default": True})
            for at, (name, file) in enumerate(configs.items())
        ],
    )
    terms = {"decided": licence, "licence": proposed, "corpus_licence": corpus_licence}
    body = _render(template, corpus=corpus, source=source, **terms, **facts)
    return f"---\n{_yaml(header)}\n---\n{body}"


def _header(facts: ModelFacts) -> str:
    """Return the YAML header, without the rules around it."""
    from huggingface_hub import EvalResult, ModelCardData

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
    data = _valid_names(source.name for source in facts.sources if source.name != TEAM)
    results = [
        EvalResult(
            task_type=pipeline,
            task_name=figure.task,
            dataset_type=re.sub(r"[^a-z0-9]+", "-", figure.data.partition(",")[0].lower()).strip("-"),
            dataset_name=figure.data,
            metric_type=figure.measure,
            metric_value=round(figure.value, 4),
        )
        for figure in facts.figures
    ]
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
            model_name=facts.name if facts.figures else None,
            eval_results=results or None,
        )
    )


def _yaml(data: CardData) -> str:
    return data.to_yaml(line_break="\n").rstrip()


def _valid_names(names: Iterable[str]) -> list[str]:
    """Return the names that are valid tags: another text could end the header."""
    return [name for name in names if re.fullmatch(r"[A-Za-z0-9][\w./-]*", name, re.ASCII)]


def _listed(settings: Mapping[str, object]) -> str:
    """Return settings as one line of Markdown."""
    return "; ".join(
        f"{escaped(name.replace('_', ' '))} {format_setting(value)}"
        for name, value in settings.items()
        if value not in (None, "")
    )


def _render(name: str, **values: object) -> str:
    body = _environment().get_template(name).render(values)
    parts = body.split("```")  # every second one is a program, which keeps its blank lines
    parts[::2] = [re.sub(r"\n{3,}", "\n\n", part) for part in parts[::2]]
    return "```".join(parts).strip() + "\n"


@cache
def _environment() -> jinja2.Environment:
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("entail.training", "cards")
    environment = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters |= {"escaped": escaped, "code": code, "shown": format_setting, "listed": _listed}
    return environment
