"""``entail evaluate ...``: premises, nli, chains and passages."""

from __future__ import annotations

from collections.abc import Container, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, describe, progress_bar
from entail.cli.options import Device, Limit, Out, active_or_packaged
from entail.cli.rank import MaxLength, MinLength, ScorerName, Visible, make_ranker
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.nli.pairs import NliReading
    from entail.evaluation.retrieval.premises import PremiseEvaluation

app = typer.Typer(name="evaluate", help="Evaluate retrievers, encoders, scorers and judges.")


@command(app)
def premises(
    corpus: Annotated[Path, "Premises: txt, csv, tsv, xlsx, jsonl or json; may be gzipped."],
    trees: Annotated[Path, "Reference trees: EntailmentBank JSONL; may be gzipped."],
    retriever: Annotated[
        list[str] | None,
        "Retriever: tfidf, bm25, minilm, a folder under models/, a Hub id, or a hybrid NAME+bm25, each also "
        "followed by +RERANKER. Repeat to compare others with the first.  [default: minilm]",
        "NAME",
    ] = None,
    effort: Annotated[bool, "Also measure candidates read per accepted premise."] = True,
    bias: Annotated[
        bool,
        "Also measure the similarity bias of encoders (Figure 3 of the AE-Enc paper); the first one labels "
        "the pairs.",
    ] = False,
    encoding: Annotated[str | None, "Encoding of the corpus: cp1252, cp932 (Shift-JIS) ...", "NAME"] = None,
    column: Annotated[str | None, "Column of the corpus that holds the texts.", "NAME"] = None,
    limit: Limit = None,
    out: Out = None,
) -> Report:
    """Evaluate the retrieval of every parent's children.

    Each parent of the trees is a query over the whole corpus. The protocol `paper` keeps the query's own text
    among the candidates, `query_excluded` removes it. `unseen` are queries that a model was not trained on.

    Further retrievers are compared with the first, query by query: difference, 95 % bootstrap interval over
    queries, and p-value of a paired randomisation test.
    """
    from entail.aeenc.bias import bias as measure_bias
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees
    from entail.encoders.training_queries import training_queries_of
    from entail.evaluation.retrieval.effort import measure_effort
    from entail.evaluation.retrieval.premises import compare_evaluations, evaluate_premises
    from entail.index.factory import retriever as make_retriever
    from entail.statistics.paired import SAMPLES, SEED
    from entail.statistics.ranking import LEVEL

    reading = read_corpus(corpus, column=column, encoding=encoding)
    candidates = reading.corpus
    gold = list(read_trees(trees))[:limit]
    with progress_bar() as progress:
        names = retriever or ["minilm"]
        indexes = [make_retriever(name, candidates, progress=progress) for name in names]
        analysis = measure_bias(candidates, gold, indexes, progress=progress).to_json() if bias else None
        evaluations = [evaluate_premises(candidates, gold, index, progress=progress) for index in indexes]
        measured: list[dict[str, Any]] = []
        rows: list[dict[str, Any]] = []
        for name, index, evaluation in zip(names, indexes, evaluations, strict=True):
            data = {**evaluation.to_json(), "trees": len(gold)}
            trained = training_queries_of(name, evaluation.queries)
            unseen = frozenset(evaluation.queries) - trained
            if trained:
                data["unseen"] = {"queries": len(unseen), **(evaluation.figures(unseen) if unseen else {})}
            rows += _premise_rows(evaluation, evaluations[0], unseen, trees.name)
            if effort:
                data["effort"] = measure_effort(candidates, gold, index, progress=progress).to_json()
            measured.append(data)
    report, *further = measured
    for other, evaluation in zip(further, evaluations[1:], strict=True):
        other["against_first"] = {
            protocol: {name: figure.paired.to_json() for name, figure in figures.items()}
            for protocol, figures in compare_evaluations(evaluations[0], evaluation).items()
        }
    if further:
        report |= {"comparison": {"level": LEVEL, "samples": SAMPLES, "seed": SEED}, "others": further}
    report |= {"reading": str(reading), "measured": rows}
    if analysis is not None:
        report["bias"] = analysis
    further_measures = evaluations[0].figures()["paper"].keys() - {"MAP", "NDCG", "MRR", "Hit@10", "Hit@50"}
    text = describe(_select(report, {"manifest", "measured", *further_measures}))
    return Report(data=report, text=text, out=out, seed=SEED if further else None)


def _select(value: Any, left_out: Container[str]) -> Any:
    """Return JSON without some names of mappings."""
    if isinstance(value, list):
        return [_select(part, left_out) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: _select(part, left_out) for name, part in value.items() if name not in left_out}


