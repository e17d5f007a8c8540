"""Authoring page."""
