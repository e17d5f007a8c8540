"""``entail evaluate premises``: retrieval of the premises of given trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import CorpusFile, Out, TreesFile

if TYPE_CHECKING:
    from entail.aeenc.bias import SimilarityBias
    from entail.evaluation.retrieval.effort import Effort
    from entail.evaluation.retrieval.premises import PremiseEvaluation
    from entail.statistics.paired import ComparedFigure

    Differences = dict[str, dict[str, ComparedFigure]]

app = typer.Typer()


@command(app)
def premises(
    corpus: CorpusFile,
    trees: TreesFile,
    retriever: Annotated[
        list[str] | None,
        "Retriever: tfidf, bm25, ngrams, minilm, a folder under models/, a Hub id, or a hybrid "
        "NAME+ngrams, NAME+bm25, each also followed by +RERANKER. Repeat to compare others with the first.  "
        "[default: minilm]",
        "NAME",
    ] = None,
    effort: Annotated[bool, "Also measure candidates read per accepted premise."] = True,
    bias: Annotated[
        bool,
        "Also measure the similarity bias of encoders (Figure 3 of the AE-Enc paper); the first one labels "
        "the pairs.",
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first trees.", metavar="N")] = None,
    out: Out = None,
) -> Report:
    """Evaluate the retrieval of every parent's children.

    Each parent of the trees is a query over the whole corpus. The protocol `paper` keeps the query's own text
    among the candidates, `query_excluded` removes it.

    Further retrievers are compared with the first, query by query: difference, 95 % bootstrap interval over
    queries, and p-value of a paired randomisation test.
    """
    from entail.aeenc.bias import bias as measure_bias
    from entail.aeenc.bias import encoder_indexes
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees
    from entail.encoders.training_queries import training_queries_of
    from entail.evaluation.retrieval.effort import measure_effort
    from entail.evaluation.retrieval.premises import compare_evaluations, evaluate_premises
    from entail.index.factory import retriever as make_retriever
    from entail.statistics.paired import SAMPLES, SEED
    from entail.statistics.ranking import LEVEL

    candidates = read_corpus(corpus).corpus
    gold = list(read_trees(trees))[:limit]
    measured: list[_Measured] = []
    with progress_bar() as progress:
        names = retriever or ["minilm"]
        indexes = [make_retriever(name, candidates, progress=progress) for name in names]
        for name, index in zip(names, indexes, strict=True):
            evaluation = evaluate_premises(candidates, gold, index, progress=progress)
            work = measure_effort(candidates, gold, index, progress=progress) if effort else None
            measured.append(
                _Measured(evaluation, work, training_queries_of(name, evaluation.queries), len(gold))
            )

        analysis = None
        if bias:
            analysis = measure_bias(
                candidates, gold, encoder_indexes(names, candidates, progress=progress), progress=progress
            )

    first, *rest = measured
    data, texts = _as_json(first), [_as_text(first)]
    if rest:
        data |= {"comparison": {"level": LEVEL, "samples": SAMPLES, "seed": SEED}, "others": []}
    for other in rest:
        differences = compare_evaluations(first.evaluation, other.evaluation)
        data["others"].append(_as_json(other) | {"against_first": _differences_as_json(differences)})
        pair = (first.evaluation.retriever, other.evaluation.retriever)
        texts += [_as_text(other), _differences_as_text(*pair, differences)]
    if analysis is not None:
        data["bias"] = analysis.to_json()
        texts.append(_bias_as_text(analysis))
    return Report(data=data, text="\n\n".join(texts), out=out, seed=SEED if rest else None)


@dataclass(frozen=True)
class _Measured:
    """Evaluation of a retriever, the effort with it, and the queries it was trained on."""

    evaluation: PremiseEvaluation
    work: Effort | None
    training_queries: frozenset[str]
    trees: int

    @property
    def unseen(self) -> frozenset[str]:
        return frozenset(self.evaluation.queries) - self.training_queries


def _as_json(measured: _Measured) -> dict[str, Any]:
    evaluation, unseen = measured.evaluation, measured.unseen
    data: dict[str, Any] = {**evaluation.to_json(), "trees": measured.trees}
    if measured.training_queries:
        data["unseen"] = {"queries": len(unseen), **(evaluation.figures(unseen) if unseen else {})}
    if measured.work is not None:
        data["effort"] = measured.work.to_json()
    return data


def _differences_as_json(differences: Differences) -> dict[str, Any]:
    return {
        protocol: {measure: figure.paired.to_json() for measure, figure in measures.items()}
        for protocol, measures in differences.items()
    }


def _differences_as_text(first: str, second: str, differences: Differences) -> str:
    parts = []
    for protocol, measures in differences.items():
        rows = [
            [name, d.first, d.second, f"{d.difference:+.3f}", f"{d.low:+.3f} to {d.high:+.3f}", d.p_shown]
            for name, figure in measures.items()
            for d in [figure.paired]
        ]
        header = [protocol.replace("_", " "), first, second, "difference", "95 % interval", "p"]
        parts.append(table(header, rows))
    return f"{second} against {first}, over the same queries\n\n" + "\n\n".join(parts)


def _as_text(measured: _Measured) -> str:
    evaluation, work, unseen = measured.evaluation, measured.work, measured.unseen
    figures = evaluation.figures()
    parts = [
        f"{evaluation.retriever} on {evaluation.corpus_name}: {evaluation.manifest.count:,} premises, "
        f"{measured.trees:,} trees, {len(evaluation.queries):,} queries, {evaluation.pairs:,} pairs",
        table(
            ["measure", "paper", "query excluded"],
            [[name, value, figures["query_excluded"][name]] for name, value in figures["paper"].items()],
        ),
    ]
    if measured.training_queries:
        line = f"it was trained on {len(measured.training_queries):,} of these queries"
        if unseen:
            without = evaluation.figures(unseen)
            line += (
                f"; on the other {len(unseen):,} its MAP is {without['paper']['MAP']:.3f} (paper), "
                f"{without['query_excluded']['MAP']:.3f} (query excluded)"
            )
        parts.append(line)
    if evaluation.missing:
        parts.append(
            f"{len(evaluation.missing):,} gold premises are not in the corpus and never found; "
            f"first: {evaluation.missing[0]!r}"
        )
    if work is not None:
        reads = "no" if work.reads_per_accepted is None else f"{work.reads_per_accepted:.1f}"
        parts.append(
            f"a simulated author reads {reads} candidates per accepted premise ({work.reads:,} read, "
            f"{work.accepted:,} accepted, {work.missing:,} or {work.missing_share:.1%} never found)"
        )
    return "\n\n".join(parts)


def _bias_as_text(analysis: SimilarityBias) -> str:
    from entail.aeenc.bias import RULES

    parts = [f"similarity bias among the first {analysis.k} of {analysis.retrievers[0]}"]
    for rule in RULES:
        rows = [
            [panel.title, s.auc, *s.auc_interval, s.delta]
            for panel in analysis.panels[rule]
            if (s := panel.separation) is not None
        ]
        parts.append(table([f"false positives: {rule}", "P(FP > FN)", "low", "high", "Cliff's delta"], rows))
        parts.append("\n".join(panel.finding for panel in analysis.panels[rule]))
    return "\n\n".join(parts)
