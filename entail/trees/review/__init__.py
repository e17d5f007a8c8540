"""Candidates, decisions and their provenance."""
