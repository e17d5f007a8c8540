"""Authoring: the tree, its event log, suggestions and formats."""
