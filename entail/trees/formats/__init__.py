"""Formats a tree comes in from and goes out to."""
