"""Alembic migrations of the database, run when it is opened.

To change the tables: change `schema.py` and its `REVISION`, write `versions/rNNNN_what.py` with the revision
before as `down_revision`, and change no migration that was released. A test compares both.
"""
