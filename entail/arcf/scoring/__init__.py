"""Scorers of candidates behind a prefix."""
