"""Corpora page."""
