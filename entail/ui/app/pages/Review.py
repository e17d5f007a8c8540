"""Review: submitted copies of a hypothesis, compared, commented, accepted or sent back."""

from entail.ui.frame.shell import page

with page("Review", "Compare the copies of a hypothesis, and agree on one tree.") as (shared, author):
    pass
