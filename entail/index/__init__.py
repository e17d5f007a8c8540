"""Vectors to nearest premises: one protocol, several ways."""
