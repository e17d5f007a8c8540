"""Passage retrieval: stores, search, measures."""
