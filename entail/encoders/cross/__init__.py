"""Cross-encoders: two texts read together, one score."""
