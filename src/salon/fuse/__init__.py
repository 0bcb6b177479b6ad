"""Many judgments become one score per item, and labels to learn from."""
