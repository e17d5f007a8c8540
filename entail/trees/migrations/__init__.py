"""Alembic migrations of the database, run when it is opened."""
