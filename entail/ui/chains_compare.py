"""What is known of the explanation, and how other methods rank its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.arcf.stepwise import Walk
from entail.data.worldtree import Question
from entail.data.worldtree_tables import FactTables
from entail.index.protocol import Ints
from entail.ui.authoring import draw_progress
from entail.ui.chains_steps import Scene
from entail.ui.chains_told import gold_found, gold_table, precision_of, role_word, roles_of, standing
from entail.ui.chains_works import SCORING, held_scorers, rankings, take_builder
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.arcf.listing import ListedScorer
    from entail.arcf.scorer import Scorer
    from entail.evaluation.chains import Similarities
    from entail.progress import ProgressCallback

SCORED_ALONE = 200
"""Facts nearest to the question that a scorer of single facts scores here; `entail rank` scores all."""

FIRST = 10
"""First facts of each ranking that are shown."""

WORDS, GREEDY = "TF-IDF", "TF-IDF, chain"


@dataclass(frozen=True)
class Compared:
    """One question's facts, ranked by several methods.

    Attributes:
        rankings: Name of the method -> all facts, best first.
        chains: Name of the method -> the chain it built, where it builds one.
    """

    rankings: Mapping[str, Ints]
    chains: Mapping[str, tuple[int, ...]]


def compare(
    question: Question,
    facts: FactTables,
    scorers: Sequence[ListedScorer],
    near: Similarities,
    *,
    load: Callable[[ListedScorer], Scorer],
    k: int,
    length: int,
    progress: ProgressCallback | None = None,
) -> Compared:
    """Rank one question's facts by shared words, by the baseline's chain, and by each scorer as it learnt.

    Raises:
        EntailError: If a scorer cannot be loaded, or says nonsense.
    """
    from entail.arcf.chain import Search
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.ranking import ChainRanker, SingleFactRanker
    from entail.arcf.stepwise import NearestSteps, follow, step
    from entail.evaluation.chains import tfidf_rankings

    search, around = Search(length=length), Neighbourhoods(facts, k=k, similarities=near)
    first, words = around.of_text(question.text), NearestSteps(around)
    walk = follow(lambda chosen: step(question, first, chosen, words, around), search)
    (plain,) = tfidf_rankings([question], near)
    found: dict[str, Ints] = {WORDS: plain, GREEDY: walk.ranking(question, around)}
    chains = {GREEDY: walk.facts}
    for listed in scorers:
        scorer = load(listed)
        own = around
        if scorer.form.metric != around.metric:
            own = Neighbourhoods(facts, k=k, metric=scorer.form.metric, progress=progress)
        if listed.form.scheme == "single-fact":
            (one,) = SingleFactRanker(scorer, own, first=SCORED_ALONE).rank([question], progress=progress)
        else:
            (one,) = ChainRanker(scorer, own, search=search).rank([question], progress=progress)
        found[listed.name] = one.ranking
        if one.chain is not None:
            chains[listed.name] = one.chain.facts
    return Compared(found, chains)


def draw_gold(scene: Scene) -> None:
    """Draw where the facts of a known explanation stand; nothing where none is known or the chain grows."""
    if scene.making is not None or not roles_of(scene.question, scene.facts):
        return
    found = gold_found(scene.question, scene.facts, scene.walk, _ranking(scene, scene.walk))
    assert found is not None
    st.markdown(f"##### Known explanation: {found}")
    st.caption(
        f"Average precision {found.precision:.3f}: the chain first, then what was scored by its last score, "
        "then all others by nearness to the chain."
    )
    st.html(gold_table(found, scene.facts))


def _ranking(scene: Scene, walk: Walk) -> Ints:
    return walk.ranking(scene.question, scene.builder.around)


def draw_compare(scene: Scene, scorers: Sequence[ListedScorer]) -> None:
    """Draw the switch, and how each method ranks the facts of this question."""
    if not st.toggle("Compare methods on this question", key="chains_compare"):
        return
    lacking = [
        name
        for scheme, name in (("single-fact", "single-fact"), ("arcf", "ARCF"))
        if not any(one.form.scheme == scheme for one in scorers)
    ]
    if lacking:
        st.caption(
            f":material/info: No scorer of the kind {' or '.join(lacking)} is here. `entail train arcf` "
            "makes one; `--scheme single-fact` the baseline."
        )
    words = take_builder(scene.facts, None, k=scene.builder.around.k)
    if words.value is None:
        draw_progress(words, waiting="Preparing the facts …")
        return
    near = words.value.around.similarities
    k, length, load = scene.builder.around.k, scene.length, held_scorers()

    def make(report: ProgressCallback) -> Compared:
        with SCORING:
            return compare(
                scene.question, scene.facts, scorers, near, load=load, k=k, length=length, progress=report
            )

    stamps = tuple((one.name, one.stamp) for one in scorers)
    place = (scene.facts.digest, scene.question.stem, scene.question.answer, stamps, k, length)
    work = rankings().take(place, make)
    if work.value is None:
        draw_progress(work, waiting="Ranking by each method …")
        return
    draw_compared(scene.question, scene.facts, work.value)


def draw_compared(question: Question, facts: FactTables, compared: Compared) -> None:
    """Draw the methods' figures and the ranks of the facts that any of them has first, and of gold."""
    import pandas as pd

    roles = roles_of(question, facts)
    if roles:
        cells = st.columns(len(compared.rankings))
        for cell, (name, ranking) in zip(cells, compared.rankings.items(), strict=True):
            cell.metric(label(name), f"{precision_of(question, facts, ranking):.3f}", border=True)
        st.caption("Average precision on this one question; `entail evaluate chains` measures many.")
    rows = standing(compared.rankings, first=FIRST, gold=tuple(roles))
    columns: dict[str, list[object]] = {"fact": [facts.texts[fact] for fact, _ in rows]}
    if roles:
        columns["gold"] = [role_word(roles[fact]) if fact in roles else "" for fact, _ in rows]
    for name in compared.rankings:
        columns[name] = [ranks[name] for _, ranks in rows]
        if name in compared.chains:
            columns[f"in {name}"] = [fact in compared.chains[name] for fact, _ in rows]
    config: dict[str, Any] = {
        "fact": st.column_config.TextColumn("Fact", width="large"),
        "gold": st.column_config.TextColumn("Gold"),
        **{name: st.column_config.NumberColumn(f"Rank, {name}") for name in compared.rankings},
        **{f"in {name}": st.column_config.CheckboxColumn("In its chain") for name in compared.chains},
    }
    st.dataframe(pd.DataFrame(columns), hide_index=True, column_config=config)
    if any(name not in (WORDS, GREEDY) and name not in compared.chains for name in compared.rankings):
        st.caption(f"Single facts are scored among the {SCORED_ALONE} nearest; `entail rank` scores all.")
