"""Direction page."""
