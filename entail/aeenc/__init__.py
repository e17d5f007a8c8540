"""Active entailment encoding (AE-Enc; Bogatu, Zhou, Landers, Freitas 2022).

Sentence encoders rank premises similar to the query above those that explain it. Here gold trees, or the
decisions of authors, give positives and hard negatives (sampling), an encoder is trained on them (losses,
task, training), and the remaining similarity bias is measured (bias).
"""
