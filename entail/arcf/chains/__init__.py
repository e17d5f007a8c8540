"""Chains of premises: neighbourhoods, search, rankings."""
