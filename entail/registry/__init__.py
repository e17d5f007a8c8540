"""Registry of active models: the retriever of each corpus, the direction model, the chain scorer.

A pointer names the active model of a role and its revision. Retrievers have a default pointer, and one per
corpus for which a model was promoted; the other roles have one pointer each. Without a pointer the
packaged model is active. The roles other than the retriever also fall back to it when the promoted model is
gone or its weights changed.

`active.json` in the data folder holds every move of every pointer and is replaced whole. Readers keep what
they read until the file's stamp changes: every session of every process follows for the cost of one `stat`.
"""
