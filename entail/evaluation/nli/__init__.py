"""Entailment and its direction, measured on labelled pairs."""
