"""The scoring service without HTTP: models, batches, decisions, drift."""
