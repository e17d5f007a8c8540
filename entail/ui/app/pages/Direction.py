"""Direction: which of two sentences entails the other; search by direction."""

from entail.ui.components.elements import show_errors
from entail.ui.direction.views import draw_direction
from entail.ui.frame.shell import page

SENTENCE = "Which of two sentences entails the other, and what entails a query."

with page("Direction", SENTENCE) as (shared, author), show_errors():
    draw_direction(shared)
