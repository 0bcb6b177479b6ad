"""Predicted scores against fused scores, ratings or pseudo-scores: `salon distill evaluate`."""
