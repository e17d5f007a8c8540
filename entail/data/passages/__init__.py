"""Passages and questions of retrieval data sets."""
