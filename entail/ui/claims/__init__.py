"""Claims page."""
