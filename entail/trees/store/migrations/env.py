"""Script of Alembic: runs the migrations on the connection that `migrate` hands over."""

from alembic import context

from entail.trees.store.schema import metadata

if hasattr(context, "config"):  # only while Alembic runs this file, not when it is imported
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
    context.run_migrations()
