"""Measures retrieval against gold trees: premises found, and what it costs an author."""
