"""Models page."""
