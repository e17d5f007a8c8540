"""Database of corpora and authors, and the tables of trees."""
