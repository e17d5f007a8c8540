"""Active entailment encoding (AE-Enc; Bogatu, Zhou, Landers, Freitas): retrieval that learns from decisions.

Encoders of sentences put first what looks like the query, not what explains it. Here the author's own
decisions, or gold trees, become positives and hard negatives (sampling), an encoder learns from them (losses,
training), and what is left of the similarity bias is measured (bias).
"""
