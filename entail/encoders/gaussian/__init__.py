"""Encoders whose sentences are diagonal Gaussians."""
