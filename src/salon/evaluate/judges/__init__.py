"""Judges against the people of a study: the judge report."""
