"""Headline figures of README.md, selected from docs/results/."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
LIST = "aeenc-minilm+bm25"
CUT = "all alike"
"""Budget of the rows of tuning.json that cut gold passages and negatives at the same place."""

GAUSSCSE = "ent+con+rev, ranked, directed, longer twice, inferred contradictions, labels and five teachers"


def figures(name: str) -> dict[str, Any]:
    """Return the figures of a result file."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return content


def unseen_retrieval() -> tuple[int, Mapping[str, Mapping[str, float]]]:
    """Return the number of claims outside the training trees, and retriever -> measure -> value on them."""
    shipped, listed, reranked = figures("aeenc_dev")["others"][0]["unseen"], *_lists()
    return shipped["queries"], {
        "MiniLM": figures("aeenc_minilm")["untrained"]["unseen"]["query_excluded"],
        "AE-Enc": shipped["query_excluded"],
        "+ keywords": listed["unseen"]["query_excluded"],
        "+ re-ranking": reranked["unseen"]["query_excluded"],
    }


def reads_per_accepted() -> Mapping[str, float]:
    """Return retriever -> candidates that a simulated author reads for each accepted premise."""
    baseline, (listed, reranked) = figures("aeenc_dev"), _lists()
    return {
        "MiniLM": baseline["effort"]["reads_per_accepted"],
        "AE-Enc": baseline["others"][0]["effort"]["reads_per_accepted"],
        "+ keywords": listed["effort"]["reads_per_accepted"],
        "+ re-ranking": reranked["effort"]["reads_per_accepted"],
    }


def reads_after_decisions() -> Mapping[str, float]:
    """Return the candidates read per accepted premise after so many decided trees of another domain."""
    runs = figures("aeenc_learning")["WorldTree"]["aeenc-minilm"]
    return {size: mean(run["reads"] for run in splits.values()) for size, splits in runs.items()}


def reads_by_next_premise() -> float:
    """Return the candidates read per accepted premise, re-ranked and ordered anew after each accept."""
    rows = figures("arcf_authoring")["retrievers"]
    reads: float = rows["aeenc-minilm+bm25+reranker-minilm"]["ordered"]["reads_per_accepted"]
    return reads


def reads_by_two_towers() -> tuple[float, float]:
    """Return the candidates read per accepted premise of two towers with keyword match, and re-ranked."""
    lists = figures("aeenc_dual_replay")["dev"]["mean"]
    listed, reranked = (
        lists[f"+bm25{more}"]["effort"]["reads_per_accepted"] for more in ("", "+reranker-minilm")
    )
    return listed, reranked


def passages_after_masking() -> tuple[float, float]:
    """Return R@1 of a base by plain masking after 2,000 questions, without and with the first stage."""
    rows = [row for row in figures("first_stage_mlm")["rows"] if row["questions"] == 2000]
    without, tuned = (
        mean(row["gold"]["R@1"] for row in rows if row["arm"] == arm) for arm in ("none", "hypothesis")
    )
    return without, tuned


def direction_accuracy() -> Mapping[str, list[float]]:
    """Return data -> accuracy of the direction of an entailment, a value a seed."""
    runs = figures("gausscse")["rows"][GAUSSCSE].values()
    return {
        name: [run["on"][key]["direction"]["accuracy"] for run in runs]
        for name, key in (
            ("MultiNLI dev", "MultiNLI-dev-matched"),
            ("SICK train", "SICK-TRAIN"),
            ("SNLI dev", "SNLI-dev"),
        )
    }


def arcf_seeds() -> list[float]:
    """Return the MAP of the seeds of the recipe of `arcf-minilm`, which is the first."""
    return [run["MAP"] for run in figures("arcf_wide")["rankings"]["ARCF NCE"].values()]


def explanation_ranking() -> Mapping[str, float]:
    """Return method -> MAP of ranked explanations, WorldTree 2020 dev."""
    return {
        "Shared words": figures("arcf_tfidf")["MAP"],
        "Single premises": figures("single_fact_minilm")["MAP"],
        "Chains (ARCF)": figures("arcf_minilm")["MAP"],
    }


def passage_retrieval() -> Mapping[str, float]:
    """Return retriever -> R@1 of the passage that answers a question, SQuAD dev."""
    rows = figures("tuning")["rows"]
    trained = [row for row in rows if row["budget"].get("cut") == CUT]
    return {
        "BM25": next(row["gold"]["R@1"] for row in rows if row["arm"] == "bm25"),
        **{
            name: mean(row["gold"]["R@1"] for row in trained if row["arm"] == arm)
            for name, arm in (
                ("Without tuning", "none"),
                ("Entailment tuning", "0.8/H"),
                ("Plain masking", "plain"),
            )
        },
    }


def table1() -> Mapping[str, float]:
    """Return arm -> dev MAP of AE-Enc by the paper's protocol."""
    rows = figures("aeenc_table1_dev")["rows"]
    return {
        name: mean(run["paper"]["MAP"] for run in rows[row].values())
        for name, row in (
            ("base", "base"),
            ("one pass", "AE-Enc single"),
            ("several passes", "Iterative AE-Enc single"),
        )
    }


def strong_pass() -> tuple[float, float]:
    """Return the best of the larger weights of the regulariser in one pass, and its dev MAP, as `table1`."""
    start, rows = "AE-Enc single, alpha ", figures("aeenc_table1_dev")["rows"]
    map_by_alpha = {
        float(name.removeprefix(start)): mean(run["paper"]["MAP"] for run in runs.values())
        for name, runs in rows.items()
        if name.startswith(start)
    }
    return max(map_by_alpha.items(), key=lambda pair: pair[1])


def papers_setting() -> float:
    """Return the dev MAP of one pass in the paper's setting, as `table1`."""
    runs = figures("aeenc_table1_dev")["rows"]["AE-Enc single, the paper's setting"]
    return mean(run["paper"]["MAP"] for run in runs.values())


def mean(values: Iterable[float]) -> float:
    """Return the mean."""
    return statistics.mean(values)


def _lists() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of the list that is re-ranked, and of the list that what ships makes of it."""
    reranking = figures("reranker_minilm")
    shipped = reranking.get("mean") or next(iter(reranking["seeds"].values()))
    return reranking["first"][LIST], shipped["measured"][LIST]
