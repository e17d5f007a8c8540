"""Text to vectors: the catalogue of weights and the bi-encoder."""
