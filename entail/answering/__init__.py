"""Questions answered from passages: retrieval, then a reader or a generator; how right the answers are."""
