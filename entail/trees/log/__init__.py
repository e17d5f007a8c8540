"""Event log of a tree: acts, checks, replay."""
