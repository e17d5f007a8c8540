"""The example chain over the bundled corpus."""

from pathlib import Path

from entail.arcf.chains.chain import Search, build_chain, corpus_facts
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import load_scorer
from entail.data.bundled import sample_corpus


def test_the_packaged_scorer_finds_most_of_the_example() -> None:
    facts = corpus_facts(sample_corpus())
    scorer = load_scorer(str(Path(__file__).parents[2] / "models" / "arcf-minilm"))
    chain = build_chain(EXAMPLE, PremiseScorer(scorer, facts), Neighbourhoods(facts, k=60), Search())
    gold = {facts.positions[uid] for uid in EXAMPLE.gold}
    assert len(gold & set(chain.facts)) == 3
