"""Texts to vectors: names of weights, and the encoder that runs them."""
