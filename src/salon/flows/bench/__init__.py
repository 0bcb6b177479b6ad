"""A suite at work, and what raters and scorers say of a study's generators."""
