"""Models and scorers on labelled pairs: `salon evaluate`."""
