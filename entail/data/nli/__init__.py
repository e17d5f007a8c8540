"""Natural language inference files: pairs, triplets, tables."""
