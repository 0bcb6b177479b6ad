"""How the tables came to be, step by step. Run by `salon.store.database.tables.migrate`."""
