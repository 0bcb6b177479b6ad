"""HTML pages of the studio."""
