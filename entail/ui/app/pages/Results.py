"""Results page: the measured figures, to show and to print."""

from entail.ui.frame.shell import page
from entail.ui.results.figures import draw_cards

with page("Results", "What entail reaches, measured against simpler rivals."):
    draw_cards()
