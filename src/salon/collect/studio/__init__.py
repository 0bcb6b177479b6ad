"""A studio: collecting and the database as one."""
