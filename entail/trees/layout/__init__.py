"""Positions and appearance of the nodes of a tree."""
