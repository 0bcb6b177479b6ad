"""What Alembic runs: the steps that are missing, on the connection it is given."""

from alembic import context

from salon.store.database.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
