"""Distillation of teachers over sentences that nobody judged."""
