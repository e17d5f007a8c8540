"""Serving page."""
