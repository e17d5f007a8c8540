"""Judges of entailment: cross-encoders trained on natural language inference."""
