"""Models page: installed models, training, and the Hub."""

from entail.ui.components.elements import pick_view
from entail.ui.frame.shell import page
from entail.ui.models.encoders import INSTALLED, draw_encoders
from entail.ui.models.hub import draw_hub
from entail.ui.models.training import draw_training

VIEWS = {INSTALLED: draw_encoders, "Training": draw_training, "Hub": draw_hub}

ABOUT = "Compare models, choose the active one of each role, train new ones, and share them."

with page("Models", ABOUT) as (shared, author):
    view = pick_view("View", tuple(VIEWS), default=INSTALLED, key="models_view", bind="query-params")
    VIEWS[view](shared, author)
