"""Asking people: which question comes next, what a rater may see, and whether an answer counts."""
