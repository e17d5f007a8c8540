"""BERT in plain torch: the vectors of sentence-transformers without its import time."""
