"""Home page."""
