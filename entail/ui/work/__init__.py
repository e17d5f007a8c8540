"""Page Work: projects, the next piece, what is one's own; and the bar of a piece on the Trees page."""
