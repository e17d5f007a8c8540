"""Distillation of teachers over sentences without judgements."""
