"""Engines of vector search that run as servers of their own: PostgreSQL with pgvector, Milvus."""
