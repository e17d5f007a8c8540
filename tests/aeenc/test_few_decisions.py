"""The settings for a team's decisions."""

from entail.aeenc.config import FEW_DECISIONS


def test_the_index_stays_valid_and_nothing_is_sampled_anew() -> None:
    assert (FEW_DECISIONS.towers, FEW_DECISIONS.tuning, FEW_DECISIONS.rounds) == ("single", "lora", 0)
    assert FEW_DECISIONS.gold
    # Five times as much made the packaged encoder worse by 0.1 MAP on the decisions of a simulated author.
    assert FEW_DECISIONS.highest_rate <= 1e-4
