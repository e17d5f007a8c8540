"""Serving page: traffic, models in memory, requests to try."""

from entail.ui.frame.shell import page
from entail.ui.serving.page import draw_serving

ABOUT = "What the app and its HTTP API serve: traffic, models in memory, and requests to try."

with page("Serving", ABOUT) as (shared, author):
    draw_serving(shared, author)
