"""The command line: `salon`."""
