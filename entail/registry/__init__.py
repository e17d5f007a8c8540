"""Registry of active models: the retriever of each corpus, the direction model, the chain scorer.

A pointer names the active model of a role and its revision. Retrievers have a default pointer, and one per
corpus for which a model was promoted; the other roles have one pointer each. Without a pointer the
packaged model is active. The roles other than the retriever also fall back to it when the promoted model is
gone or its weights changed.

The database holds every move of every pointer. Readers keep what they read for a second: every session of
every machine follows.
"""
