"""Chains page."""
