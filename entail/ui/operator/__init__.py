"""Operator page."""
