"""Results page: the measured figures, to show and to print."""

from entail.ui.frame.shell import page
from entail.ui.results.figures import draw_cards

with page("Results", "What entail does better than its simplest rival, and by how much."):
    draw_cards()
