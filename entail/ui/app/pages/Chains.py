"""Chains: premises that explain an answer, chosen one after another."""

from entail.ui.chains.page import draw_page
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page

with (
    page("Chains", "Premises that together explain an answer, each chosen after those before it.") as (
        shared,
        author,
    ),
    show_errors(),
):
    draw_page(shared)