def _premise_rows(
    evaluation: PremiseEvaluation, first: PremiseEvaluation, queries: Set[str], trees: str
) -> list[dict[str, Any]]:
    """Return the figures for the card of an encoder, over queries that it was not trained on."""
    from entail.training.cards.figures import Figure, result_rows

    if not queries:
        return []
    values = evaluation.figures(queries)["query_excluded"]
    rival = first.figures(queries)["query_excluded"]
    return result_rows(
        evaluation.manifest.revision,
        *(
            Figure(
                task="premises",
                data=f"{trees}, {len(queries):,} queries, {evaluation.manifest.count:,} premises",
                measure=name,
                value=values[name],
                rival="" if evaluation is first else first.retriever,
                rival_value=None if evaluation is first else rival[name],
            )
            for name in ("MAP", "NDCG", "Hit@10", "Hit@50")
        ),
    )


@command(app)
def nli(
    data: Annotated[
        str,
        "SNLI, MultiNLI or SICK as released; CSV or TSV with premise, hypothesis and label; or the "
        "name of a Hub data set. Files may be gzipped.",
        "FILE",
    ],
    encoder: Annotated[
        str | None,
        "Encoder: minilm, a folder under models/, or a Hub id; default: the active direction model.",
        "NAME",
    ] = None,
    judge: Annotated[
        str | None, "Instead of an encoder: a judge such as nli-minilm, on all labels.", "NAME"
    ] = None,
    direction: Annotated[
        bool, "Instead of entailment: which sentence of an entailment pair entails the other."
    ] = False,
    split: Annotated[str | None, "Split of the file or data set: TRAIN, TRIAL, test ...", "SPLIT"] = None,
    dev: Annotated[str | None, "Fit the threshold of the encoder on this file.", "FILE"] = None,
    dev_split: Annotated[str | None, "Split of the dev file.", "SPLIT"] = None,
    out: Out = None,
) -> Report:
    """Evaluate an encoder, or a judge, on labelled pairs; rows with other labels are skipped and counted.

    Data of two classes, such as HANS and RTE, take neutral and contradiction as one.

    Of an encoder: entailment against the rest. Without a threshold, its own or one fitted on dev, the best
    one on the evaluated pairs is used, which is optimistic; `threshold_from` is `data` then.

    With --direction: pairs of SICK that entail both ways are told from the others in a row of their own. The
    length baseline says that the longer sentence entails; it is always wrong on pairs where the longer one is
    entailed.
    """
    from entail.evaluation.nli.sources import load_nli
    from entail.training.cards.figures import Figure, result_rows

    if sum([judge is not None, direction, dev is not None]) > 1 or (judge and encoder):
        raise SettingsError("expected one of --judge, --direction and --dev, and no encoder with --judge")
    reading = load_nli(data, split=split)
    if judge is not None:
        figures = _judge(reading, judge)
    else:
        name = encoder or active_or_packaged("direction")
        pairs = load_nli(dev, split=dev_split) if dev else None
        figures = _direction(reading, name) if direction else _entailment(reading, name, pairs)
    figures |= {"split": split, "data": reading.to_json()}
    rival = ("length baseline", "length_baseline") if direction else ("majority class", "majority")
    figures["measured"] = result_rows(
        figures["revision"],
        Figure(
            task="direction" if direction else "entailment",
            data=f"{reading.source}, {figures['n']:,} pairs",
            measure="accuracy",
            value=figures["accuracy"],
            interval=figures["interval"],
            rival=rival[0],
            rival_value=figures[rival[1]],
        ),
    )
    return Report(data=figures, out=out)


def _entailment(reading: NliReading, name: str, dev: NliReading | None) -> dict[str, Any]:
    from entail.evaluation.nli.decisions import evaluate_nli, pair_encoder

    pairs = dev.pairs if dev else None
    with progress_bar() as progress:
        evaluation = evaluate_nli(reading.pairs, pair_encoder(name), dev=pairs, progress=progress)
    return {**evaluation.to_json(), "dev": dev.to_json() if dev else None}


def _direction(reading: NliReading, name: str) -> dict[str, Any]:
    from entail.evaluation.nli.decisions import evaluate_direction, pair_encoder

    with progress_bar() as progress:
        return evaluate_direction(reading.pairs, pair_encoder(name), progress=progress).to_json()


def _judge(reading: NliReading, name: str) -> dict[str, Any]:
    from entail.judge.judges import NliJudge, evaluate_judge

    judge = NliJudge(name)
    with progress_bar() as progress:
        figures = evaluate_judge(reading.pairs, judge, progress=progress).to_json()
    return {"judge": judge.name, "revision": judge.revision, **figures}


