"""Official EntailmentBank files and their proof language."""
