"""Encoding of large corpora: read, encode by one process or a cluster, write segments of a vector store."""