@command(app)
def chains(
    tables: Annotated[Path, "Folder of fact tables, as released.", "DIR"],
    questions: Annotated[Path, "Questions with explanations, as released 2019 or 2020."],
    scorer: ScorerName = None,
    k: Visible = 60,
    length: MaxLength = 9,
    min_length: MinLength = 3,
    limit: Limit = None,
    device: Device = None,
    out: Annotated[
        Path | None,
        "Also write the figures to a result file; `entail card FOLDER --results FILE` puts them on "
        "the scorer's card, which `entail promote` compares.",
    ] = None,
) -> Report:
    """Evaluate rankings of facts by MAP, as in the TextGraphs shared tasks of 2019 and 2020."""
    import numpy as np

    from entail.data.worldtree.questions import read_questions
    from entail.data.worldtree.tables import read_fact_tables
    from entail.evaluation.chains import digest_of, evaluate_chains, with_gold
    from entail.training.cards.figures import Figure, result_rows

    facts, reading = read_fact_tables(tables), read_questions(questions)
    selected = reading.usable[:limit]
    measured = with_gold(selected)
    with progress_bar() as progress:
        search = {"k": k, "length": length, "min_length": min_length}
        rank, settings = make_ranker(facts, scorer, **search, device=device, progress=progress)
        ranked = list(rank(measured))
    rankings = {entry.question.id: entry.ranking for entry in ranked}
    none = np.empty(0, dtype=np.int64)
    evaluation = evaluate_chains(selected, facts, [rankings.get(question.id, none) for question in selected])
    lengths = [len(entry.chain.facts) for entry in ranked if entry.chain is not None]
    figures: dict[str, Any] = {
        **evaluation.to_json(),
        "release": reading.release,
        "source": reading.source,
        "facts": len(facts),
        "digest": digest_of(measured, facts),
        "settings": settings,
        "chain_length": sum(lengths) / len(lengths) if lengths else None,
        "problems": [*facts.problems, *reading.problems],
        "warnings": list(reading.warnings),
        "truncated": sum(entry.dropped != 0 for entry in ranked),
    }
    # What the ranking depends on next to scorer and speed.
    conditions = [f"{name} {settings.get(name)}" for name in ("k", "length", "least")]
    figures["measured"] = result_rows(
        settings.get("scorer"),
        Figure(
            task="chains",
            data=", ".join(
                [f"{reading.source} ({figures['digest']})", f"{len(measured):,} questions", *conditions]
            ),
            measure="MAP",
            value=evaluation.map,
            interval=figures["interval"],
        ),
    )
    return Report(data=figures, out=out)


@command(app)
def passages(
    passages: Annotated[
        list[Path],
        "The pool: SQuAD JSON, DPR JSON or psgs_w100.tsv, MS MARCO's collection.tsv, NQ-open with "
        "gold passages, a BEIR folder, a table with a header; may be gzipped. Repeat for more files.",
    ],
    questions: Annotated[Path, "Questions: the same formats, or queries.tsv."],
    encoder: Annotated[str, "Retriever: bm25, minilm, a folder under models/, or a Hub id.", "NAME"] = "bm25",
    qrels: Annotated[
        Path | None, "Relevance judgements of MS MARCO, TREC or MTEB; a grade of 1 or more is relevant."
    ] = None,
    split: Annotated[str, "Split of a BEIR folder: qrels/SPLIT.tsv or .jsonl."] = "test",
    out: Out = None,
) -> Report:
    """Evaluate R@k, Success@k and MRR over a pool, by gold passage and by answer (DPR's match).

    R@k is recall: the share of the gold passages that are among the first k. Success@k is the share of
    questions with any of them there; it is given by answer, and where questions have several gold passages.

    A gold passage outside the pool counts as not found. Questions without gold passages, such as the
    impossible ones of SQuAD 2.0, are skipped by gold. A BEIR query does not find the passage of its own id.

    Passages are encoded in shards on disk, and an interrupted run resumes.
    """
    from entail.data.passages.files import unread_columns
    from entail.data.passages.qrels import read_qrels
    from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
    from entail.evaluation.passages.store import store_name, store_passages
    from entail.settings import load_settings
    from entail.training.cards.figures import Figure, result_rows

    folder = load_settings().data_dir / "passages" / store_name(passages)
    with progress_bar() as progress:
        judged = judged_questions(questions, qrels=qrels, split=split)
        store = store_passages(passages, folder, progress=progress)
        evaluation = evaluate_passages(store, judged, encoder=encoder, progress=progress)
    data = {
        **evaluation.to_json(),
        "pool": store.about,
        "unread_columns": list(unread_columns(questions, questions=True)),
    }
    if qrels is not None:
        data["judged_without_question"] = len(read_qrels(qrels).keys() - {row.id for row in judged})
    data["measured"] = result_rows(
        evaluation.revision,
        *(
            Figure(
                task="passages",
                data=f"{questions.name}, {data['questions']:,} questions, {data['passages']:,} passages",
                measure=measure,
                value=value,
            )
            for measure, value in (evaluation.gold or evaluation.answer or {}).items()
        ),
    )
    return Report(data=data, out=out)
