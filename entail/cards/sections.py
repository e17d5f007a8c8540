"""The sections of an encoder's card, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from entail.cards import gaussian, usage
from entail.cards.averaged import mean_of, shared_config
from entail.cards.facts import Facts
from entail.cards.licences import OTHER
from entail.cards.markdown import code, escaped, settings, shown, table
from entail.cards.measured import PROTOCOLS, Measured
from entail.cards.measured_pairs import MeasuredPairs, PairFigures
from entail.cards.measured_passages import MeasuredPassages
from entail.cards.methods import method_text
from entail.cards.sources import TEAM, base_citation

_MEASURES = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@50")
_COUNTS = {
    "queries": "queries",
    "positives": "premises that explain one",
    "negatives": "hard negatives by name",
    "triplets": "triplets of the three",
    "entailment_pairs": "entailment pairs",
    "with_contradiction": "triplets with a contradicted hypothesis",
    "unentailed": "neutral and contradictory pairs, of any premise",
    "sentences": "further sentences, which nobody judged",
    "missing": "gold premises that the corpus lacks, left out",
    "questions": "questions with a gold passage",
    "passages": "passages of the pool",
    "hard_negatives": "hard negatives of the questions, found by BM25 or given",
    "pairs": "pairs of a premise and a hypothesis that it entails",
    "premises_cut": "pairs whose premise was too long, cut at its end",
    "too_long": "pairs whose hypothesis was too long, left out",
}


def about(facts: Facts) -> Iterator[str]:
    """What it is, in a few sentences."""
    towers = {
        "siamese": "Claims and premises are encoded by the same weights.",
        "single": "Claims are encoded by the trained tower, premises by the untrained base: an index of the "
        "base's premise vectors stays valid.",
        "dual": "Claims and premises are encoded by a trained tower each.",
    }[facts.entry.towers]
    size = f"{facts.entry.dimension}-dimensional " if facts.entry.dimension else ""
    on = f" on {code(facts.base_place)}" if facts.base_place else ""
    kind = "an adapter" if facts.form == "adapter" else "a whole model"
    tuned = "It went on from what entailment tuning had made. " if facts.told["tuned"] else ""
    if facts.entry.gaussian is not None:
        made = gaussian.about_gaussians(facts.entry.gaussian, dimension=facts.entry.space_dimension)
        by = f"{escaped(facts.method.title)}{on}"
        yield (
            f"A sentence encoder trained by {by}: it {facts.method.idea}. {made} "
            f"It is {kind} that any user of sentence-transformers can load."
        )
        return
    yield (
        f"A sentence encoder trained by {escaped(facts.method.title)}{on}: it {facts.method.idea}, by the "
        f"cosine of {size}vectors. {towers} {tuned}"
        f"It is {kind} that any user of sentence-transformers can load."
    )


def use(facts: Facts) -> Iterator[str]:
    """Programs that use it."""
    yield "## How to use it"
    yield "With `entail`:"
    place = facts.place if facts.repo or facts.beside else facts.name
    form = facts.entry.gaussian
    yield f"```python\n{usage.entail_usage(place) if form is None else gaussian.entail_usage(place)}```"
    needs = "`sentence-transformers` and `peft`" if facts.form == "adapter" else "`sentence-transformers`"
    yield f"With {needs} alone:"
    if form is not None:
        base = facts.base_place if facts.form == "adapter" else None
        plain = gaussian.plain_usage(facts.place, form, base=base, on_hub=facts.repo is not None)
    else:
        plain = usage.plain_usage(
            facts.place,
            form=facts.form,
            towers=facts.entry.towers,
            base=facts.base_place,
            on_hub=facts.repo is not None,
        )
    yield f"```python\n{plain}```"
    if facts.also:
        yield facts.also


def data(facts: Facts) -> Iterator[str]:
    """What it learnt from, with counts."""
    yield "## What it learnt from"
    if facts.sources is None:
        yield "Nobody said which data this encoder learnt from."
    else:
        yield "\n".join(f"- {escaped(source.about)}" for source in facts.sources)
    told = facts.told["trained_on"]
    rows = [[words, shown(told[name])] for name, words in _COUNTS.items() if told.get(name)]
    if told.get("teachers"):
        rows.append(["teachers of those sentences", shown(told["teachers"])])
    if rows:
        yield table(["of them", "count"], rows)


def training(facts: Facts) -> Iterator[str]:
    """What is to be known of it, loss and settings."""
    averaged = facts.told["averaged"]
    config = facts.told["config"] or shared_config(averaged)
    if not config and not averaged and not facts.notes:
        return
    yield "## How it was trained"
    yield from map(escaped, facts.notes)
    if not config and not averaged:
        return
    base = facts.told.get("base_revision")
    rows = [["base, revision", code(str(base))]] if base else []
    loss = facts.method.losses.get(str(config.get("loss")))
    if loss:
        rows.append(["loss in full", code(loss)])
    rows += settings(facts.method.used(config))
    epoch = facts.told["figures"].get("epoch")
    if epoch is not None:
        rows.append(["epoch whose weights were kept", shown(epoch)])
    yield table(["setting", "value"], rows, numbers_from=2)
    yield from _first_stage(facts)
    if said := mean_of(averaged):
        yield said


def _first_stage(facts: Facts) -> Iterator[str]:
    """What it went on from, where that was trained, too."""
    tuned = facts.told["tuned"]
    if not tuned:
        return
    first = method_text("tuning")
    yield (
        f"That is its second stage. It went on from {code(str(tuned.get('revision')))}, which "
        f"{first.title.lower()} had made: an encoder that learnt to predict masked words of claims from the "
        "passages that entail them, with these settings:"
    )
    rows = settings(first.used(tuned.get("config") or {}))
    yield table(["setting of the first stage", "value"], rows, numbers_from=2)


def figures(facts: Facts) -> Iterator[str]:
    """What was measured of it and of its base."""
    yield "## Figures"
    for pairs in facts.measured_pairs:
        yield from _measured_pairs(pairs)
    for passages in facts.measured_passages:
        yield from _measured_passages(passages, base=facts.base_place)
    if not facts.measured and (facts.measured_pairs or facts.measured_passages):
        return
    if not facts.measured:
        dev = facts.told["figures"].get("dev") or {}
        if not dev:
            yield "It has not been measured."
            return
        on = "pairs" if facts.entry.gaussian else facts.method.judged_on
        yield f"Measured while it was trained, on the {on} that its weights were chosen on:"
        yield table(["measure", "value"], [[escaped(name), _number(dev[name])] for name in dev])
        return
    yield (
        "Each parent of the trees is a query, ranked against the whole corpus; its children are to be found. "
        "MAP and NDCG are means over queries, Hit@k is found pairs / all pairs."
    )
    for measured in facts.measured:
        yield from _measured(measured, base=facts.base_place)


def _measured_pairs(measured: MeasuredPairs) -> Iterator[str]:
    yield f"### {escaped(measured.source)}"
    head = ["pairs", "count", "accuracy", "95 % interval"]
    nli = [one for one in measured.sets if one.question == "nli"]
    if nli:
        yield (
            "Whether a premise entails its hypothesis, neutral and contradiction being one class, at the "
            "threshold stored with the encoder:"
        )
        rows = [[*_shares(one), _number(one.auprc), _number(one.baseline)] for one in nli]
        yield table([*head, "AUPRC", "majority class"], rows)
    directions = [one for one in measured.sets if one.question == "direction"]
    if directions:
        yield (
            "Which of two sentences entails the other, over the entailment pairs. The length baseline takes "
            "the longer sentence; where the longer one is the entailed one it is always wrong:"
        )
        rows = [[*_shares(one), _number(one.baseline), _longer(one)] for one in directions]
        yield table([*head, "length baseline", "where the longer is entailed"], rows)
    yield from _about_measurement(measured.about)


def _measured_passages(measured: MeasuredPassages, *, base: str | None) -> Iterator[str]:
    yield f"### {escaped(measured.source)}"
    yield (
        f"{measured.questions:,} questions, each looked up among {measured.passages:,} passages. R@k is the "
        "share with a hit among the first k, MRR the mean of 1 / rank of the first hit. A hit is the "
        "annotated passage, or, where that is said, any passage that holds an answer."
        + (f" Vectors were computed in {code(measured.precision)}." if measured.precision else "")
    )
    columns = {
        "BM25": measured.words,
        f"untrained base, {code(base or 'base')}": measured.base,
        "the same training without tuning before it": measured.untuned,
        "this encoder": measured.gold,
        "this encoder, by answer": measured.answer,
    }
    there = {title: figures for title, figures in columns.items() if figures}
    names = list(dict.fromkeys(name for figures in there.values() for name in figures))
    rows = [[escaped(name), *(_number(figures.get(name)) for figures in there.values())] for name in names]
    yield table(["measure", *there], rows)
    if measured.untuned:
        yield _worth_of_tuning(measured)
    yield from _about_measurement(measured.about)


def _worth_of_tuning(measured: MeasuredPassages) -> str:
    """Say whether the first stage brought anything, measure by measure."""
    with_it, without = measured.gold, measured.untuned
    both = [name for name in with_it if name in without]
    lost = [name for name in both if with_it[name] < without[name]]
    won = [name for name in both if with_it[name] > without[name]]
    told = ", ".join(
        f"{name} {_number(with_it[name])} with it and {_number(without[name])} without" for name in both[:1]
    )
    said = {
        (True, False): "Entailment tuning cost more than it brought: the second stage alone measured better",
        (False, True): "Entailment tuning paid: the second stage alone measured worse",
    }.get((bool(lost), bool(won)), "Whether the second stage alone is better depends on the measure")
    return f"{said} ({told}; of the same questions, hard negatives, steps and seed)."


def _shares(figures: PairFigures) -> list[str]:
    interval = " to ".join(map(_number, figures.interval)) if figures.interval else "-"
    return [escaped(figures.data), f"{figures.n:,}", _number(figures.accuracy), interval]


def _longer(figures: PairFigures) -> str:
    return f"{_number(figures.longer[0])} (of {figures.longer[1]:,})" if figures.longer else "-"


def _measured(measured: Measured, *, base: str | None) -> Iterator[str]:
    yield f"### {escaped(measured.source)}"
    counts = {
        "trees": measured.trees,
        "queries": measured.queries,
        "pairs": measured.pairs,
        "candidate premises": measured.premises,
    }
    yield ", ".join(f"{value:,} {what}" for what, value in counts.items() if value is not None) + "."
    sides = {f"untrained base, {code(base or 'base')}": measured.base, "this encoder": measured.encoder}
    columns = [
        (f"{who}: {words}", figures.get(protocol) or {})
        for protocol, words in PROTOCOLS.items()
        for who, figures in sides.items()
        if figures
    ]
    rows = [[name, *(_number(values.get(name)) for _, values in columns)] for name in _MEASURES]
    yield table(["measure", *(title for title, _ in columns)], rows)
    if measured.unseen is not None and measured.queries:
        yield _seen(measured, measured.queries - measured.unseen)
    ours, theirs = measured.reads
    if ours is not None:
        against = f", with the base {theirs:.1f}" if theirs is not None else ""
        yield f"A simulated author reads {ours:.1f} candidates for each premise accepted{against}."
    yield from _about_measurement(measured.about)


def _seen(measured: Measured, seen: int) -> str:
    of = f"{seen:,} of these queries stand in what it was trained on, too: it knows them by heart."
    maps = {
        words: measured.encoder_unseen[protocol]["MAP"]
        for protocol, words in PROTOCOLS.items()
        if "MAP" in measured.encoder_unseen.get(protocol, {})
    }
    if not maps:
        return of
    told = ", ".join(f"{_number(value)} ({words})" for words, value in maps.items())
    return f"{of} On the other {measured.unseen:,} its MAP is {told}."


def _about_measurement(about: Mapping[str, Any]) -> Iterator[str]:
    hardware = about.get("hardware") or {}
    parts = [
        f"commit {code(str(about['commit']))}" if about.get("commit") else "",
        f"seed {shown(about['seed'])}" if about.get("seed") is not None else "",
        escaped(f"{hardware.get('cpu')}, {hardware.get('cores')} cores") if hardware else "",
        escaped(f"GPU: {', '.join(hardware['gpus'])}") if hardware.get("gpus") else "",
    ]
    if any(parts):
        yield f"Measured with {', '.join(filter(None, parts))}:"
    if about.get("command"):
        yield f"```\n{' '.join(str(about['command']).split()).replace('```', '')}\n```"


def limits(facts: Facts) -> Iterator[str]:
    """What it cannot do."""
    yield "## Limits"
    lines = [
        "A score is a similarity. It proves nothing: a high one does not say that a premise entails the "
        "claim, nor a low one that it does not.",
        "English, sentences of some tens of words; longer texts are cut.",
    ]
    names = {source.name for source in facts.sources or ()}
    if "entailment_bank" in names:
        lines.append(
            "It learnt from elementary science, ranked against one corpus of facts. On other subjects, and "
            "against other corpora, it may do worse than its base: measure it there first."
        )
    if TEAM in names:
        lines.append(
            "It learnt what one team decided over its own corpus, mistakes and habits included, from lists "
            "that an encoder had made; elsewhere it may do worse than its base."
        )
    yield "\n".join(f"- {line}" for line in lines)


def licence(facts: Facts) -> Iterator[str]:
    """What may be done with it, and why."""
    yield "## Licence"
    terms = [f"the base: {facts.base.licence if facts.base and facts.base.licence else 'unknown'}"]
    terms += [f"{source.name}: {source.licence or 'unknown'}" for source in facts.sources or ()]
    if facts.sources is None:
        terms.append("the data: unknown")
    known = escaped("; ".join(terms))
    if facts.told.get("licence_by") == "publisher":
        yield f"{code(facts.licence)}, as its publisher decided. What it was made from: {known}."
    elif facts.licence == OTHER:
        yield (
            f"Not decided, so `license: other` is proposed. What it was made from: {known}. Who publishes it "
            "has to find out what these allow, and to say so here."
        )
    else:
        yield f"{code(facts.licence)}, the strictest licence of what it was made from: {known}."
    for source in facts.sources or ():
        if source.note:
            yield escaped(source.note)


def citation(facts: Facts) -> Iterator[str]:
    """Whom to cite, as BibTeX."""
    entries = [
        facts.method.citation,
        base_citation(facts.base) if facts.base else "",
        *(source.citation for source in facts.sources or ()),
    ]
    given = list(dict.fromkeys(filter(None, entries)))
    if given:
        yield "## Citation"
        yield "```bibtex\n" + "\n\n".join(given) + "\n```"


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) else "-"
