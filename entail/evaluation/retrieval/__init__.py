"""Premise retrieval against gold trees, and the effort of an author."""
