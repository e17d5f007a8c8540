"""Database of trees, corpora and authors; backup and restore."""
